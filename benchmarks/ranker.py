"""Measures rankers: where they put the relation that leads on, and what their first one is worth.

    python -m benchmarks.ranker --graph runs/fb15k --synth runs/synth/questions.jsonl \
        --train train.jsonl.gz --test test.jsonl.gz

`--train` and `--test` are questions of one benchmark with `relation_path`, `--synth` ones of our
own making. For BM25, BM25 over stems and trigrams, and the trained ranker: the share of
gold relations among the first 1, 5, 10, 20, and the exact match of the baseline that answers with
all that the first one shows, in `graphwalker-wide`. Where a ranker was trained on the questions
that it ranks, each is ranked by a model that has not seen it. Settings were chosen on `--train`;
`--test` is only reported. Writes `benchmarks/results/ranker.json`.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.record import record
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.presets import GRAPHWALKER_WIDE
from graphwalker.agents.rollout import rollout
from graphwalker.datasets.base import load_questions
from graphwalker.datasets.grounding import ground
from graphwalker.files import digest
from graphwalker.graphs.open import open_graph
from graphwalker.oracle.baselines import FirstRelation
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker, bm25, bm25_stems
from graphwalker.ranking.learned.train import QuestionFile, first_shares, train_ranker
from graphwalker.scoring import score
from graphwalker.tools.listing import lister


class Bench:
    """The graph, its listings, and the questions."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.graph = open_graph(str(options.graph))
        self.config = EnvironmentConfig(preset=GRAPHWALKER_WIDE.name)
        listing = lister(self.graph, self.config)
        self.listed = lambda entity_id: listing(entity_id).relations
        self.test = self.read(options.test)
        self.sources = {
            "training questions": [options.train],
            "synthesis and bank": [options.synth],
            "both": [options.synth, options.train],
        }

    def read(self, path: Path) -> list[Question]:
        """Return the grounded questions of a file."""
        return ground(load_questions(path), self.graph)

    def figures(self, rank: Ranker, questions: Sequence[Question]) -> dict[str, Any]:
        """Return first-k shares and the exact match of the first relation."""
        shares = first_shares(questions, self.graph, self.listed, rank)
        wide = replace(GRAPHWALKER_WIDE, tools=lambda g, s, _: GRAPHWALKER_WIDE.tools(g, s, rank))
        there = Environment(self.graph, self.config, wide)
        policy = FirstRelation(there.graph, there.protocol, there.speaker, there.config.max_turns)
        right = [score(done)["em"] for done in rollout(questions, there, policy)]
        return {**shares, "em": round(statistics.fmean(right), 4)}

    def train(self, name: str, seed: int) -> tuple[Ranker, dict[str, float]]:
        """Return the trained ranker and the CPU seconds of its training."""
        weights = {"both": (SYNTH_WEIGHT, 1.0)}.get(name, (1.0, 1.0))
        files = [
            QuestionFile(path.name, digest(path), self.read(path), weight)
            for path, weight in zip(self.sources[name], weights, strict=False)
        ]
        started = time.process_time()
        made = train_ranker(files, self.graph, self.listed, seed=seed)
        return made, {"train_cpu_s": round(time.process_time() - started, 1)}

    def call_ms(self, rank: Ranker) -> float:
        """Return milliseconds of a call with a question that was not ranked before."""
        looks = [
            (question.text + " ?", question.topic_entities[0])
            for question in self.test
            if question.topic_entities
        ]
        listings = [self.listed(entity.id) for _, entity in looks]
        started = time.perf_counter()
        for (text, entity), relations in zip(looks, listings, strict=True):
            rank(text, entity.name, relations)
        return round(1000 * (time.perf_counter() - started) / len(looks), 3)


SYNTH_WEIGHT = 0.3
"""Of each synthesized question beside the training questions."""


def main() -> None:
    """Measure, and record after each ranker, so a stopped run keeps what it has."""
    options = _options()
    bench = Bench(options)
    train = bench.read(options.train)
    files = (options.synth, options.train, options.test)
    figures: dict[str, Any] = {"questions": {path.name: digest(path) for path in files}}
    for name, rank in (("bm25", bm25), ("stems", bm25_stems)):
        figures[name] = {
            "test": bench.figures(rank, bench.test),
            "train": bench.figures(rank, train),
            "call_ms": bench.call_ms(rank),
        }
        _save(figures, name, options)
    for name, seed in product(bench.sources, options.seeds):
        if options.synth in bench.sources[name] and seed not in options.synth_seeds:
            continue
        label = f"trained, {name}"
        rank, cost = bench.train(name, seed)
        measured = {"test": bench.figures(rank, bench.test)}
        if seed == options.seeds[0]:
            measured["train, held out"] = bench.figures(rank, train)
        one = {"seed": seed, **measured, **cost, "call_ms": bench.call_ms(rank)}
        figures.setdefault(label, []).append(one)
        _save(figures, label, options)


def _save(figures: dict[str, Any], name: str, options: argparse.Namespace) -> None:
    keys = ("graph", "synth", "train", "test")
    given = " ".join(f"--{key} {getattr(options, key)}" for key in keys)
    command = f"python -m benchmarks.ranker {given} --seeds {' '.join(map(str, options.seeds))}"
    command += f" --synth-seeds {' '.join(map(str, options.synth_seeds))}"
    record("ranker", figures, command, options.seeds[0], options.results)
    sys.stderr.write(f"{name}: {figures[name]}\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graph", type=Path, required=True)
    parser.add_argument("--synth", type=Path, required=True, help="synthesized questions")
    parser.add_argument("--train", type=Path, required=True, help="training questions")
    parser.add_argument("--test", type=Path, required=True, help="test questions")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--synth-seeds", type=int, nargs="*", default=[0], help="where it is long")
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
