"""One seed of `benchmarks.graphwalk_trained`: graphs, demonstrations, training and evaluation."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.graphwalk_rules import RULES, OneOfTheList
from benchmarks.graphwalk_settings import GraphSetConfig, GraphWalkTrainedConfig, Settings, kept
from benchmarks.graphwalk_words import pieces
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.rollout import rollout, untimed
from graphwalker.answers.rows import Rows
from graphwalker.config import parse_config
from graphwalker.datasets.base import load_questions
from graphwalker.files import read_records, write_jsonl, write_text
from graphwalker.graphs.open import open_graph
from graphwalker.graphs.property.sets import SET_FILE
from graphwalker.pipeline.stages import Stage, StageTimes
from graphwalker.policies.config import PolicyConfig
from graphwalker.policies.load import load_policy
from graphwalker.policies.scripted import ScriptedPolicy
from graphwalker.protocols.base import FinalAnswer
from graphwalker.question import Question
from graphwalker.synthetic.graphs import size_of
from graphwalker.synthetic.sets import QUESTIONS, make_graph_set
from graphwalker.trajectory import Trajectory

TRAINED, FREE, NO_TOOLS = "trained", "free-decoding", "no-tools"
"""Who plays: the model; itself with free decoding, where its config constrains it; another that
sees the whole graph and has no tools."""


@dataclass(frozen=True, slots=True)
class SeedRun:
    """Everything of one seed, below its folder. What is finished is left as it is."""

    out: Path
    seed: int
    config: GraphWalkTrainedConfig

    def run(self, until: str = "") -> None:
        self._read_settings()
        times = StageTimes(self.out)
        for stage in self._stages():
            times.run(stage)
            if stage.title == until:
                return

    def _stages(self) -> Iterator[Stage]:
        yield Stage("graphs", self._make_graphs)
        yield Stage("demonstrations", self._demonstrate)
        yield Stage("model", partial(self._make_model, TRAINED))
        for number in range(len(self.config.rounds)):
            yield Stage(f"SFT, round {number}", partial(self._train, number), own_bar=True)
        for name in self.config.test:
            yield Stage(f"{name}: rules", partial(self._play_rules, name))
            for policy in ("oracle", *decodings(self.config)):
                yield Stage(f"{name}: evaluate {policy}", partial(self._evaluate, name, policy))
        if self.config.no_tools:
            yield Stage("no tools: demonstrations", self._answers_alone)
            yield Stage("no tools: model", partial(self._make_model, NO_TOOLS))
            yield Stage("no tools: SFT", self._train_no_tools, own_bar=True)
            for name in self.config.test:
                yield Stage(f"{name}: no tools", partial(self._evaluate, name, NO_TOOLS))

    def _read_settings(self) -> None:
        """Raises `UserError` for a wrong one, before hours of work that would end at it."""
        self._model_settings()
        for number in range(len(self.config.rounds)):
            self._round(number)
        if self.config.no_tools:
            self._no_tools_round()
        for name in self.config.test:
            self._evaluation(name, TRAINED)

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
        for number, one in enumerate(self.config.train):
            world = Environment(open_graph(self.out / f"train-{number}"), self.environment)
            oracle = load_policy(PolicyConfig(model="oracle"), environment=world)
            if not (demos := self.demos(number)).exists():
                played = rollout(self._questions(number, one), world, oracle)
                write_jsonl(demos, (untimed(t).to_json() for t in played))

    def _model_settings(self) -> Any:
        from training.config import TinyModelConfig

        return parse_config(TinyModelConfig, {"seed": self.seed, **self.config.model}, "model")

    def _make_model(self, kind: str, _: Any) -> None:
        """Its tokens are those of the first round's texts, and every name of the graphs."""
        from training.models.tiny import conversation_texts, make_tiny

        model = self._model_settings()
        shown = self.shown(0) if kind == TRAINED else [self.answers]
        walks = (one for path in shown for one in read_records(path, Trajectory.from_json))
        texts = conversation_texts(walks)
        names = self._words() if model.atomic_names else ()
        own = self.environment_of(kind)
        make_tiny(model, texts, [], self.out / f"model-{kind}", names, own, pieces())

    def demos(self, number: int) -> Path:
        """The oracle's walks through a set of training graphs."""
        return self.out / f"demos-{number}.jsonl"

    def shown(self, number: int) -> list[Path]:
        """The demonstrations of a round."""
        sets = self.config.rounds[number].sets or range(len(self.config.train))
        return [self.demos(number) for number in sets]

    @property
    def answers(self) -> Path:
        """What the model without tools is shown."""
        return self.out / "answers.jsonl"

    def environment_of(self, kind: str) -> EnvironmentConfig:
        if kind == NO_TOOLS:
            return self.without_tools
        constrained = self.config.constrained and kind == TRAINED
        return self.environment.model_copy(update={"constrained": constrained})

    @property
    def without_tools(self) -> EnvironmentConfig:
        """The same question under the whole graph, as JSON."""
        prompt = self.out / "prompt-no-tools.md"
        write_text(prompt, "{graph}\n---\n{question}\n")
        return EnvironmentConfig.model_validate(
            {"preset": "graphwalk", "prompt": str(prompt), "options": {"tools": False}}
            | self.config.no_tools
        )

    def _answers_alone(self, _: Any) -> None:
        """The gold rows as the model without tools learns to say them at once."""
        sets = enumerate(self.config.train)
        asked = {self.out / f"train-{n}": self._questions(n, one) for n, one in sets}
        played = (t for folder, some in asked.items() for t in self.told(folder, some))
        write_jsonl(self.answers, (one.to_json() for one in played))

    def told(self, folder: Path, questions: Sequence[Question]) -> Iterator[Trajectory]:
        """The whole graph, and the gold rows at once."""
        world = Environment(open_graph(folder), self.without_tools)
        write = world.protocol.render
        said = {
            q.id: [write("", FinalAnswer(q.gold.texts(), "rows"))]
            for q in questions
            if isinstance(q.gold, Rows)
        }
        return (untimed(t) for t in rollout(questions, world, ScriptedPolicy(said)))

    def _questions(self, number: int, one: GraphSetConfig) -> list[Question]:
        return kept(load_questions(self.out / f"train-{number}" / QUESTIONS), one)

    def _play_rules(self, name: str, _: Any) -> None:
        world = Environment(open_graph(self.out / f"test-{name}"), self.environment)
        for place, rule in enumerate(RULES):
            played = rollout(self.asked(name), world, OneOfTheList(world, bool(place)))
            path = self.out / f"eval-{name}-{rule.replace(' ', '-')}" / "predictions.jsonl"
            path.parent.mkdir(exist_ok=True)
            write_jsonl(path, (untimed(one).to_json() for one in played))

    def asked(self, name: str) -> list[Question]:
        return kept(load_questions(self.out / f"test-{name}" / QUESTIONS), self.config.test[name])

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

    def trained(self, kind: str = TRAINED, number: int = -1) -> Path:
        """The model after a round, the last one unless told."""
        last = len(self.config.rounds) - 1 if kind == TRAINED else 0
        return self.out / f"sft-{kind}-{last if number < 0 else number}" / "final"

    def _train(self, number: int, _: Any) -> None:
        from training.sft import run_sft

        run_sft(self._round(number))

    def _round(self, number: int) -> Any:
        started = self.out / f"model-{TRAINED}" if not number else self.trained(number=number - 1)
        data = [str(path) for path in self.shown(number)]
        more = {"data": data, **self.config.rounds[number].sft}
        return self._sft_settings(TRAINED, number, started, more)

    def _train_no_tools(self, _: Any) -> None:
        from training.sft import run_sft

        run_sft(self._no_tools_round())

    def _no_tools_round(self) -> Any:
        more = {"data": [str(self.answers)], **self.config.no_tools_sft}
        return self._sft_settings(NO_TOOLS, 0, self.out / f"model-{NO_TOOLS}", more)

    def _sft_settings(self, kind: str, number: int, started: Path, more: Settings) -> Any:
        from training.config import SftConfig

        own = {
            "model": str(started),
            "output_dir": str(self.trained(kind, number).parent),
            "seed": self.seed,
            "environment": self.environment_of(kind).model_dump(
                include={"preset", "prompt", "options", "constrained"}
            ),
        }
        settings = {**own, **self.config.sft, **more}
        return parse_config(SftConfig, settings, f"SFT of {kind}, round {number}")

    def _evaluate(self, name: str, policy: str, tick: Any) -> None:
        from eval.run.config import run_eval

        config = self._evaluation(name, policy)
        write_jsonl(Path(config.questions), (one.to_json() for one in self.asked(name)))
        run_eval(config, tick)

    def _evaluation(self, name: str, policy: str) -> Any:
        from eval.run.config import EvalConfig

        folder, model = self.out / f"test-{name}", policy in (TRAINED, FREE, NO_TOOLS)
        own = self.environment_of(policy)
        kind = NO_TOOLS if policy == NO_TOOLS else TRAINED
        values = {
            **self.config.eval,
            "graph": str(folder),
            "questions": str(folder / "asked.jsonl"),
            "output_dir": str(self.out / f"eval-{name}-{policy}"),
            "environment": own.model_dump(exclude_unset=True),
            "policy": {
                **(self.config.eval.get("policy", {}) if model else {}),
                "model": str(self.trained(kind)) if model else policy,
            },
            "baselines": "never",
            "ceiling": "never",
            "seed": self.seed,
        }
        return parse_config(EvalConfig, values, f"evaluation of {policy}")


def decodings(config: GraphWalkTrainedConfig) -> list[str]:
    """How the trained model is played."""
    return [TRAINED, FREE] if config.constrained else [TRAINED]
