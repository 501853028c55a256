"""A served chat model as agent and as teacher, on a real graph.

    python -m benchmarks.chat_models agents --api URL --model M --graph G --questions Q
    python -m benchmarks.chat_models teacher --api URL --model M --graph G

`agents`: each preset answers the first questions of Q (25 for `graphwalker`, else 10; `graphwalk`
has questions of its own).
`teacher`: `graphwalker synth` of 1 to 3 hops, interrupted after 100 attempts: what was kept, why
the rest was not, its cost and time. A stopped command resumes. Writes `agents_real.json` and
`teacher_real.json` in `benchmarks/results/`.
"""

import argparse
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.record import ROOT, record
from eval.analysis.summary import summarise
from eval.run.records import USAGE, read_run
from graphwalker.console import console
from graphwalker.files import read_json, read_jsonl, write_json

PRESETS = (
    "graphwalker", "graphwalker-wide", "search-on-graph", "graphwalk", "graphrunner", "ark-v1",
    "kg-r1", "tog", "io-prompt", "chain-of-thought",
)  # fmt: skip
FIGURES = ("questions", "em", "em_interval", "f1", "hits1", "answered", "turns", "answers_read")


def run(out: Path, *words: str, until: Callable[[], bool] = lambda: False) -> float:
    """Run a command of the product to its end, or interrupt it once `until` is true; return its
    seconds, those of earlier tries included."""
    place, started = out.with_suffix(".seconds.json"), time.monotonic()
    before = read_json(place)["seconds"] if place.is_file() else 0.0
    if until():
        return before
    place.parent.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen([sys.executable, "-m", "graphwalker", *words], cwd=ROOT)
    while process.poll() is None:
        time.sleep(1)
        if until():
            process.send_signal(signal.SIGINT)
            process.wait()
    seconds = round(before + time.monotonic() - started, 1)
    write_json(place, {"seconds": seconds})
    if process.returncode not in (0, 3, 130):  # 3: some episodes failed; the figures say so
        raise subprocess.CalledProcessError(process.returncode, words)
    return seconds


def measure_agents(given: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of each preset."""
    found: dict[str, Any] = {}
    for preset in given.presets:
        graph, questions = given.graph, given.questions
        if preset == "graphwalk":
            graph = given.out / "synthetic"
            questions = graph / "questions.jsonl"
            if not questions.is_file():
                run(graph, "graph", "synthetic", "--nodes", "30", "--graphs", "2",
                    "--out", str(graph))  # fmt: skip
        count = given.count * 5 // 2 if preset == "graphwalker" else given.count
        out = given.out / "agents" / preset
        words = ["--graph", graph, "--questions", questions, "--model", given.model, "--api",
                 given.api, "--out", out, "--count", count, f"environment.preset={preset}",
                 "baselines=never", "ceiling=never", "max_tokens=256", *given.set]  # fmt: skip
        seconds = run(out, "eval", *map(str, words))
        done, spent = read_run(out).trajectories, list(read_jsonl(out / USAGE))
        figures = summarise(done)
        stops = Counter(str(one.stop.value) for one in done)
        keys = ("prompt_tokens", "completion_tokens")
        tokens = {key: sum(int(one.get(key, 0)) for one in spent) for key in keys}
        found[preset] = {key: figures[key] for key in FIGURES if key in figures}
        found[preset] |= {"stops": stops, **tokens, "seconds": seconds}
        console.facts(preset, {"em": figures.get("em"), "stops": dict(stops), "seconds": seconds})
    return found


def measure_teacher(given: argparse.Namespace) -> dict[str, Any]:
    """Return what `synth` with the model kept, and what it dropped by stage and reason."""
    out = given.out / "teacher"
    files = out / "graphsynth.jsonl", out / "dropped.jsonl"
    words = ["--graph", given.graph, "--out", out, "--count", 1000,
             f"teacher.base_url={given.api}", f"teacher.model={given.model}",
             "mix={1-hop: 1, 2-hop: 1, 3-hop: 1}", *given.set]  # fmt: skip

    def is_enough() -> bool:
        return sum(len(list(read_jsonl(f))) for f in files if f.is_file()) >= given.attempts

    seconds = run(out, "synth", *map(str, words), until=is_enough)
    kept, dropped = map(list, map(read_jsonl, files))
    reasons = Counter(f"{one.get('stage')}: {one.get('reason')}" for one in dropped)
    spent = out / "teacher" / "spent.json"
    return {
        "attempts": len(kept) + len(dropped),
        "kept": len(kept),
        "dropped": dict(reasons.most_common()),
        "spent": read_json(spent) if spent.is_file() else {},
        "seconds": seconds,
        "questions": [one["question"]["question"] for one in kept[:30]],
    }


def main() -> int:
    """Measure, print and record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("role", choices=("agents", "teacher"))
    parser.add_argument("--api", required=True, help="address of an OpenAI-compatible server")
    parser.add_argument("--model", required=True, help="its name there")
    parser.add_argument("--graph", type=Path, required=True)
    parser.add_argument("--questions", type=Path, help="question file, for agents")
    parser.add_argument("--presets", nargs="+", default=list(PRESETS))
    parser.add_argument("--count", type=int, default=10, help="questions")
    parser.add_argument("--attempts", type=int, default=100, help="of the teacher")
    parser.add_argument("--out", type=Path, default=Path("runs/chat-models"))
    parser.add_argument("--set", nargs="*", default=[], help="settings, such as max_tokens=400")
    given = parser.parse_args()
    if given.role == "agents" and not given.questions:
        parser.error("agents needs --questions")
    given.out, given.graph = given.out.resolve(), given.graph.resolve()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # else ignored in the background
    try:
        figures = measure_agents(given) if given.role == "agents" else measure_teacher(given)
    except subprocess.CalledProcessError as error:
        sys.stderr.write(f"stopped ({error.returncode}); the same command resumes\n")
        return 1
    line = f"python -m benchmarks.chat_models {given.role} --api URL --model {given.model} ..."
    print(record(f"{given.role}_real", figures, line, seed=0))
    return 0


if __name__ == "__main__":
    sys.exit(main())
