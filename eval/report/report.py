"""The report of a pipeline: report.json, report.md and one self-contained report.html."""

import json
import logging
import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from eval.analysis.summary import add_scores, paired_difference, summarise
from eval.report.archive import WalkArchive, choose
from eval.report.assets import write_page
from eval.report.beside import beside
from eval.report.desk import headline, main_stage, run_facts
from eval.report.page import render_page
from eval.report.plots import group_bars, pass_curves
from eval.report.published import load_published, published_markdown, published_record
from eval.report.training import (
    DrawnLine,
    Panel,
    Points,
    draw_panels,
    is_finite,
    points,
    read_steps,
)
from eval.run.records import Run, SampledEpisode, path_ends, read_run, read_usage
from eval.score.compat_papers import truth
from eval.score.expected import ExpectedQuestions
from eval.score.score import score_run
from eval.score.systems import count_expected, holds_walks, read_system
from eval.tables import (
    as_markdown,
    as_terminal,
    conduct_table,
    group_tables,
    markdown_text,
    pass_table,
    score_table,
    short_table,
)
from graphwalker.config import git_commit
from graphwalker.errors import UserError, install_extra
from graphwalker.intervals import INTERVALS
from graphwalker.policies.base import LOOP_SEEN
from graphwalker.trajectory import Trajectory, Turn

if TYPE_CHECKING:
    import rich.table

log = logging.getLogger(__name__)

PACKAGES = ("torch", "transformers", "trl", "numpy", "duckdb")
# What a log shows: rewards and signs of collapse where it holds rewards, else the loss.
RL_CURVES = {"reward": "reward", "em": "EM", "entropy": "entropy", "turns": "turns"}
SFT_CURVES = {"loss": "loss"}


@dataclass(frozen=True, slots=True)
class StageResult:
    """A stage of the pipeline: its evaluation run, its training log (if any) and its seconds."""

    name: str
    folder: Path
    train_metrics: Path | None = None
    seconds: float = 0.0


def write_report(
    out: Path,
    stages: Sequence[StageResult],
    config: Mapping[str, Any] | None = None,
    seed: int = 0,
    title: str = "GraphWalker report",
    extra: Mapping[str, Any] | None = None,
    ks: Sequence[int] = (1, 2, 4, 8),
    published: Sequence[str] = (),
    expected: Callable[[], ExpectedQuestions] | None = None,
    metrics: Sequence[str] = (),
) -> dict[str, Any]:
    """Write OUT/report.json, report.md, report.html and return what report.json holds.

    With `expected` each of its questions counts in every stage: without an episode as 0, or not
    where it drops them. `published` names tables of the papers to set beside the runs
    (`eval.report.published`). Memory holds scores and packed walks, never a run's words: a report
    of 10,000 questions needs little of it.

    `metrics` names more of them, `module:NAME` the user's own; each stage holds them as `metrics`.
    `extra` is merged into the report; its `seconds` (step -> seconds) join those of the stages.
    """
    if not stages:
        raise UserError("a report needs at least one stage")
    tables = [load_published(name) for name in published]
    archive = WalkArchive()
    expectations = [expected() if expected else None for _ in stages]
    runs = [_read(stage, archive, one) for stage, one in zip(stages, expectations, strict=True)]
    for stage, one in zip(stages, expectations, strict=True):
        if one and (remark := one.remark()):
            log.warning("%s: %s", stage.name, remark)
    facts = dict(extra or {})
    steps = facts.pop("seconds", {})
    records = _stage_records(stages, runs, ks, seed, expectations, archive)
    for record, run in zip(records, runs, strict=True):
        record |= score_run(run, metrics, seed)
    report: dict[str, Any] = {
        "title": title,
        "stages": records,
        # Of the last stage's questions.
        "baselines": records[-1]["baselines"],
        "ceiling": records[-1].get("ceiling"),
        "intervals": INTERVALS,
        "seed": seed,
        "config": json.loads(json.dumps(config or {}, default=str)),
        "versions": versions(),
        "hardware": hardware(),
        "seconds": {**steps, **{s.name: s.seconds for s in stages if s.seconds}},
        **facts,
    }
    measured = [(stage.name, run) for stage, run in zip(stages, runs, strict=True)]
    report["published"] = [published_record(table, measured) for table in tables]
    walks = choose(runs[main_stage(records)].trajectories)
    report["walks"] = [walk.id for walk in walks]
    page = render_page(report, walks, _plots(report["stages"], stages), archive)
    write_page(out / "report.json", [json.dumps(report, indent=2, ensure_ascii=False), "\n"])
    write_page(out / "report.md", [render_markdown(report)])
    write_page(out / "report.html", page)
    return report


def render_markdown(report: Mapping[str, Any]) -> str:
    """Return the tables of the report as Markdown."""
    stages = report["stages"]
    words = ("name", "remark")  # of others, in the headline
    named = [{**s, **{key: markdown_text(str(s.get(key, ""))) for key in words}} for s in stages]
    parts = [
        f"# {markdown_text(' '.join(str(report['title']).split()))}\n",
        headline({**report, "stages": named}) + "\n",
        as_markdown(score_table(stages)),
        *([as_markdown(passes)] if (passes := pass_table(stages)).rows else ()),
        as_markdown(conduct_table(stages)),
    ]
    for heading, table in group_tables(stages):
        parts += [f"## EM by {heading}\n", as_markdown(table)]
    parts += published_markdown(report["published"])
    parts.append("## How this was made\n")
    facts = {**report["versions"], **report["hardware"], "seed": report["seed"]}
    facts |= {f"seconds: {name}": round(value, 1) for name, value in report["seconds"].items()}
    parts.append(
        "\n".join(f"- {markdown_text(key)}: {value}" for key, value in facts.items()) + "\n"
    )
    parts.append(f"Intervals: {report['intervals']}.\n")
    return "\n".join(parts)


def stages_of(folders: Sequence[Path]) -> list[StageResult]:
    """Return a stage per folder, named by the end of its path."""
    return [StageResult(*one) for one in zip(path_ends(folders), folders, strict=True)]


def console_table(report: Mapping[str, Any]) -> "rich.table.Table":
    """Return the table that ends a demo: a row per stage."""
    return as_terminal(short_table(report["stages"]), str(report["title"]))


def versions() -> dict[str, str]:
    """Versions of what the figures depend on, without importing any of it."""
    found = {"python": platform.python_version(), "graphwalker": _version("graphwalker-kgqa")}
    found |= {name: _version(name) for name in PACKAGES}
    return {**found, "git commit": git_commit() or "unknown"}


def hardware() -> dict[str, str]:
    """Return the machine, in words."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    facts = {
        "machine": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{memory:.1f} GiB",
    }
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        facts["gpu"] = f"{torch.cuda.device_count()} x {torch.cuda.get_device_name(0)}"
    return facts


def training_panels(stages: Sequence[StageResult]) -> list[Panel]:
    """Get a panel for each curve that the stages' training logs hold; what a log lacks has none."""
    panels: list[Panel] = []
    for place, stage in enumerate(stages):
        steps = read_steps(stage.train_metrics) if stage.train_metrics else {}
        rewarded = any(is_finite(line.get("reward")) for line in steps.values())
        drawn: list[Points] = []
        for key, label in (RL_CURVES if rewarded else SFT_CURVES).items():
            found = points(steps, key)
            # A reward that is the EM is one curve, not two.
            if len(found) > 1 and found not in drawn:
                drawn.append(found)
                panels.append(
                    Panel(f"{stage.name}: {label}", [DrawnLine(label, found, stage=place)])
                )
    return panels


def _stage_records(
    stages: Sequence[StageResult],
    runs: Sequence[Run],
    ks: Sequence[int],
    seed: int,
    expectations: Sequence[ExpectedQuestions | None],
    archive: WalkArchive,
) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    known = next(filter(None, expectations), None)
    others = beside(runs, lambda t: lean(known.settle(t) if known else t), seed)
    for place, (stage, run) in enumerate(zip(stages, runs, strict=True)):
        record = {
            "name": stage.name,
            **summarise(
                run.trajectories,
                run.samples,
                ks,
                failures=len(run.failures),
                seed=seed,
                usage=archive.runs[place].usage,
            ),
            **(known.stage_figures if (known := expectations[place]) else run.missing()),
            **others[place],
            "run": run_facts(run),
            "error_kinds": archive.runs[place].error_kinds,
            "seconds": stage.seconds,
        }
        if place and not record.get("answers_alone"):
            before = runs[place - 1]
            gain = paired_difference(before.trajectories, run.trajectories, seed=seed)
            record |= {
                "gain_over_previous": gain,
                "gain": gain.get("em"),
                "gain_interval": gain.get("em_interval"),
            }
        records.append(record)
    return records


def _read(stage: StageResult, archive: WalkArchive, expected: ExpectedQuestions | None) -> Run:
    """Return a stage's run without its words: those go into the archive, packed, as they are read.
    Of the `expected` questions each counts."""
    costs = read_usage(stage.folder) if stage.folder.is_dir() else ()
    archive.open_run(stage.name, {str(record["id"]): record for record in costs})

    def keep(trajectory: Trajectory) -> Trajectory:
        full = add_scores(expected.settle(trajectory) if expected else trajectory)
        if full.sample == 0 or not full.stop.infrastructure_failure:
            archive.add(full)
        return lean(full)

    def keep_sample(sample: SampledEpisode) -> SampledEpisode:
        if expected:
            sample = expected.settle_sample(sample)
        if not sample.stop.infrastructure_failure:
            archive.add_sample(sample.question_id, sample.scores["em"] == 1)
        first = (sample.answer or ())[:1]
        answer = first if first and truth(first[0]) is not None else None
        return replace(sample, answer=answer, scores={"em": sample.scores.get("em", 0.0)})

    if stage.folder.is_file() and not holds_walks(stage.folder):  # another system's predictions
        other = read_system(stage.folder, expected)
        return replace(other, trajectories=[keep(one) for one in other.trajectories])
    run = read_run(stage.folder, keep, keep_sample)
    if expected is None:
        return run
    counted, read = count_expected(run, expected), {t.id for t in run.trajectories}
    for trajectory in counted.trajectories:
        if trajectory.id not in read:
            archive.add(trajectory)
    return counted


def lean(trajectory: Trajectory) -> Trajectory:
    """Return what figures need: scores, costs, which tools were called, how answers were read, the
    question without its query; no words but the last of malformed turns, no token ids."""
    turns = tuple(
        Turn(
            (),
            t.completion[-LOOP_SEEN:] if t.error == "malformed" else "",
            action=_lean_action(t.action),
            error=t.error,
            graph_calls=t.graph_calls,
            milliseconds=t.milliseconds,
        )
        for t in trajectory.turns
    )
    question = replace(trajectory.question, query=None, wording=None, annotations={})
    return replace(trajectory, question=question, turns=turns, provenance={})


def _lean_action(action: Mapping[str, Any]) -> dict[str, Any]:
    further = [{}] * len(action.get("further", ()))
    kept = {key: action[key] for key in ("read", "tool") if key in action}
    return {**kept, "further": further} if further else kept


def _plots(
    records: Sequence[Mapping[str, Any]], stages: Sequence[StageResult]
) -> dict[str, Markup]:
    if find_spec("matplotlib") is None:
        log.warning("no plots: %s brings matplotlib", install_extra("report"))
        return {}
    drawn = {
        "structures": group_bars(records, "by_structure"),
        "pass": pass_curves(records),
        "training": draw_panels("training", training_panels(stages)),
    }
    return {name: svg for name, svg in drawn.items() if svg is not None}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"
