"""GraphSynth, measured: CPU of each stage, the mix beside Table 6, every record verified.

    python -m benchmarks.synth --graph runs/fb15k-graph --count 15000 --out runs/fb15k-synth

makes what `graphwalker synth --graph ... --count ... --seed ... --out ...` makes, byte for byte, in
one process, and writes benchmarks/results/synth.json. `loop_s` is the time of a fixed loop, which
shows how busy the machine was. `benchmarks.against` compares with another checkout.
"""

import argparse
import os
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.record import record
from benchmarks.walks import loop_s
from data_pipeline.attempts import Maker
from data_pipeline.config import SynthConfig
from data_pipeline.jobs.ledger import Unit
from data_pipeline.outcomes import Drop, SampledWalk
from data_pipeline.stats.report import beside
from data_pipeline.synthesize import GRAPHSYNTH, RECIPES, AttemptNumber, Recipe, make, records
from data_pipeline.verification.verify import verify_file
from graphwalker.config import Config
from graphwalker.files import read_jsonl
from graphwalker.graphs.open import open_graph
from graphwalker.query.query import Execution
from graphwalker.question import Question
from graphwalker.trajectory import Trajectory

SECONDS: defaultdict[str, float] = defaultdict(float)  # of each stage, over all attempts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graph", type=Path, required=True)
    parser.add_argument("--count", type=int, default=15000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--name", default="synth", help="of the file of results")
    given = parser.parse_args()
    config = SynthConfig(count=given.count, seed=given.seed)
    stage = Recipe("synth", make_timed, RECIPES["synth"].files)
    started, cpu = time.perf_counter(), time.process_time()
    card = make(given.graph, config, given.out, recipe=stage)
    total, cpu = time.perf_counter() - started, time.process_time() - cpu
    SECONDS["judging duplicates, writing, the card"] = cpu - sum(SECONDS.values())
    figures = {
        "graph_triples": open_graph(given.graph).info()["triples"],
        "trajectories": card["count"],
        "attempts": card["attempts"],
        "seconds": round(total, 1),
        "cpu_seconds": round(cpu, 1),
        "loop_s": loop_s(),
        "load_average": round(os.getloadavg()[0], 1),
        "cpu_seconds_by_stage": {name: round(seconds, 1) for name, seconds in SECONDS.items()},
        "trajectories_per_cpu_second": round(card["count"] / cpu, 1),
        "plausibility_gave_way": card.get("plausibility_gave_way", {}),
        "beside_the_paper": beside(card["structures"]),
        **check_records(given.graph, given.out / GRAPHSYNTH),
    }
    command = f"python -m benchmarks.synth --graph GRAPH --count {given.count} --out OUT"
    print(record(given.name, figures, command, given.seed).read_text(encoding="utf-8"))


class TimedMaker(Maker):
    """Counts the CPU seconds of each stage."""

    def sample(
        self, structure: str, index: int, avoided: frozenset[str] = frozenset()
    ) -> SampledWalk | Drop:
        with _Clock("walk: sampling, execution, walk certificates"):
            return super().sample(structure, index, avoided)

    def word(self, sampled: SampledWalk) -> Question | Drop:
        with _Clock("question"):
            return super().word(sampled)

    def certify(self, question: Question, run: Execution | None = None) -> Trajectory | Drop:
        with _Clock("filter, question certificates"):
            return super().certify(question, run)

    def solve(self, question: Question) -> Trajectory | Drop:
        with _Clock("oracle in the environment", within="filter, question certificates"):
            return super().solve(question)


class _Clock:
    """CPU seconds of a block, subtracted from the stage around it."""

    def __init__(self, name: str, within: str = "") -> None:
        self._name, self._within = name, within

    def __enter__(self) -> None:
        self._started = time.process_time()

    def __exit__(self, *_: object) -> None:
        passed = time.process_time() - self._started
        SECONDS[self._name] += passed
        if self._within:
            SECONDS[self._within] -= passed


def make_timed(graph: Path, config: Config, client: Any = None) -> Callable[[AttemptNumber], Unit]:
    assert isinstance(config, SynthConfig) and client is None
    maker = TimedMaker(open_graph(graph), config)
    return lambda job: records(maker.attempt(*job))


def check_records(graph: Path, file: Path) -> dict[str, Any]:
    """Execute every record again; return the counts and the oracle's strict EM."""
    started = time.perf_counter()
    verdict = verify_file(open_graph(graph), file)
    seconds = round(time.perf_counter() - started, 1)
    scores = [row["scores"]["em"] for row in read_jsonl(file)]
    return {
        "verified": verdict.records - verdict.failed,
        "failed": verdict.failed,
        "verify_seconds": seconds,
        "oracle_em": sum(scores) / len(scores),
    }


if __name__ == "__main__":
    main()
