"""Measures walks: how many certified ones a second.

    python -m benchmarks.walks --folder runs/bench-walks

Makes a world of 800,000 entities (10 M triples) and samples walks on it with two workers: with the
default settings, without a limit to a relation's share, and without judging plausibility either.
Writes `benchmarks/results/walks.json`.
"""

import argparse
import os
import resource
import shutil
import time
from pathlib import Path
from typing import Any

from benchmarks.record import RESULTS, record
from data_pipeline.config import SynthConfig
from data_pipeline.synthesize import make_walks
from graphwalker.graphs.open import open_graph
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
LOOP = 2_000_000
"""Rounds of a timed loop of Python, which shows how much a busy machine slows a run."""


def main() -> None:
    """Measure and record."""
    options = _options()
    world = options.folder / f"world-{options.entities}-{options.seed}"
    if not (world / "graph").exists():
        make_world(options.entities, options.seed, world)
    info = open_graph(world / "graph").info()
    figures: dict[str, Any] = {
        "world": {name: info[name] for name in ("entities", "triples", "checksum")},
        **{name: _measure(world / "graph", options, **SETTINGS[name]) for name in SETTINGS},
    }
    given = [f"--{name} {getattr(options, name)}" for name in ("entities", "walks", "workers")]
    command = " ".join(["python -m benchmarks.walks", *given])
    print(record("walks", figures, command, options.seed, options.results))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("runs/bench-walks"))
    parser.add_argument("--entities", type=int, default=800_000)
    parser.add_argument("--walks", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def _measure(graph: Path, options: argparse.Namespace, **more: Any) -> dict[str, Any]:
    """Run the walk stage, data card included, and return its rates."""
    out = options.folder / "walks"
    shutil.rmtree(out, ignore_errors=True)
    given = {"seed": options.seed, "count": options.walks, "workers": options.workers}
    config = SynthConfig(**given, max_attempts=NEVER, **more)
    started, used = time.perf_counter(), cpu_s()
    card = make_walks(graph, config, out)
    seconds, cpu = time.perf_counter() - started, cpu_s() - used
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


def loop_s() -> float:
    """Return the CPU seconds of a fixed loop, which grow when the machine is busy."""
    started = time.process_time()
    total = 0
    for number in range(LOOP):
        total += number
    return round(time.process_time() - started, 3)


def cpu_s() -> float:
    """Return the CPU seconds of this process and of its finished workers."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    main()
