"""The data of the pipeline: world, GraphSynth, questions, GraphRoll."""

from functools import partial
from pathlib import Path
from typing import TypeVar

from graphwalker.cli import console
from graphwalker.config import Config, parse_config, write_config
from graphwalker.errors import UserError
from graphwalker.pipeline.config import DemoConfig, Settings
from graphwalker.pipeline.stages import Stage, StageTimes

C = TypeVar("C", bound=Config)


class DemoData:
    """The files of a run folder, and the stages that make them."""

    def __init__(self, out: Path, config: DemoConfig) -> None:
        self.out, self.config = out, config
        self.graph = config.graph or str(out / "world" / "graph")
        questions = out / "questions"
        self.test_file = questions / "test.jsonl"
        self.rl_file = questions / "rl" / "questions.jsonl"
        self.fresh_file = questions / "rl" / "fresh.jsonl"
        own = questions / "grpo" / "questions.jsonl"
        self.grpo_file = own if config.grpo_questions else self.fresh_file
        self.times = StageTimes(out)

    def check_questions(self) -> None:
        """Question files from elsewhere can be read, and GRPO trains on none of a benchmark's.

        Raises `UserError` before anything is made.
        """
        from graphwalker.datasets.base import load_questions

        tests = {name: load_questions(path) for name, path in self.config.benchmarks.items()}
        mine = self.config.grpo.get("questions")
        trained = {q.text.casefold() for q in load_questions(mine)} if mine else set[str]()
        for name, questions in tests.items():
            shared = [q.text for q in questions if q.text.casefold() in trained]
            if shared:
                raise UserError(
                    f"grpo.questions={mine}: benchmarks.{name} has {len(shared)} of its questions, "
                    f"such as {shared[0]!r}; train on others"
                )

    def data_stages(self) -> tuple[list[Stage], list[Stage]]:
        """From nothing to the files that training and evaluation read: those that the first stage
        of training needs, and the others."""
        config, made = self.config, self.config.graph or Path(self.graph).exists()
        rl = {"split": "train", **config.synth, **config.rl_questions}
        # Which set has which seed is part of the data: seed + 2 and on are the held-out sets'.
        own = {"seed": config.seed + 2 + len(config.tests), **rl, **config.grpo_questions}
        rl = {"seed": config.seed + 1, **rl}
        first = [
            *([] if made else [Stage("world", self._make_world)]),
            Stage("GraphSynth", self._synthesize),
        ]
        others = [
            Stage("questions for RL", partial(self._questions, "rl", rl)),
            Stage("held-out questions", self._hold_out),
            Stage("GraphRoll", self._experts),
        ]
        grpo = Stage("questions for GRPO", partial(self._questions, "grpo", own))
        # The tokenizer of the tiny model reads GRPO's questions.
        return ([*first, grpo], others) if config.grpo_questions else ([*first, *others], [])

    def make_data(self) -> None:
        """All of the data."""
        for stages in self.data_stages():
            self._make(stages)

    def _make(self, stages: list[Stage]) -> None:
        write_config(self.config, self.out)
        for stage in stages:
            self.run_stage(stage)

    def _make_world(self, _: console.ProgressTick) -> None:
        from graphwalker.world.generate import make_world

        make_world(self.config.entities, self.config.seed, self.out / "world")

    def _synthesize(self, tick: console.ProgressTick) -> None:
        from data_pipeline.config import SynthConfig
        from data_pipeline.synthesize import synthesize

        config = self._parsed(SynthConfig, "synth", {"seed": self.config.seed, **self.config.synth})
        synthesize(self.graph, config, self.out / "synth", tick)

    def _questions(self, name: str, values: Settings, tick: console.ProgressTick) -> None:
        from data_pipeline.config import SynthConfig
        from data_pipeline.synthesize import make_questions

        config = self._parsed(SynthConfig, name, values)
        make_questions(self.graph, config, self.out / "questions" / name, tick)

    def _hold_out(self, tick: console.ProgressTick) -> None:
        for number, (split, values) in enumerate(self.config.tests.items()):
            values = {"seed": self.config.seed + 2 + number, **self.config.synth, **values}
            self._questions(split, {**values, "split": split}, tick)
        self._merge_tests()

    def _merge_tests(self) -> None:
        """One test file, checked against the training questions for leakage."""
        from data_pipeline.splits import check_leakage
        from graphwalker.datasets.base import load_questions
        from graphwalker.files import write_jsonl

        train = load_questions(self.out / "synth" / "questions.jsonl")
        train += load_questions(self.rl_file)
        if self.config.grpo_questions:
            train += load_questions(self.grpo_file)
        texts = {question.text.casefold() for question in train}
        test = [
            question
            for split in self.config.tests
            for question in load_questions(self.out / "questions" / split / "questions.jsonl")
            if question.text.casefold() not in texts  # of a namesake of its topic
        ]
        check_leakage(train, test)
        write_jsonl(self.test_file, [question.to_json() for question in test])

    def _experts(self, tick: console.ProgressTick) -> None:
        """GraphRoll. GRPO's questions are those that it leaves: a model that was trained on the
        others may know their answers by heart."""
        from data_pipeline.config import ExpertConfig
        from data_pipeline.experts.experts import make_experts
        from graphwalker.files import read_jsonl, write_jsonl

        values = {"seed": self.config.seed, **self.config.experts}
        config, folder = self._parsed(ExpertConfig, "experts", values), self.out / "graphroll"
        make_experts(self.graph, config, self.rl_file, folder, tick)
        shown = {row["question"]["id"] for row in read_jsonl(folder / "graphroll.jsonl")}
        fresh = [record for record in read_jsonl(self.rl_file) if record["id"] not in shown]
        write_jsonl(self.fresh_file, fresh)

    # --- how a stage is run

    def _parsed(self, model: type[C], name: str, values: Settings) -> C:
        """A stage's settings, checked; all stages have the demo's environment."""
        if "environment" in model.model_fields:
            values = {**values, "environment": self.config.environment}
        return parse_config(model, values, f"demo settings, {name}")

    def run_stage(self, stage: Stage) -> None:
        """Run a stage and keep its seconds."""
        self.times.run(stage)
