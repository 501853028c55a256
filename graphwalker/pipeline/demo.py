"""The whole pipeline on an embedded graph: world, data, three training stages, evaluation, report.

`DemoData.data_stages` and `Demo.train` are its table of contents; each stage does what the
command or script of that stage does.
"""

from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from graphwalker.cli import console
from graphwalker.config import Config, refuse_unknown
from graphwalker.doctor.extras import DISTRIBUTION
from graphwalker.errors import IncompleteError, UserError
from graphwalker.pipeline.config import DemoConfig, Settings
from graphwalker.pipeline.data import DemoData
from graphwalker.pipeline.stages import Stage
from graphwalker.pipeline.tiny import make_tiny_model
from graphwalker.pipeline.together import train_together
from graphwalker.runs import one_writer

GRPO = "grpo/final"
MODELS = {
    "untrained": ("model", ""),
    "SFT stage 1": ("sft1/final", "sft1"),
    "SFT stage 2": ("sft2/final", "sft2"),
    "GRPO": (GRPO, "grpo"),
}
"""What is evaluated, by the stage that made it: the model's folder, and that of its training."""
ALONE: Settings = {"baselines": "never", "ceiling": "never"}
BESIDE: Settings = {"baselines": "auto", "ceiling": "auto"}
"""Evaluations of the same questions share the baselines and the ceiling of one of them."""
UNTRAINED: Settings = {"samples": 0, "max_tokens": 24}
"""Of a model that was never trained: its turns are noise of any length, which ends in no answer."""
HEADLINE = ("questions", "em", "em_interval", "f1", "hits1", "hit_any", "retrieval_any", "winnable")


@one_writer("out")
def run_demo(out: Path, config: DemoConfig) -> dict[str, Any]:
    """Run every stage that is not finished yet, then write and show the report."""
    check_modules()
    demo = Demo(out, config)
    demo.check_settings()
    demo.check_questions()
    demo.train()
    return demo.report()


def check_modules() -> None:
    """Raises `UserError` where what training needs is not installed, before any data is made."""
    for module in ("torch", "transformers", "trl"):
        if find_spec(module) is None:
            raise UserError(
                f"the demo trains a model, and {module} is not installed: "
                f"pip install '{DISTRIBUTION}[train]'"
            )


class Demo(DemoData):
    """One run folder. Every stage resumes where a killed run of the same settings stopped."""

    def check_settings(self) -> None:
        """Raises `UserError` for a misspelt setting of any stage, before the first one starts."""
        from data_pipeline.config import ExpertConfig, SynthConfig
        from eval.run.config import EvalConfig
        from graphwalker.agents.environment import EnvironmentConfig
        from training.config import SftConfig, TinyModelConfig
        from training.grpo_config import GrpoConfig

        stages: dict[str, type[Config]] = {
            "environment": EnvironmentConfig,
            "synth": SynthConfig,
            "rl_questions": SynthConfig,
            "grpo_questions": SynthConfig,
            "experts": ExpertConfig,
            "model": TinyModelConfig,
            "sft1": SftConfig,
            "sft2": SftConfig,
            "grpo": GrpoConfig,
            "eval": EvalConfig,
        }
        for name, model in stages.items():
            refuse_unknown(model, getattr(self.config, name), f"demo settings, {name}")
        for split, values in self.config.tests.items():
            refuse_unknown(SynthConfig, values, f"demo settings, tests.{split}")
        # Each is read whole, as its stage reads it after minutes of others.
        config = self.config
        self._parsed(EnvironmentConfig, "environment", config.environment)
        self._parsed(TinyModelConfig, "model", config.model)
        questions = {"synth": {}, "rl_questions": config.rl_questions}
        questions |= {"grpo_questions": {**config.rl_questions, **config.grpo_questions}}
        questions |= {f"tests.{split}": values for split, values in config.tests.items()}
        for name, values in questions.items():
            self._parsed(SynthConfig, name, {**config.synth, **values})
        self._parsed(ExpertConfig, "experts", config.experts)
        where: Settings = {"model": str(self.out / "model"), "output_dir": str(self.out)}
        paths = {"graph": self.graph, "questions": str(self.test_file), "output_dir": str(self.out)}
        policy = {"model": where["model"], **config.eval.get("policy", {})}
        self._parsed(EvalConfig, "eval", {**paths, **config.eval, "policy": policy})
        for name, settings in (("sft1", self.config.sft1), ("sft2", self.config.sft2)):
            self._parsed(SftConfig, name, {**where, "data": [self.graph], **settings})
        self._parsed(GrpoConfig, "grpo", self._on_own_data({**where, **self.config.grpo}))

    # --- training

    def train(self) -> None:
        """The data, the untrained agent, two stages of SFT, then GRPO."""
        config, out = self.config, self.out
        first, others = self.data_stages()
        if config.processes == 1:
            first, others = [*first, *others], []
        self._make(first)
        self.make_model()
        paths = {"model": str(out / "model"), "output_dir": str(out / "sft1")}
        data = {"data": [str(out / "synth" / "graphsynth.jsonl")], "seed": config.seed}
        with self._beside(*others, self._evaluation("untrained")):
            self.train_sft({**paths, **data, **config.sft1}, "SFT stage 1")
        paths = {"model": str(out / "sft1" / "final"), "output_dir": str(out / "sft2")}
        data = {"data": [str(out / "graphroll" / "graphroll.jsonl")], "seed": config.seed}
        with self._beside(self._evaluation("SFT stage 1")):
            self.train_sft({**paths, **data, **config.sft2}, "SFT stage 2")
        paths = {"model": str(out / "sft2" / "final"), "output_dir": str(out / "grpo")}
        self.train_grpo({**paths, "seed": config.seed, **config.grpo})

    @contextmanager
    def _beside(self, *stages: Stage) -> Generator[None]:
        """Stages that the block does not wait for: run beside it, or after it by one process."""
        if self.config.processes > 1:
            with self.times.beside(list(stages)):
                yield
            return
        yield
        for stage in stages:
            self.run_stage(stage)

    def make_model(self) -> None:
        """The untrained agent, in `model/`."""
        self.run_stage(Stage("tiny model", self._make_model))

    def train_sft(self, values: Settings, title: str) -> None:
        """One SFT stage with these settings."""
        from training.config import SftConfig
        from training.sft import run_sft

        config = self._parsed(SftConfig, title, values)
        self.run_stage(Stage(title, lambda _: run_sft(config), own_bar=True))

    def train_grpo(self, values: Settings) -> None:
        """GRPO on the run's own fresh questions, graph and environment."""
        from training.grpo import run_grpo
        from training.grpo_config import GrpoConfig
        from training.runs.environment import raised_caps

        config = raised_caps(self._parsed(GrpoConfig, "grpo", self._on_own_data(values)))
        work = partial(train_together, run_grpo, config, self.config.processes)
        self.run_stage(Stage("GRPO", lambda _: work(), own_bar=True))

    def _on_own_data(self, values: Settings) -> Settings:
        """GRPO's settings with the questions and the demonstrations of this run."""
        if values.get("replay"):
            shown = [str(self.out / "graphroll" / "graphroll.jsonl")]
            values = {**values, "replay": {"data": shown, **values["replay"]}}
        return {"questions": str(self.grpo_file), "graph": self.graph, **values}

    def _make_model(self, _: console.ProgressTick) -> None:
        from graphwalker.agents.environment import EnvironmentConfig
        from graphwalker.datasets.base import load_questions
        from graphwalker.graphs.open import open_graph
        from training.config import TinyModelConfig

        values = {"seed": self.config.seed, **self.config.model}
        config = self._parsed(TinyModelConfig, "model", values)
        # As the tokenizer of a pretrained model knows the words that people ask in.
        questions = [question.text for question in load_questions(self.grpo_file)]
        environment = self._parsed(EnvironmentConfig, "environment", self.config.environment)
        corpus, graph = self.out / "synth" / "graphsynth.jsonl", open_graph(self.graph)
        make_tiny_model(config, corpus, graph, self.out / "model", environment, questions)

    # --- evaluation

    def evaluate(
        self, model: Path, folder: Path, more: Settings | None = None, title: str = "evaluate"
    ) -> None:
        """Run a model on the held-out questions, or on those that `more` names; with `BESIDE` also
        the baselines and the ceiling."""
        self.run_stage(self._evaluation_stage(model, folder, more or {}, title))

    def _evaluation(self, name: str) -> Stage:
        """The evaluation of one of the four models on the held-out questions."""
        model, run = MODELS[name]
        more = BESIDE if model == GRPO else {} if run else UNTRAINED
        folder = self.out / "eval" / (run or name)
        return self._evaluation_stage(self.out / model, folder, more, f"evaluate {name}")

    def _evaluation_stage(self, model: Path, folder: Path, more: Settings, title: str) -> Stage:
        from eval.run.config import EvalConfig, run_eval
        from training.runs.environment import longest_turn

        values = {
            "graph": self.graph,
            "questions": str(self.test_file),
            "output_dir": str(folder),
            "seed": self.config.seed,
            **ALONE,
            **self.config.eval,
            **more,
            "policy": {"model": str(model), **self.config.eval.get("policy", {})},
        }
        config = self._parsed(EvalConfig, "eval", values)
        if "max_tokens" in config.model_fields_set:
            # As in GRPO, no turn as long as those that the model was shown is cut.
            cap = max(config.max_tokens, longest_turn(str(model)))
            config = config.model_copy(update={"max_tokens": cap})
        return Stage(title, partial(run_eval, config))

    def report(self) -> dict[str, Any]:
        """Evaluate every stage, write the report, print its table."""
        from eval.report.report import StageResult, console_table, write_report
        from eval.tables import missing_note

        with self._beside(self._evaluation("SFT stage 2")):
            self.run_stage(self._evaluation("GRPO"))
        stages = [
            StageResult(
                name,
                self.out / "eval" / (run or name),
                self.out / run / "metrics.jsonl" if run else None,
                self.times.seconds.get(name, 0.0),
            )
            for name, (_, run) in MODELS.items()
        ]
        report = write_report(
            self.out,
            stages,
            self.config.model_dump(mode="json"),
            self.config.seed,
            "GraphWalker demo: one agent, from nothing",
            {
                "benchmarks": self._benchmarks(),
                "seconds": self.times.seconds,
                "total_seconds": round(self.times.elapsed, 1),
                "cpu_seconds": self.times.cpu_seconds,
                "total_cpu_seconds": round(sum(self.times.cpu_seconds.values()), 1),
            },
        )
        console.out.print(console_table(report))
        console.out.print(f"Report: {(self.out / 'report.html').resolve()}", soft_wrap=True)
        lost = [f"{s['name']}: {note}" for s in report["stages"] if (note := missing_note(s))]
        if lost:
            raise IncompleteError(f"{'; '.join(lost)}; the same command resumes the run")
        return report

    def _benchmarks(self) -> dict[str, Any]:
        """Figures on question files from elsewhere before and after GRPO, the paired gain, and what
        baselines without a model reach on them."""
        from eval.report.beside import benchmark_figures

        figures: dict[str, Any] = {}
        for name, path in self.config.benchmarks.items():
            folders: dict[str, Path] = {}
            for stage, model in (("SFT stage 2", "sft2/final"), ("GRPO", GRPO)):
                folder = self.out / "eval" / f"benchmark-{name}-{model.partition('/')[0]}"
                more = {"questions": path, "samples": 0, **(BESIDE if model == GRPO else {})}
                self.evaluate(self.out / model, folder, more, f"benchmark {name}, {stage}")
                folders[stage] = folder
            figures[name] = benchmark_figures(folders)
            for title, row in figures[name].items():
                shown = {k: v for k, v in row.items() if k in HEADLINE or "minus" in title}
                console.facts(f"benchmark {name}, {title}", shown)
        return figures
