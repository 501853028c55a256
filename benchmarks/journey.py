"""The journey of a question, from the walk to the report: files and crossings, executions, JSON.

    python -m benchmarks.journey --questions 20

makes a small world, and for each 2-hop question its walk, wording, certificate and oracle's
trajectory, then its score and its page in the report; writes `benchmarks/results/journey.json`.
Counted are the calls between files of the four packages, and those of the functions in `COUNTED`;
of the certificate also the functions of `data_pipeline` that it passes (`Maker.certify`).
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks.record import ROOT, record
from data_pipeline.attempts import Maker
from data_pipeline.config import SynthConfig
from data_pipeline.outcomes import Attempt, Drop
from eval.analysis.error_kinds import error_kind
from graphwalker.graphs.open import open_graph
from graphwalker.scoring import score
from graphwalker.trajectory import Trajectory
from graphwalker.viewer.record import walk_record
from graphwalker.world.generate import make_world

PACKAGES = ("graphwalker", "data_pipeline", "eval", "training")
COUNTED = {
    "executions of a query": {"execute"},
    "a query to JSON": {"Query.to_json"},
    "a query from JSON": {"Query.from_json"},
    "a wording from JSON": {"Draft.from_json"},
    "texts read back as data": {"relations_in", "shown_triples"},
}
"""What is counted, by the names of its functions, earlier versions' among them."""


class Trace:
    """Counts calls into functions of the packages, by file, by crossing, by name."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.functions: set[tuple[str, str]] = set()
        self.crossings = 0
        self.calls: Counter[str] = Counter()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        file = _own_file(frame)
        if not file:
            return
        name = frame.f_code.co_qualname
        self.files.add(file)
        self.functions.add((file, name))
        self.calls[name] += 1
        caller = frame.f_back
        there = ""
        while caller is not None and not (there := _own_file(caller)):
            caller = caller.f_back
        self.crossings += caller is not None and there != file

    def figures(self) -> dict[str, int]:
        counted = {k: sum(self.calls[n] for n in names) for k, names in COUNTED.items()}
        whole = {"files": len(self.files), "functions": len(self.functions)}
        return {**whole, "crossings": self.crossings, **counted}


def _own_file(frame: FrameType) -> str:
    file = frame.f_code.co_filename
    if not file.startswith(f"{ROOT}/"):
        return ""
    file = file.removeprefix(f"{ROOT}/")
    return file if file.startswith(PACKAGES) else ""


@contextmanager
def trace_calls() -> Iterator[Trace]:
    trace = Trace()
    sys.setprofile(trace)
    try:
        yield trace
    finally:
        sys.setprofile(None)


def _trace_certificate(maker: Maker, index: int) -> dict[str, int]:
    """What `Maker.certify` passes in `data_pipeline`, for the question of an attempt."""
    sampled = maker.sample("2-hop", index)
    assert not isinstance(sampled, Drop)
    question = maker.word(sampled)
    assert not isinstance(question, Drop)
    with trace_calls() as trace:
        maker.certify(question, sampled.run)
    own = {(file, name) for file, name in trace.functions if file.startswith("data_pipeline/")}
    named = {(file, name) for file, name in own if "<" not in name}
    return {"files": len({file for file, _ in own}), "functions": len(named)}


def _trace_attempts(maker: Maker, count: int) -> Iterator[tuple[Attempt, Trace]]:
    """Yield the attempts that become questions, with the trace of each."""
    index = 0
    while count:
        with trace_calls() as trace:
            attempt = maker.attempt("2-hop", index)
        index += 1
        if attempt.trajectory is not None:
            count -= 1
            yield attempt, trace


def _trace_reading(trajectory: Trajectory) -> Trace:
    with trace_calls() as trace:
        scored = trajectory.with_scores(**score(trajectory))
        error_kind(scored)
        walk_record(scored)
    return trace


def measure(count: int, seed: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        make_world(1000, seed, Path(folder))
        maker = Maker(open_graph(Path(folder) / "graph"), SynthConfig(seed=seed))
        names = ("walk to trajectory", "score and report", "certify, in data_pipeline")
        legs: dict[str, list[dict[str, int]]] = {name: [] for name in names}
        for attempt, trace in _trace_attempts(maker, count):
            assert attempt.trajectory is not None
            legs["walk to trajectory"].append(trace.figures())
            legs["score and report"].append(_trace_reading(attempt.trajectory).figures())
            number = int(attempt.id.rpartition("/")[2])
            legs["certify, in data_pipeline"].append(_trace_certificate(maker, number))
    return {name: _mean(figures) for name, figures in legs.items()}


def _mean(figures: list[dict[str, int]]) -> dict[str, float]:
    return {key: round(sum(f[key] for f in figures) / len(figures), 2) for key in figures[0]}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--before", type=Path, help="the record of an earlier version, to keep")
    options = parser.parse_args()
    figures: dict[str, Any] = {"questions": options.questions}
    figures["per_question"] = measure(options.questions, options.seed)
    if options.before:
        earlier = json.loads(options.before.read_text(encoding="utf-8"))
        figures["before"] = {"commit": earlier["commit"], **earlier["figures"]["per_question"]}
    command = f"python -m benchmarks.journey --questions {options.questions}"
    print(record("journey", figures, command, options.seed))


if __name__ == "__main__":
    main()
