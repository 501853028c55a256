"""The whole road on this machine: world, data, three stages of training, evaluation, report.

`DemoData.make_data` and `Demo.train` are its table of contents; each stage does what the command
or script of that stage does, with its section of the config.
"""

from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from graphwalker.config import Config
from graphwalker.console import console
from graphwalker.demo.config import DemoConfig, Settings
from graphwalker.demo.data import QUESTIONS, DemoData
from graphwalker.demo.launch import launch
from graphwalker.demo.stages import Stage
from graphwalker.errors import IncompleteError, lacks_extra
from graphwalker.runs import one_writer

TRAINED = {"SFT stage 1": "sft1", "SFT stage 2": "sft2", "GRPO": "grpo"}
"""The stages of training, each with its section."""
ALONE: Settings = {"baselines": "never", "ceiling": "never"}
BESIDE: Settings = {"baselines": "auto", "ceiling": "auto"}
"""Evaluations of the same questions share the baselines and the ceiling of one of them."""
UNTRAINED: Settings = {"samples": 0, "max_tokens": 24}
"""Of a model that was never trained: its turns are noise of any length, which ends in no answer."""
HEADLINE = ("questions", "em", "em_interval", "f1", "hits1", "hit_any", "retrieval_any", "winnable")


@one_writer("config.run")
def run_demo(config: DemoConfig) -> dict[str, Any]:
    """Run every stage that is not finished yet, then write and show the report."""
    check_modules()
    demo = Demo(config)
    demo.check_settings()
    demo.check_questions()
    demo.make_data()
    demo.train()
    return demo.report()


def check_modules() -> None:
    """Raises `UserError` where what training needs is not installed, before any data is made."""
    for module in ("torch", "transformers", "trl", "accelerate"):
        if find_spec(module) is None:
            raise lacks_extra(f"the demo trains a model, and {module} is not installed", "train")


class Demo(DemoData):
    """One run folder. Every stage resumes where a killed run of the same settings stopped."""

    def check_settings(self) -> None:
        """Raises `UserError` for a mistake in any section, before the first stage starts."""
        from data_pipeline.config import ExpertConfig, SynthConfig
        from data_pipeline.teacher.config import TeacherConfig
        from eval.run.config import EvalConfig
        from graphwalker.agents.environment import EnvironmentConfig
        from graphwalker.jobs.road import JobsConfig
        from training.config import SftConfig
        from training.grpo_config import GrpoConfig

        sections: dict[str, type[Config]] = {
            "environment": EnvironmentConfig,
            "teacher": TeacherConfig,
            "jobs": JobsConfig,
            "synth": SynthConfig,
            **dict.fromkeys(QUESTIONS, SynthConfig),
            "experts": ExpertConfig,
            "sft1": SftConfig,
            "sft2": SftConfig,
            "grpo": GrpoConfig,
            "eval": EvalConfig,
        }
        for name, model in sections.items():
            if self.section(name):
                self.parse_section(model, name)

    # --- training

    def train(self) -> None:
        """Two stages of SFT, then GRPO."""
        self.make_model()
        for title, name in TRAINED.items():
            self.train_stage(title, name)

    def make_model(self) -> None:
        """The untrained agent, where the config names a model inside the run."""
        if self._is_own(Path(self.model)):
            self.times.run(Stage("tiny model", self._make_tiny))

    def train_stage(self, title: str, name: str) -> None:
        """Train as `accelerate launch training/SCRIPT.py --config RUN/config.yaml#NAME` does."""
        script = "grpo" if name == "grpo" else "sft"
        if (self._place(name) / "final").is_dir():
            return
        overrides = [f"seed={self.section(name).get('seed', self.config.seed)}"]
        work = partial(launch, script, self.out / "config.yaml", name, overrides)
        self.times.run(Stage(title, lambda _: work(), own_bar=True))

    def _make_tiny(self, _: console.ProgressTick) -> None:
        from graphwalker.agents.environment import EnvironmentConfig
        from graphwalker.datasets.base import load_questions
        from graphwalker.demo.data import make_tiny_model
        from graphwalker.graphs.browse import shown_relations
        from graphwalker.graphs.open import open_graph
        from training.tiny.config import demo_model

        graph, corpus = open_graph(self.graph), self._place("synth") / "graphsynth.jsonl"
        config = demo_model(len(list(shown_relations(graph))), self.config.seed)
        # As the tokenizer of a pretrained model knows the words that people ask in.
        questions = load_questions(self._place("grpo", "questions"))
        texts = [question.text for question in questions]
        environment = self.parse_section(EnvironmentConfig, "environment")
        make_tiny_model(config, corpus, graph, Path(self.model), environment, texts)

    # --- evaluation

    def evaluate(self, model: Path, folder: Path, more: Settings, title: str) -> None:
        """Run a model on the test questions, or on those that `more` names; with `BESIDE` also the
        baselines and the ceiling."""
        self.times.run(self.evaluation(model, folder, more, title))

    def evaluation(self, model: Path, folder: Path, more: Settings, title: str) -> Stage:
        """Return the evaluation of a model as a stage."""
        from eval.run.config import EvalConfig, run_eval
        from training.runs.environment import longest_turn

        given = self.section("eval")
        policy = {**given.get("policy", {}), "model": str(model)}
        own: Settings = {"output_dir": str(folder), "policy": policy}
        config = self.parse_section(EvalConfig, "eval", {**given, **ALONE, **more, **own})
        if "max_tokens" in config.model_fields_set:
            # As in GRPO, no turn as long as those that the model was shown is cut.
            cap = max(config.max_tokens, longest_turn(str(model)))
            config = config.model_copy(update={"max_tokens": cap})
        return Stage(title, partial(run_eval, config))

    def report(self) -> dict[str, Any]:
        """Evaluate every stage, write the report, print its table."""
        from eval.report.report import StageResult, console_table, write_report
        from eval.tables import missing_note

        folder = self._place("eval")
        stages = [StageResult("untrained", folder / "untrained", None, 0.0)]
        self.evaluate(Path(self.model), folder / "untrained", UNTRAINED, "evaluate untrained")
        for title, name in TRAINED.items():
            run, more = self._place(name), BESIDE if name == "grpo" else {}
            self.evaluate(run / "final", folder / name, more, f"evaluate {title}")
            seconds = self.times.seconds.get(title, 0.0)
            stages.append(StageResult(title, folder / name, run / "metrics.jsonl", seconds))
        report = write_report(
            self.out,
            stages,
            self.config.model_dump(mode="json"),
            self.config.seed,
            "GraphWalker demo: one agent, from nothing",
            {
                "benchmarks": self._benchmarks(),
                "seconds": self.times.seconds,
                "total_seconds": round(self.times.elapsed_s, 1),
                "cpu_seconds": self.times.cpu_seconds,
                "total_cpu_seconds": round(sum(self.times.cpu_seconds.values()), 1),
            },
        )
        console.out.print(console_table(report))
        console.facts("EM by the split of the question", em_by_split(folder))
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
            for stage in ("SFT stage 2", "GRPO"):
                run = TRAINED[stage]
                folder = self._place("eval") / f"benchmark-{name}-{run}"
                more = {"questions": path, "samples": 0, **(BESIDE if run == "grpo" else {})}
                title = f"benchmark {name}, {stage}"
                self.evaluate(self._place(run) / "final", folder, more, title)
                folders[stage] = folder
            figures[name] = benchmark_figures(folders)
            for title, row in figures[name].items():
                shown = {k: v for k, v in row.items() if k in HEADLINE or "minus" in title}
                console.facts(f"benchmark {name}, {title}", shown)
        return figures


def em_by_split(folder: Path) -> dict[str, str]:
    """Return EM after each stage of training, for the questions of each split."""
    from eval.run.records import read_run

    found: dict[str, list[str]] = {}
    for name in TRAINED.values():
        by_split: dict[str, list[float]] = {}
        for one in read_run(folder / name).trajectories:
            by_split.setdefault(one.question.split, []).append(one.scores.get("em", 0.0))
        for split, em in sorted(by_split.items()):
            found.setdefault(f"{split}, {len(em)}", []).append(f"{sum(em) / len(em):.3f}")
    return {split: ", ".join(figures) for split, figures in found.items()}
