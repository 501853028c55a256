"""GraphWalk's agent from nothing: the oracle's steps through several hundred synthetic graphs, a
tiny model with tokens made for them, and graphs of 100 nodes that it never saw.

    python -m benchmarks.graphwalk_trained [--seeds 0] [--out runs/graphwalk-trained] [--set ...]

The settings are those of configs/graphwalk-trained.yaml. Beside the agent stand, by template: its
oracle and the share of the oracle's trajectories that fit the model's context; the same tiny model
trained as long to answer without tools, and the share of prompts with the whole graph that fit;
the first rows of one right call; and rows drawn from it. A killed run resumes. Writes
benchmarks/results/graphwalk_trained.json.
"""

import argparse
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.graphwalk_words import pieces
from benchmarks.record import ROOT
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.rollout import rollout, untimed
from graphwalker.config import Config, load_config, parse_config
from graphwalker.datasets.base import load_questions
from graphwalker.files import read_records, write_jsonl, write_text
from graphwalker.graphs.open import open_graph
from graphwalker.graphs.property.sets import SET_FILE
from graphwalker.pipeline.stages import Stage, StageTimes
from graphwalker.policies.config import PolicyConfig
from graphwalker.policies.load import load_policy
from graphwalker.question import Question
from graphwalker.synthetic.graphs import size_of
from graphwalker.synthetic.sets import QUESTIONS, make_graph_set
from graphwalker.trajectory import Trajectory

Settings = dict[str, Any]


class GraphSetConfig(Config):
    """A set of synthetic graphs (`graphwalker graph synthetic`)."""

    nodes: int = 100
    graphs: int = 100
    seed: int = 0
    each: int = 1
    """Questions of each template a graph."""
    size: Settings = {}
    """What differs from the sizes of the paper: `properties`, `density`, ..."""
    keep: dict[str, float] = {}
    """Share of the questions of a template that are kept; of one that is not named, all."""


class GraphWalkTrainedConfig(Config):
    """The settings of every stage, each checked by the stage itself."""

    train: tuple[GraphSetConfig, ...]
    """Training graphs."""
    test: dict[str, GraphSetConfig]
    """Test sets by name."""
    environment: Settings = {}
    """The agent's environment."""
    no_tools: Settings = {}
    """The environment of the model without tools."""
    model: Settings = {}
    """The tiny model (`graphwalker config model`)."""
    sft: Settings = {}
    """The training."""
    rounds: tuple[Settings, ...] = ({},)
    """What is different in each round of it: the first one begins with the tiny model, each other
    one with what the round before it made. Short rows first, then all of them."""
    no_tools_sft: Settings = {}
    """What is different without tools."""
    eval: Settings = {}
    """The evaluation."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Train and evaluate for each seed, then print and record the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "graphwalk-trained")
    parser.add_argument("--config", type=Path, default=ROOT / "configs" / "graphwalk-trained.yaml")
    parser.add_argument("--set", nargs="*", default=[], help="settings, such as sft.max_steps=9")
    parser.add_argument("--until", default="", help="stop after the stage of this name")
    given = parser.parse_args(arguments)
    config = load_config(GraphWalkTrainedConfig, given.config, given.set)
    for seed in given.seeds:
        SeedRun(given.out / f"seed-{seed}", seed, config).run(given.until)


@dataclass(frozen=True, slots=True)
class SeedRun:
    """Everything of one seed, below its folder. What is finished is left as it is."""

    out: Path
    seed: int
    config: GraphWalkTrainedConfig

    def run(self, until: str = "") -> None:
        times = StageTimes(self.out)
        for stage in self._stages():
            times.run(stage)
            if stage.title == until:
                return

    def _stages(self) -> Iterator[Stage]:
        yield Stage("graphs", self._make_graphs)
        yield Stage("demonstrations", self._demonstrate)
        yield Stage("model", self._make_model)
        for number in range(len(self.config.rounds)):
            yield Stage(f"SFT, round {number}", partial(self._train, number), own_bar=True)
        for name in self.config.test:
            for policy in ("trained", "oracle"):
                yield Stage(f"{name}: evaluate {policy}", partial(self._evaluate, name, policy))

    def _make_graphs(self, _: Any) -> None:
        for number, one in enumerate(self.config.train):
            self._make_set(one, 1000 * (self.seed + 1) + number, self.out / f"train-{number}")
        for number, (name, one) in enumerate(self.config.test.items()):
            self._make_set(one, 7000 * (self.seed + 1) + number, self.out / f"test-{name}")

    def _make_set(self, one: GraphSetConfig, seed: int, out: Path) -> None:
        if not (out / QUESTIONS).exists():
            make_graph_set(size_of(one.nodes, **one.size), one.graphs, seed, out, one.each)

    @property
    def environment(self) -> EnvironmentConfig:
        prompt = self.out / "prompt.md"
        write_text(prompt, "{schema}\n---\n{question}\n")
        return EnvironmentConfig.model_validate(
            {"preset": "graphwalk", "prompt": str(prompt), **self.config.environment}
        )

    def _demonstrate(self, tick: Any) -> None:
        def played() -> Iterator[dict[str, Any]]:
            for number, one in enumerate(self.config.train):
                folder = self.out / f"train-{number}"
                world = Environment(open_graph(folder), self.environment)
                oracle = load_policy(PolicyConfig(model="oracle"), environment=world)
                questions = kept(load_questions(folder / QUESTIONS), one)
                yield from (untimed(t).to_json() for t in rollout(questions, world, oracle))

        write_jsonl(self.out / "demos.jsonl", played())

    def _make_model(self, _: Any) -> None:
        from training.config import TinyModelConfig
        from training.models.tiny import conversation_texts, make_tiny

        model = parse_config(TinyModelConfig, {"seed": self.seed, **self.config.model}, "model")
        texts = conversation_texts(read_records(self.out / "demos.jsonl", Trajectory.from_json))
        names = self._words() if model.atomic_names else ()
        make_tiny(model, texts, [], self.out / "model", names, self.environment, pieces(names))

    def _words(self) -> list[str]:
        """Every non-word of the training graphs."""
        found: set[str] = set()
        for number in range(len(self.config.train)):
            for line in (self.out / f"train-{number}" / SET_FILE).read_text("utf-8").splitlines():
                found.update(
                    re.findall(
                        r"(?<![a-zA-Z])(?:[a-z]{4,8}|[A-Z][a-z]{3,7}|[A-Z]{4,8})(?![a-zA-Z])", line
                    )
                )
        return sorted(found)

    def trained(self, number: int = -1) -> Path:
        """The model after a round, the last one unless told."""
        return self.out / f"sft-{number % len(self.config.rounds)}" / "final"

    def _train(self, number: int, _: Any) -> None:
        from training.config import SftConfig
        from training.sft import run_sft

        started = str(self.out / "model" if not number else self.trained(number - 1))
        own = {
            "model": started,
            "output_dir": str(self.out / f"sft-{number}"),
            "data": [str(self.out / "demos.jsonl")],
            "seed": self.seed,
            "environment": self.environment.model_dump(include={"preset", "prompt", "options"}),
        }
        settings = {**own, **self.config.sft, **self.config.rounds[number]}
        run_sft(parse_config(SftConfig, settings, f"SFT, round {number}"))

    def _evaluate(self, name: str, policy: str, tick: Any) -> None:
        from eval.run.config import EvalConfig, run_eval

        trained = policy == "trained"
        folder = self.out / f"test-{name}"
        questions = folder / "asked.jsonl"
        asked = kept(load_questions(folder / QUESTIONS), self.config.test[name])
        write_jsonl(questions, (one.to_json() for one in asked))
        values = {
            **self.config.eval,
            "graph": str(folder),
            "questions": str(questions),
            "output_dir": str(self.out / f"eval-{name}-{policy}"),
            "environment": self.environment.model_dump(exclude_unset=True),
            "policy": {
                **(self.config.eval.get("policy", {}) if trained else {}),
                "model": str(self.trained()) if trained else policy,
            },
            "baselines": "never",
            "ceiling": "never",
            "seed": self.seed,
        }
        run_eval(parse_config(EvalConfig, values, f"evaluation of {policy}"), tick)


def kept(questions: Sequence[Question], config: GraphSetConfig) -> list[Question]:
    """The first of each template, as many as its share says."""
    by_template: dict[str, list[Question]] = {}
    for question in questions:
        by_template.setdefault(question.structure, []).append(question)
    sizes = {n: round(config.keep.get(n, 1.0) * len(some)) for n, some in by_template.items()}
    chosen = {q.id for name, some in by_template.items() for q in some[: sizes[name]]}
    return [question for question in questions if question.id in chosen]


if __name__ == "__main__":
    main()
