"""The whole road on this machine: world, data, three stages of training, evaluation, report.

`Demo.stages` is its table of contents. Each stage runs the command of that stage on its section of
the config.
"""

import textwrap
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphwalker.config import write_config
from graphwalker.console import console
from graphwalker.demo.config import DemoConfig, Settings
from graphwalker.demo.data import check_benchmarks, make_tiny_model, merge_tests
from graphwalker.errors import IncompleteError, UserError, lacks_extra
from graphwalker.jobs.local import PROCESSES, is_done, run_section
from graphwalker.jobs.sections import QUESTIONS, ChainSection, kind_of
from graphwalker.jobs.times import Stage, StageTimes
from graphwalker.question import Question
from graphwalker.runs import one_writer

if TYPE_CHECKING:
    from eval.run.config import EvalConfig
    from training.grpo_config import GrpoConfig

ENTITIES = 3000
"""Named entities of the fictional world."""
SEEDS = 10
"""Seeds that the sections of one run may use."""
DATA = {
    "GraphSynth": "synth",
    **{f"questions, {name}": name for name in QUESTIONS},
    "GraphRoll": "experts",
}
TRAINED = {"SFT stage 1": "sft1", "SFT stage 2": "sft2", "GRPO": "grpo"}
"""Stages by their titles, each with its section."""
ALONE: Settings = {"baselines": "never", "ceiling": "never"}
BESIDE: Settings = {"baselines": "auto", "ceiling": "auto"}
"""Evaluations of the same questions share the baselines and the ceiling of one of them."""
UNTRAINED: Settings = {"samples": 0, "max_tokens": 24}
"""Of a model that was never trained: its turns are noise of any length, which ends in no answer."""
CPU_S = {"record": 0.006, "token": 1 / 4300, "episode": 0.27, "question": 0.1}
"""CPU seconds of one of each, measured; the time that is left is told by their ratios."""
HEADLINE = ("questions", "em", "em_interval", "f1", "hits1", "hit_any", "retrieval_any", "winnable")


@one_writer("config.run")
def run_demo(config: DemoConfig) -> dict[str, Any]:
    """Run every stage that is not finished yet, then write and show the report."""
    check_modules()
    demo = Demo(config)
    demo.check_settings()
    demo.run(demo.stages())
    return demo.report()


def check_modules() -> None:
    """Raises `UserError` where what training needs is not installed, before any data is made."""
    for module in ("torch", "transformers", "trl", "accelerate"):
        if find_spec(module) is None:
            raise lacks_extra(f"the demo trains a model, and {module} is not installed", "train")


def check_passes(config: "GrpoConfig") -> None:
    """Raise `UserError` for batches of GRPO that do not divide over the processes on CPUs."""
    import torch

    from training.reinforce.arguments import passes

    if not torch.cuda.is_available():
        passes(config, PROCESSES)


class Demo:
    """One run folder. Every stage resumes where a killed run of the same settings stopped."""

    def __init__(self, config: DemoConfig) -> None:
        self.config, self.out = config, Path(config.run)
        self.graph, self.model = config.graph, config.model
        self.test_file = Path(str(config.eval.get("questions", "")))
        self.times = StageTimes(self.out)

    def section(self, name: str) -> Settings:
        """Return the settings of a section, with the seed of this run."""
        values: Settings = dict(getattr(self.config, name))
        if "seed" in values:
            values["seed"] += SEEDS * self.config.seed
        return values

    def check_settings(self) -> None:
        """Raise `UserError` for a mistake in any section, before the first stage starts."""
        from graphwalker.demo.check import parse_section
        from graphwalker.demo.models import config_models

        for name, values in self.config:
            kind = kind_of(name) or name
            if isinstance(values, dict) and values and kind in config_models():
                section = ChainSection(name, kind, self.section(name))
                checked: Any = parse_section(section, f"the road's section {name}")
                if kind == "grpo":
                    check_passes(checked)
        check_benchmarks(Path(str(self.config.grpo.get("questions", ""))), self.config.benchmarks)

    def run(self, stages: Sequence[Stage]) -> None:
        """Run these stages, in order."""
        write_config(self.config, self.out)
        self.times.run_all(stages)

    def stages(self) -> list[Stage]:
        """Return every stage: the data, then the model after each of its stages of training."""
        folder = self._place("eval")
        stages = [*self.data_stages(), *self.model_stages()]
        first = (Path(self.model), folder / "untrained", UNTRAINED)
        stages.append(self.evaluation(*first, "evaluate untrained"))
        for title, name in TRAINED.items():
            stages.append(self.training_stage(title))
            more = BESIDE if name == "grpo" else {}
            model = self._place(name) / "final"
            stages.append(self.evaluation(model, folder / name, more, f"evaluate {title}"))
        return [*stages, *self._benchmark_stages()]

    def data_stages(self) -> list[Stage]:
        """Return what makes everything that training and evaluation read."""
        world = Path(self.graph)
        stages = [Stage("world", self._make_world)] if self._is_own(world) else []
        for title, name in DATA.items():
            if self.section(name):
                work = partial(self._run_section, name)
                cost = self._cost(name)
                stages.append(Stage(title, lambda _, work=work: work(), own_bar=True, cost=cost))
        return [*stages, Stage("test questions", self._merge_tests)]

    def model_stages(self) -> list[Stage]:
        """Return what makes the untrained agent, where the config names a model inside the run."""
        own = self._is_own(Path(self.model))
        return [Stage("tiny model", self._make_tiny)] if own else []

    def training_stage(self, title: str) -> Stage:
        """Return a stage of training: `accelerate launch training/SCRIPT.py` on its section."""
        name = TRAINED[title]
        done = partial(is_done, self._row(name))
        work, cost = partial(self._run_section, name), self._cost(name)
        return Stage(title, lambda _: work(), own_bar=True, is_done=done, cost=cost)

    def _row(self, name: str) -> ChainSection:
        self._place(name)
        return ChainSection(name, kind_of(name), self.section(name))

    def _run_section(self, name: str) -> None:
        """Run a section's command. A graph that has fewer questions gives what it has."""
        row, seed = self._row(name), self.section(name).get("seed", self.config.seed)
        try:
            run_section(row, self.out / "config.yaml", overrides=[f"seed={seed}"], quiet=True)
        except IncompleteError:
            if not Path(row.last_file).exists():
                raise

    def _is_own(self, path: Path) -> bool:
        """Return whether the path lies inside the run."""
        return self.out.resolve() in path.resolve().parents

    def _place(self, name: str, key: str = "output_dir") -> Path:
        if not (value := self.section(name).get(key)):
            raise UserError(f"the road's section {name} has no {key}; see configs/demo.yaml")
        return Path(value)

    def _make_world(self, _: console.ProgressTick) -> None:
        from graphwalker.world.generate import make_world

        if not Path(self.graph).exists():
            make_world(ENTITIES, self.config.seed, Path(self.graph).parent)

    def _merge_tests(self, _: console.ProgressTick) -> None:
        def files(*names: str) -> list[Path]:
            there = (name for name in names if self.section(name))
            return [self._place(name) / "questions.jsonl" for name in there]

        merge_tests(files("synth", "rl", "practice"), files("test", "test_words"), self.test_file)

    def _make_tiny(self, _: console.ProgressTick) -> None:
        from graphwalker.agents.environment import EnvironmentConfig
        from graphwalker.config import parse_config
        from graphwalker.datasets.base import load_questions
        from graphwalker.graphs.browse import shown_relations
        from graphwalker.graphs.open import open_graph
        from training.tiny.config import demo_model

        graph, corpus = open_graph(self.graph), self._place("synth") / "graphsynth.jsonl"
        config = demo_model(len(list(shown_relations(graph))), self.config.seed)
        # As the tokenizer of a pretrained model knows the words that people ask in.
        questions = load_questions(self._place("grpo", "questions"))
        texts = [question.text for question in questions]
        environment = parse_config(EnvironmentConfig, self.config.environment, "environment")
        make_tiny_model(config, corpus, graph, Path(self.model), environment, texts)

    # --- evaluation

    def evaluation(self, model: Path, folder: Path, more: Settings, title: str) -> Stage:
        """Return the evaluation of a model on the test questions, or on those that `more` names;
        with `BESIDE` also of the baselines and the ceiling."""

        def evaluate(tick: console.ProgressTick) -> None:
            from eval.run.config import run_eval

            run_eval(self.eval_config(model, folder, more), tick)

        questions = sum(int(self.section(name).get("count", 0)) for name in ("test", "test_words"))
        show = partial(show_first, folder, title)
        return Stage(title, evaluate, cost=questions * CPU_S["question"], show=show)

    def _cost(self, name: str) -> float:
        """Return the CPU seconds of a section, by what it makes or trains on."""
        values = self.section(name)
        if name == "grpo":
            episodes = values["steps"] * values["prompts_per_step"] * values["samples"]
            return episodes * CPU_S["episode"]
        if name in TRAINED.values():
            return values["max_steps"] * values["tokens_per_step"] * CPU_S["token"]
        return values["count"] * CPU_S["record"]

    def eval_config(self, model: Path, folder: Path, more: Settings) -> "EvalConfig":
        """Return the settings of an evaluation. As in GRPO, no turn as long as those that the model
        was shown is cut."""
        from graphwalker.demo.check import parse_section
        from training.runs.environment import longest_turn

        given = self.section("eval")
        policy = {**given.get("policy", {}), "model": str(model)}
        own: Settings = {"output_dir": str(folder), "policy": policy}
        values = {**given, **ALONE, **more, **own}
        if "max_tokens" in values:
            values["max_tokens"] = max(values["max_tokens"], longest_turn(str(model)))
        config: Any = parse_section(ChainSection("eval", "eval", values))
        return config

    def report(self) -> dict[str, Any]:
        """Write the report of all stages, and print its table."""
        from eval.report.report import StageResult, console_table, write_report
        from eval.tables import missing_note

        folder = self._place("eval")
        stages = [StageResult("untrained", folder / "untrained", None, 0.0)]
        for title, name in TRAINED.items():
            log = self._place(name) / "metrics.jsonl"
            seconds = self.times.seconds.get(title, 0.0)
            stages.append(StageResult(title, folder / name, log, seconds))
        learned = find_learned(folder / "sft1", folder / "grpo")
        report = write_report(
            self.out,
            stages,
            self.config.model_dump(mode="json"),
            self.config.seed,
            "GraphWalker demo: one agent, from nothing",
            {
                "benchmarks": self._benchmarks(),
                "learned": {"id": learned.id, "question": learned.text} if learned else {},
                "seconds": self.times.seconds,
                "total_seconds": round(self.times.elapsed_s, 1),
                "cpu_seconds": self.times.cpu_seconds,
                "total_cpu_seconds": round(sum(self.times.cpu_seconds.values()), 1),
            },
        )
        console.out.print(console_table(report))
        console.facts("EM by the split of the question", em_by_split(folder))
        text = learned.text if learned else "none"
        console.out.print(f"Wrong after stage 1 and right at the end: {text}", soft_wrap=True)
        console.out.print(f"Report: {(self.out / 'report.html').resolve()}", soft_wrap=True)
        lost = [f"{s['name']}: {note}" for s in report["stages"] if (note := missing_note(s))]
        if lost:
            raise IncompleteError(f"{'; '.join(lost)}; the same command resumes the run")
        return report

    def _benchmark_stages(self) -> list[Stage]:
        """Question files from elsewhere, answered greedily before and after GRPO."""
        return [
            self.evaluation(
                self._place(run) / "final",
                self._benchmark_folder(name, run),
                {"questions": path, "samples": 0, **(BESIDE if run == "grpo" else {})},
                f"benchmark {name}, {title}",
            )
            for name, path in self.config.benchmarks.items()
            for title, run in list(TRAINED.items())[1:]
        ]

    def _benchmark_folder(self, name: str, run: str) -> Path:
        return self._place("eval") / f"benchmark-{name}-{run}"

    def _benchmarks(self) -> dict[str, Any]:
        """Return their figures, the paired gain, and what baselines without a model reach."""
        from eval.report.beside import benchmark_figures

        figures: dict[str, Any] = {}
        for name in self.config.benchmarks:
            runs = list(TRAINED.items())[1:]
            folders = {title: self._benchmark_folder(name, run) for title, run in runs}
            figures[name] = benchmark_figures(folders)
            for title, row in figures[name].items():
                shown = {k: v for k, v in row.items() if k in HEADLINE or "minus" in title}
                console.facts(f"benchmark {name}, {title}", shown)
        return figures


def best_model(config: DemoConfig, report: Mapping[str, Any]) -> Path:
    """Return the model of the stage that scored best; of equals the last."""
    em = {stage["name"]: stage["em"] for stage in report["stages"]}
    best = max(reversed(TRAINED), key=lambda title: em[title])
    return Path(getattr(config, TRAINED[best])["output_dir"]) / "final"


def show_first(folder: Path, title: str) -> None:
    """Show the first question of an evaluation, the walk of the agent, and its answer."""
    from eval.run.records import read_run

    first = next((one for one in read_run(folder).trajectories if not one.sample), None)
    if first is None:
        return
    console.note(f"question 1, {title.removeprefix('evaluate ')}: {first.question.text}")
    for number, turn in enumerate(first.turns, 1):
        console.note(f"  {number}. {textwrap.shorten(turn.in_words(), 200, placeholder=' ...')}")
    verdict = "right" if first.scores.get("em") == 1.0 else "wrong"
    console.note(f"  {first.ending()}: {verdict}")


def find_learned(before: Path, after: Path) -> Question | None:
    """Return the first question that was wrong in the run `before` and is right in `after`."""
    from eval.run.records import read_run

    runs = [read_run(folder).trajectories for folder in (before, after)]
    wrong, right = (
        {one.question.id for one in run if (one.scores.get("em") == 1.0) is is_right}
        for run, is_right in zip(runs, (False, True), strict=True)
    )
    learned = (one.question for one in runs[1] if one.question.id in wrong & right)
    return next(learned, None)


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
