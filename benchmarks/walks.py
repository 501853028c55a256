"""Measures walks: how many certified ones a second, on the compiled graph and over Virtuoso.

    python -m benchmarks.walks --folder runs/bench-walks

Makes a world of 800,000 entities (10 M triples) and samples walks on it with two workers: with the
default settings, without a limit to a relation's share, and without judging plausibility either.
Then the memory of all its processes for 1,000 walks and more; then the same walker on a smaller
world, compiled and in a Virtuoso of its own, whose walks must be the same bytes.
Writes `benchmarks/results/walks.json`.
"""

import argparse
import os
import resource
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

from benchmarks.record import record
from data_pipeline.config import SynthConfig
from data_pipeline.synthesize import WALKS, make_walks
from graphwalker.graphs.open import open_graph
from graphwalker.graphs.virtuoso.load import GRAPH, load
from graphwalker.graphs.virtuoso.server import down, up
from graphwalker.world.generate import make_world

NEVER = 10**9
"""No structure is given up: the worlds have walks enough."""
SETTINGS: dict[str, dict[str, Any]] = {
    "default_settings": {},
    "any_relation_share": {"max_relation_share": 1.0},
    "plausibility_off_any_relation_share": {
        "plausibility": {"on": False},
        "max_relation_share": 1.0,
    },
}
"""The settings that are measured on the large world."""
LOOP = 2_000_000
"""Rounds of a timed loop of Python, which shows how much a busy machine slows a run."""


def main() -> None:
    """Measure and record."""
    options = _options()
    world = _world(options.entities, options)
    figures: dict[str, Any] = {
        "world": _facts(world),
        **{
            name: _measure(world / "graph", options.walks, options, name, **values)
            for name, values in SETTINGS.items()
        },
    }
    figures["memory"] = [_memory(world / "graph", n, options) for n in options.memory]
    if options.remote_walks:
        figures["smaller_world"] = _compare(_world(options.smaller, options), options)
    names = ("entities", "walks", "workers", "smaller", "remote_walks")
    given = [f"--{name.replace('_', '-')} {getattr(options, name)}" for name in names]
    given.append(f"--memory {' '.join(map(str, options.memory))}")
    command = " ".join(["python -m benchmarks.walks", *given])
    sys.stdout.write(f"{record('walks', figures, command, options.seed, options.results)}\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("runs/bench-walks"))
    parser.add_argument("--entities", type=int, default=800_000)
    parser.add_argument("--walks", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--smaller", type=int, default=20_000, help="entities of Virtuoso's world")
    parser.add_argument("--remote-walks", type=int, default=1_000, help="0: without Virtuoso")
    parser.add_argument("--memory", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def _world(entities: int, options: argparse.Namespace) -> Path:
    world = options.folder / f"world-{entities}-{options.seed}"
    if not (world / "graph").exists():
        make_world(entities, options.seed, world)
    return world


def _facts(world: Path) -> dict[str, Any]:
    info = open_graph(world / "graph").info()
    return {name: info[name] for name in ("entities", "triples", "checksum")}


def _measure(
    graph: Path | str, count: int, options: argparse.Namespace, name: str, **more: Any
) -> dict[str, Any]:
    """Run the walk stage, data card included, and return its rates."""
    out = options.folder / name
    shutil.rmtree(out, ignore_errors=True)
    config = SynthConfig(
        seed=options.seed, count=count, workers=options.workers, max_attempts=NEVER, **more
    )
    started, used = time.perf_counter(), cpu_s()
    card = make_walks(graph, config, out)
    return _rates(card, options, time.perf_counter() - started, cpu_s() - used)


def loop_s() -> float:
    """Return the CPU seconds of a fixed loop, which grow when the machine is busy."""
    started = time.process_time()
    total = 0
    for number in range(LOOP):
        total += number
    return round(time.process_time() - started, 3)


def _rates(
    card: Mapping[str, Any], options: argparse.Namespace, seconds: float, cpu: float
) -> dict[str, Any]:
    return {
        "walks": card["count"],
        "attempts": card["attempts"],
        "dropped": card["dropped"],
        "workers": options.workers,
        "seconds": round(seconds, 3),
        "cpu_s": round(cpu, 3),
        "walks_per_s": round(card["count"] / seconds, 1),
        "walks_per_cpu_s": round(card["count"] / cpu, 1),
        "loop_s": loop_s(),
        "load_average": round(os.getloadavg()[0], 1),
    }


def cpu_s() -> float:
    """Return the CPU seconds of this process and of its finished workers."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _compare(world: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Make the same walks on the same world, compiled and over Virtuoso."""
    files = _seed_files(world)
    # Before the server is there: its CPU would be counted as a worker's once it has ended.
    again = _measure(world / "graph", options.remote_walks, options, "same", **files)
    local = _measure(world / "graph", options.walks, options, "smaller", **files)
    server = up(options.folder / "server", "1GB")
    try:
        loaded = load(options.folder / "server", [world / "triples.nt.gz"])
        address = f"{server.endpoint}#{GRAPH}"
        remote = _measure(address, options.remote_walks, options, "virtuoso", **files)
    finally:
        down(options.folder / "server")
    walks = [(options.folder / name / WALKS).read_bytes() for name in ("virtuoso", "same")]
    return {
        **_facts(world),
        "triples_in_virtuoso": loaded["held"],
        "virtuoso": remote,
        "compiled_as_many": again,
        "compiled": local,
        "same_walks": walks[0] == walks[1],
        "times_faster": round(local["walks_per_s"] / remote["walks_per_s"], 1),
    }


def _seed_files(world: Path) -> dict[str, str]:
    """Write all entities and all relations of the world, the default of a walker without files."""
    graph = open_graph(world / "graph")
    seeds, predicates = world / "seeds.txt", world / "predicates.txt"
    ids = (graph.entity_at(index).id for index in range(graph.size))
    seeds.write_text("".join(f"{one}\n" for one in ids), encoding="utf-8")
    lines = "".join(f"{one}\n" for one in graph.relation_ids())
    predicates.write_text(lines, encoding="utf-8")
    return {"seeds_file": str(seeds), "predicates_file": str(predicates)}


def _memory(graph: Path, count: int, options: argparse.Namespace) -> dict[str, Any]:
    """Return the peak memory of a run and its workers.

    Pages of the graph's file are shared by all processes and are not counted.
    """
    peaks: dict[str, float] = {}
    with _watch_memory(peaks):
        measured = _measure(graph, count, options, "memory")
    shutil.rmtree(options.folder / "memory")
    return {**measured, **{name: round(value, 1) for name, value in peaks.items()}}


@contextmanager
def _watch_memory(peaks: dict[str, float], every_s: float = 0.2) -> Iterator[None]:
    """Record the peak memory of this process and of its children, in MiB, during the block."""
    done = Event()

    def watch() -> None:
        while not done.wait(every_s):
            sizes = {pid: _anonymous_mib(pid) for pid in _family()}
            parent = sizes.get("self", 0.0)
            for name, value in (("parent_mib", parent), ("all_mib", sum(sizes.values()))):
                peaks[name] = max(peaks.get(name, 0.0), value)

    thread = Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _family() -> list[str]:
    """Return this process and its children (Linux)."""
    tasks = Path("/proc/self/task").glob("*/children")
    return ["self", *(pid for task in tasks for pid in _text(task).split())]


def _anonymous_mib(pid: str) -> float:
    lines = _text(Path("/proc") / pid / "status").splitlines()
    return sum(int(line.split()[1]) / 1024 for line in lines if line.startswith("RssAnon:"))


def _text(path: Path) -> str:
    """Return the text of a file, empty if its process has ended."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""


if __name__ == "__main__":
    main()
