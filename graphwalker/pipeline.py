"""The whole road on an embedded graph: world, data, three training stages, evaluation, report."""

import json
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field

from graphwalker.cli import console
from graphwalker.cli.shared import load as _load
from graphwalker.config import Config, load_config, parse_config, write_config
from graphwalker.errors import UserError

T = TypeVar("T")
Settings = dict[str, Any]

GRPO = "grpo/final"
TEXTS = 2000
"""Trajectories that the tokenizer learns its words from."""
HEADLINE = ("questions", "em", "em_interval", "f1", "hits1", "hit_any", "retrieval_any")
SHIPPED = {False: "demo.yaml", True: "demo-quick.yaml"}


class DemoConfig(Config):
    """`graphwalker demo`: the settings of every stage, each checked by the stage itself."""

    seed: int = 0
    """Seed of the world, the data, the weights and every draw."""
    graph: str = ""
    """A compiled graph of your own to walk; empty: a fictional world is made."""
    entities: int = Field(default=3000, ge=1000)
    """Named entities of the fictional world."""
    environment: Settings = {}
    """Tools, limits and prompt, the same for data, training and evaluation."""
    synth: Settings = {}
    """GraphSynth (see `graphwalker config synth`)."""
    rl_questions: Settings = {}
    """Questions for the expert, and for GRPO those that the expert leaves: other walks than
    GraphSynth's."""
    grpo_questions: Settings = {}
    """GRPO's own questions, in place of those that the expert leaves; what is not named here is as
    in `rl_questions`."""
    experts: Settings = {}
    """GraphRoll (see `graphwalker config experts`)."""
    tests: dict[str, Settings] = {}
    """Held-out question sets by split (`test-entity`, `test-path`)."""
    model: Settings = {}
    """The tiny model (see `graphwalker config model`)."""
    sft1: Settings = {}
    """SFT stage 1 on GraphSynth (see `graphwalker config sft`)."""
    sft2: Settings = {}
    """SFT stage 2 on GraphRoll."""
    grpo: Settings = {}
    """GRPO (see `graphwalker config grpo`)."""
    eval: Settings = {}
    """Evaluation of each stage (see `graphwalker config eval`)."""
    benchmarks: dict[str, str] = {}
    """Question files (name: path) that the agent answers greedily before and after GRPO, besides
    the test set. `grpo.questions` may name questions of the same kind to train on."""


def shipped_config(quick: bool) -> Path:
    """The demo's settings, from the source tree or the installed package."""
    here = Path(__file__).parent
    for folder in (here.parent / "configs", here / "configs"):
        if (folder / SHIPPED[quick]).is_file():
            return folder / SHIPPED[quick]
    raise UserError(f"{SHIPPED[quick]} is missing from this installation: reinstall graphwalker")


def run_demo(out: Path, config: Path, overrides: list[str]) -> dict[str, Any]:
    """Run every stage that is not finished yet, then write and show the report."""
    demo = Demo(out, load_config(DemoConfig, config, overrides))
    demo.check_questions()
    demo.make_data()
    demo.train()
    return demo.report()


class Demo:
    """One run folder. Every stage goes on where a killed run of the same settings stopped."""

    def __init__(self, out: Path, config: DemoConfig) -> None:
        self.out, self.config = out, config
        self.graph = config.graph or str(out / "world" / "graph")
        self.seconds = _Seconds(out / "seconds.json")
        write_config(config, out)

    # --- data

    def check_questions(self) -> None:
        """Question files from elsewhere can be read, and GRPO trains on none of a benchmark's.

        Raises `UserError` before anything is made.
        """
        load_questions = _load("graphwalker.datasets.base:load_questions")
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

    def make_data(self) -> None:
        if not self.config.graph and not Path(self.graph).exists():
            self._step("world", self._make_world)
        self._step("GraphSynth", self._synthesize)
        self._step("questions for RL", self._rl_questions)
        if self.config.grpo_questions:
            self._step("questions for GRPO", self._grpo_questions)
        self._step("held-out questions", self._hold_out)
        self._step("GraphRoll", self._collect)

    def _make_world(self, _: console.Tick) -> None:
        make = _load("graphwalker.world.generate:make_world")
        make(self.config.entities, self.config.seed, self.out / "world")

    def _synthesize(self, tick: console.Tick) -> None:
        config = self._parsed("data_pipeline.config:SynthConfig", "synth", seed=self.config.seed)
        run = _load("data_pipeline.synthesize:synthesize")
        run(self.graph, config, self.out / "synth", tick)

    def _rl_questions(self, tick: console.Tick) -> None:
        values = {"seed": self.config.seed + 1, **self.config.synth, **self.config.rl_questions}
        self._questions("rl", {"split": "train", **values}, tick)

    def _grpo_questions(self, tick: console.Tick) -> None:
        seed = {"seed": self.config.seed + 2 + len(self.config.tests)}
        more = {**self.config.synth, **self.config.rl_questions, **self.config.grpo_questions}
        self._questions("grpo", {"split": "train", **seed, **more}, tick)

    def _hold_out(self, tick: console.Tick) -> None:
        for number, (split, values) in enumerate(self.config.tests.items()):
            values = {"seed": self.config.seed + 2 + number, **self.config.synth, **values}
            self._questions(split, {**values, "split": split}, tick)
        self._merge_tests()

    def _questions(self, name: str, values: Settings, tick: console.Tick) -> None:
        config = self._parsed("data_pipeline.config:SynthConfig", name, values)
        run = _load("data_pipeline.synthesize:make_questions")
        run(self.graph, config, self.out / "questions" / name, tick)

    def _merge_tests(self) -> None:
        """One test file, checked against the training questions for leakage."""
        load_questions = _load("graphwalker.datasets.base:load_questions")
        write_jsonl = _load("graphwalker.files:write_jsonl")
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
        _load("data_pipeline.splits:check_leakage")(train, test)
        write_jsonl(self.test_file, [question.to_json() for question in test])

    def _collect(self, tick: console.Tick) -> None:
        config = self._parsed("data_pipeline.config:ExpertConfig", "experts", seed=self.config.seed)
        run = _load("data_pipeline.collect:collect_experts")
        run(self.graph, config, self.rl_file, self.out / "graphroll", tick)
        self._set_apart()

    def _set_apart(self) -> None:
        """GRPO's questions are those that stage 2 has not seen: it may know the others by heart."""
        read_jsonl = _load("graphwalker.files:read_jsonl")
        shown = {
            trajectory["question"]["id"]
            for trajectory in read_jsonl(self.out / "graphroll" / "graphroll.jsonl")
        }
        questions = [record for record in read_jsonl(self.rl_file) if record["id"] not in shown]
        _load("graphwalker.files:write_jsonl")(self.fresh_file, questions)

    # --- training

    def train(self) -> None:
        self.make_model()
        data = {"sft1": "synth/graphsynth.jsonl", "sft2": "graphroll/graphroll.jsonl"}
        parents = {"sft1": self.out / "model", "sft2": self.out / "sft1" / "final"}
        for name, title in (("sft1", "SFT stage 1"), ("sft2", "SFT stage 2")):
            values = {
                "model": str(parents[name]),
                "data": [str(self.out / data[name])],
                "output_dir": str(self.out / name),
                "seed": self.config.seed,
                **getattr(self.config, name),
            }
            self.train_sft(values, title)
        values = {
            "model": str(self.out / "sft2" / "final"),
            "output_dir": str(self.out / "grpo"),
            "seed": self.config.seed,
            **self.config.grpo,
        }
        self.train_grpo(values)

    def make_model(self) -> None:
        """The untrained agent, in `model/`."""
        self._step("tiny model", self._make_model)

    def train_sft(self, values: Settings, title: str) -> None:
        """One SFT stage with these settings."""
        config = self._parsed("training.config:SftConfig", title, values)
        self._step(title, lambda _: _load("training.sft:run_sft")(config), bar=False)

    def train_grpo(self, values: Settings) -> None:
        """GRPO on the run's own fresh questions, graph and environment."""
        values = {
            "questions": str(self.grpo_file),
            "graph": str(self.graph),
            "environment": self.config.environment,
            **values,
        }
        config = self._parsed("training.grpo_config:GrpoConfig", "grpo", values)
        self._step("GRPO", lambda _: _load("training.grpo:run_grpo")(config), bar=False)

    def _make_model(self, _: console.Tick) -> None:
        values = {"seed": self.config.seed, **self.config.model}
        config = self._parsed("training.config:TinyModelConfig", "model", values)
        read_records = _load("graphwalker.files:read_records")
        parse = _load("graphwalker.trajectory:Trajectory").from_json
        trajectories = read_records(self.out / "synth" / "graphsynth.jsonl", parse)
        texts = _load("training.models.tiny:conversation_texts")(islice(trajectories, TEXTS))
        graph = _load("graphwalker.graphs.open:open_graph")(self.graph)
        relations = _load("graphwalker.graphs.relations:shown_relations")(graph)
        names = (graph.entity_at(i).name for i in range(graph.size))
        _load("training.models.tiny:make_tiny")(config, texts, relations, self.out / "model", names)

    # --- evaluation

    @property
    def fresh_file(self) -> Path:
        return self.out / "questions" / "rl" / "fresh.jsonl"

    @property
    def grpo_file(self) -> Path:
        own = self.out / "questions" / "grpo" / "questions.jsonl"
        return own if self.config.grpo_questions else self.fresh_file

    @property
    def test_file(self) -> Path:
        return self.out / "questions" / "test.jsonl"

    @property
    def rl_file(self) -> Path:
        return self.out / "questions" / "rl" / "questions.jsonl"

    def report(self) -> dict[str, Any]:
        """Evaluate every stage, write the report, print its table."""
        stage_result = _load("eval.report.report:StageResult")
        models = {
            "untrained": ("model", ""),
            "SFT stage 1": ("sft1/final", "sft1"),
            "SFT stage 2": ("sft2/final", "sft2"),
            "GRPO": (GRPO, "grpo"),
        }
        stages: list[Any] = []
        for name, (model, run) in models.items():
            folder = self.out / "eval" / (run or name)
            self.evaluate(self.out / model, folder, title=f"evaluate {name}")
            metrics = self.out / run / "metrics.jsonl" if run else None
            stages.append(stage_result(name, folder, metrics, self.seconds.of(name)))
        report = _load("eval.report.report:write_report")(
            self.out,
            stages,
            self.config.model_dump(mode="json"),
            self.config.seed,
            "GraphWalker demo: one agent, from nothing",
            {
                "benchmarks": self._benchmarks(),
                "seconds": self.seconds.all,
                "total_seconds": round(sum(self.seconds.all.values()), 1),
            },
        )
        console.out.print(_load("eval.report.report:console_table")(report))
        console.out.print(f"Report: {(self.out / 'report.html').resolve()}", soft_wrap=True)
        return report

    def _benchmarks(self) -> dict[str, Any]:
        """Figures on question files from elsewhere before and after GRPO, and the paired gain."""
        read_run = _load("eval.run.records:read_run")
        figures: dict[str, Any] = {}
        for name, path in self.config.benchmarks.items():
            runs: list[Any] = []
            figures[name] = {}
            for stage, model in (("SFT stage 2", "sft2/final"), ("GRPO", GRPO)):
                folder = self.out / "eval" / f"benchmark-{name}-{model.partition('/')[0]}"
                title = f"benchmark {name}, {stage}"
                self.evaluate(self.out / model, folder, {"questions": path, "samples": 0}, title)
                runs.append(read_run(folder).trajectories)
                found = figures[name][stage] = _load("eval.analysis.summary:summarise")(runs[-1])
                console.facts(title, {k: found[k] for k in HEADLINE})
            gain = figures[name]["GRPO minus SFT stage 2"] = _load("eval.analysis.summary:paired")(
                *runs
            )
            console.facts(f"benchmark {name}, GRPO minus SFT stage 2", gain)
        return figures

    def evaluate(
        self, model: Path, folder: Path, more: Settings | None = None, title: str = "evaluate"
    ) -> None:
        """Run a model on the held-out questions, or on those that `more` names."""
        values = {
            "graph": str(self.graph),
            "questions": str(self.test_file),
            "output_dir": str(folder),
            "environment": self.config.environment,
            "seed": self.config.seed,
            **self.config.eval,
            **(more or {}),
            "policy": {"model": str(model), **self.config.eval.get("policy", {})},
        }
        config = self._parsed("eval.run.config:EvalConfig", "eval", values)
        self._step(title, lambda tick: _load("eval.run.config:run_eval")(config, tick))

    # --- plumbing

    def _parsed(self, model: str, name: str, values: Settings | None = None, **more: Any) -> Any:
        if values is None:
            values = {**more, **getattr(self.config, name)}
        fields = _load(model).model_fields
        if "environment" in fields:
            values = {**values, "environment": self.config.environment}
        return parse_config(_load(model), values, f"demo settings, {name}")

    def _step(self, title: str, work: Callable[[console.Tick], T], bar: bool = True) -> T:
        """Run a step and keep its seconds. Training shows bars of its own."""
        console.note(f"{title} ...")
        started = time.monotonic()
        try:
            if not bar:
                return work(console.silent)
            with console.progress(title) as tick:
                return work(tick)
        finally:
            self.seconds.add(title, time.monotonic() - started)


class _Seconds:
    """Seconds spent per step, kept over resumes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.all: dict[str, float] = {}
        if path.is_file():
            self.all = json.loads(path.read_text(encoding="utf-8"))

    def of(self, step: str) -> float:
        return self.all.get(step, 0.0)

    def add(self, step: str, seconds: float) -> None:
        self.all[step] = round(self.all.get(step, 0.0) + seconds, 1)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(self.all, indent=1) + "\n", encoding="utf-8")
