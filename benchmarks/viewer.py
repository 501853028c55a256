"""The report on many questions: how long it takes to write, how large it is, how fast it answers.

    python -m benchmarks.viewer --records 10000

writes `benchmarks/results/viewer.json`. The runs are invented: walks of two to five hops over
made-up names, with thoughts and observations as long as those of a 7B model, and eight sampled
episodes a question. Times in the browser are medians of five fresh pages in headless Chromium.
"""

import argparse
import json
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.record import record
from eval.report.report import StageResult, write_report
from eval.run.records import PREDICTIONS, SAMPLES, SampledEpisode
from graphwalker.files import write_jsonl
from graphwalker.graphs.base import Entity
from graphwalker.query.query import Branch, Hop, Query
from graphwalker.question import Answer, Question
from graphwalker.scoring import score
from graphwalker.tools.base import ShownTriple
from graphwalker.trajectory import Message, StopReason, Trajectory, Turn

WORDS = ("river", "stone", "amber", "valley", "north", "crown", "silver", "garden", "winter",
         "harbor", "letter", "mirror", "echo")  # fmt: skip
DOMAINS = ("film.film", "people.person", "music.artist", "location.location", "book.book")
STRUCTURES = ("2-hop", "3-hop", "4-hop", "5-hop", "2I")
FRESH = 5
SAMPLED = 8


def walks(count: int, seed: int) -> Iterator[Trajectory]:
    """Yield `count` walks, the same ones for the same seed."""
    for i in range(count):
        yield _walk(i, Random(f"{seed}/{i}"))


def _walk(number: int, rng: Random) -> Trajectory:
    hops = [f"{rng.choice(DOMAINS)}.{rng.choice(WORDS)}_{rng.choice(WORDS)}" for _ in range(4)]
    hops = hops[: 1 + number % 4]
    topic, turns = _entity(rng), []
    here = topic
    for hop in hops:
        ends = [_entity(rng) for _ in range(rng.choice((1, 1, 2, 5)))]
        turns += [_look(here, hop, rng), _step(here, hop, ends, rng)]
        here = ends[0]
    right = rng.random() < 0.6
    given = here if right else _entity(rng)
    turns.append(Turn((), "", _thought(rng), {"answer": [given.name]}))
    question = Question(
        f"bench/{number}", f"Which {rng.choice(WORDS)} is {' of '.join(hops)} of {topic.name}?",
        (topic,), (Answer(here.name, here.id),), "bench", STRUCTURES[number % 5], len(hops), "test",
        Query((Branch(topic, tuple(map(Hop, hops))),)),
    )  # fmt: skip
    stop = StopReason.ANSWERED
    made = Trajectory(
        question, "graphwalker", "bench", tuple(turns), (given.name,), stop, (given.id,)
    )
    return made.with_scores(**score(made))


def _look(here: Entity, hop: str, rng: Random) -> Turn:
    others = [f"{rng.choice(DOMAINS)}.{rng.choice(WORDS)}_{rng.choice(WORDS)}" for _ in range(14)]
    action = {"tool": "get_relations", "arguments": {"entity": here.name}}
    return _turn(action, ", ".join([*others, hop]), (), rng)


def _step(here: Entity, hop: str, ends: list[Entity], rng: Random) -> Turn:
    action = {"tool": "get_triples", "arguments": {"entity": here.name, "relations": [hop]}}
    text = ", ".join(f"[{here.name}, {hop}, {end.name}]" for end in ends)
    triples = tuple(ShownTriple(here, hop, end) for end in ends)
    return replace(_turn(action, text, (here, *ends), rng), triples=triples)


def _turn(action: dict[str, Any], text: str, shown: tuple[Entity, ...], rng: Random) -> Turn:
    thought = _thought(rng)
    written = f"<think> {thought} </think>\n<kg-query> {json.dumps(action)} </kg-query>"
    ids = tuple(rng.randrange(150_000) for _ in range(len(written) // 4))
    return Turn((Message("user", text),), written, thought, action, text, shown, token_ids=ids)


def _thought(rng: Random) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(rng.randrange(20, 50))).capitalize() + "."


def _entity(rng: Random) -> Entity:
    name = f"{rng.choice(WORDS)} {rng.choice(WORDS)}".title()
    return Entity(f"m.{rng.randrange(1 << 40):x}", f"{name} {rng.randrange(10_000)}")


def make_run(folder: Path, count: int, seed: int) -> None:
    """Write a run in the form of `graphwalker eval`."""
    write_jsonl(folder / PREDICTIONS, (walk.to_json() for walk in walks(count, seed)))
    samples = (
        SampledEpisode(walk.question.id, n, walk.answer, walk.stop, walk.scores).to_json()
        for walk in walks(count, seed + 1)
        for n in range(1, SAMPLED + 1)
    )
    write_jsonl(folder / SAMPLES, samples)


def time_writing(folder: Path, out: Path) -> dict[str, float]:
    """Return seconds and peak memory of writing the report, and the page's size."""
    started = time.perf_counter()
    write_report(out, [StageResult("bench", folder)])
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = (out / "report.html").stat().st_size / 2**20
    return {
        "run_mib": round((folder / PREDICTIONS).stat().st_size / 2**20, 1),
        "report_seconds": round(seconds, 1),
        "report_peak_rss_mib": round(peak),
        "page_mib": round(size, 1),
    }


def time_browsing(page_file: Path, program: str) -> dict[str, float]:
    """Return milliseconds until parts of the page are painted, medians of `FRESH` pages."""
    from playwright.sync_api import sync_playwright

    found: list[dict[str, float]] = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for _ in range(FRESH):
            with browser.new_context(viewport={"width": 1360, "height": 900}) as context:
                page = context.new_page()
                page.goto(page_file.as_uri())
                page.wait_for_function("performance.getEntriesByName('explorer-ready').length")
                found.append(page.evaluate(MEASURE))
        browser.close()
    return {key: round(statistics.median(f[key] for f in found), 1) for key in found[0]}


# A step is over when the browser has painted it: two animation frames later.
MEASURE = """async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const painted = () => frame().then(frame);
  const timed = async (act, until = () => true) => {
    const start = performance.now();
    act();
    while (!until()) await new Promise((done) => setTimeout(done, 0));
    await painted();
    return performance.now() - start;
  };
  const find = document.getElementById("find"), table = document.getElementById("table");
  const type = (text) => { find.value = text; find.dispatchEvent(new Event("input")); };
  const press = (on, key) => on.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  const result = { first_paint_ms: paint ? paint.startTime : NaN,
    table_ready_ms: performance.getEntriesByName("explorer-ready")[0].startTime };
  await painted();
  const start = performance.now();
  type("amber");
  table.getBoundingClientRect();
  result.filter_work_ms = performance.now() - start;
  result.filter_painted_ms = await timed(() => type("amber mirror"));
  result.unfilter_painted_ms = await timed(() => type(""));
  result.sort_painted_ms = await timed(() => table.querySelectorAll(".head button")[1].click());
  result.scroll_painted_ms = await timed(() => press(table, "End"));
  const viewer = document.getElementById("viewer");
  result.open_walk_painted_ms = await timed(() => press(table, "Enter"),
    () => viewer.open && document.querySelector("#graph canvas"));
  result.turn_painted_ms = await timed(() => press(viewer, "ArrowLeft"));
  result.next_walk_painted_ms = await timed(() => press(viewer, "p"));
  return result;
}"""


def main() -> None:
    import shutil

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if not program:
        sys.exit("needs Chromium: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder:
        run, out = Path(folder) / "run", Path(folder) / "report"
        make_run(run, arguments.records, arguments.seed)
        figures: dict[str, Any] = {"records": arguments.records, "samples_each": SAMPLED}
        figures |= time_writing(run, out)
        figures |= time_browsing(out / "report.html", program)
    command = f"python -m benchmarks.viewer --records {arguments.records}"
    print(record("viewer", figures, command, arguments.seed).read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
