"""The page of training runs: what metrics.jsonl and evaluations.jsonl hold, as panels, a table."""

import json
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeGuard

from markupsafe import Markup

from eval.report.assets import templates, write_page
from eval.report.plots import DASHES, INK, SERIES, dress, figure, plain, running_mean
from eval.tables import Cell, FigureTable, brackets, number
from graphwalker.errors import UserError, install_extra
from graphwalker.files import read_jsonl

log = logging.getLogger(__name__)

METRICS, EVALUATIONS = "metrics.jsonl", "evaluations.jsonl"
PANELS = (
    ("Dev questions", {"em": "greedy EM", "sampled_em": "sampled EM"}, EVALUATIONS),
    ("Training episodes", {"reward": "reward", "em": "EM", "f1": "F1"}, METRICS),
    ("Loss", {"loss": "loss", "replay_loss": "of replayed demonstrations"}, METRICS),
    ("Groups that teach", {"informative_groups": "groups"}, METRICS),
    (
        "No variance, share of groups",
        {
            "always_right": "always right",
            "always_wrong": "always wrong",
            "unwinnable": "unwinnable",
        },
        METRICS,
    ),
    ("Tokens an episode", {"tokens_right": "right", "tokens_wrong": "wrong"}, METRICS),
    (
        "Shares to watch",
        {"ungrounded": "rewarded, not shown", "cut_turns": "turns cut", "answered": "answered"},
        METRICS,
    ),
    ("Entropy, nats a token", {"entropy": "entropy"}, METRICS),
    ("KL from the reference", {"kl": "KL"}, METRICS),
    ("Gradient norm", {"grad_norm": "norm"}, METRICS),
)


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """The record of a run, a line a step; of a step that was logged twice, the last one."""

    name: str
    metrics: Mapping[int, Mapping[str, Any]]
    evaluations: Mapping[int, Mapping[str, Any]]
    best: Mapping[str, Any]


def is_training_run(folder: Path) -> bool:
    """Return whether SFT or GRPO wrote the folder."""
    return (folder / METRICS).is_file() and (folder / "config.yaml").is_file()


def read_training(folder: Path) -> TrainingRun:
    """Raise `UserError` where no step was logged."""
    metrics = read_steps(folder / METRICS)
    if not metrics:
        raise UserError(f"{folder / METRICS}: no step was logged yet")
    best = folder / "best.json"
    return TrainingRun(
        folder.resolve().name,
        metrics,
        read_steps(folder / EVALUATIONS),
        json.loads(best.read_text(encoding="utf-8")) if best.is_file() else {},
    )


def write_training_report(
    folders: Sequence[Path], out: Path, title: str = "Training"
) -> FigureTable:
    """OUT/training.html and training.json; returns the table of the evaluations or last steps."""
    runs = [read_training(folder) for folder in folders]
    table = evaluation_table(runs)
    sections = [(run.name, _draw_run(place, run)) for place, run in enumerate(runs)]
    page = templates().get_template("training.html")
    parts = page.generate(title=title, table=table, sections=sections)
    write_page(out / "training.html", parts)
    record = [
        {
            "name": run.name,
            "best": run.best,
            "evaluations": [
                {key: value for key, value in line.items() if key != "em_by_question"}
                for line in run.evaluations.values()
            ],
            "steps": list(run.metrics.values()),
        }
        for run in runs
    ]
    write_page(
        out / "training.json", [json.dumps({"title": title, "runs": record}, indent=1), "\n"]
    )
    return table


def evaluation_table(runs: Sequence[TrainingRun]) -> FigureTable:
    """Return a row for each evaluation on dev questions; where a run has none, its last step."""
    head = ("Step", "Dev EM", "Gain over the start", "Sampled EM", "Training EM")
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        for step in [*run.evaluations] or [max(run.metrics)]:
            found = {f"eval_{key}": value for key, value in run.evaluations.get(step, {}).items()}
            line = {**run.metrics.get(step, {}), **found}
            mark = "best" if run.best.get("step") == step else ""
            rows.append(
                (
                    Cell(f"{run.name}, {step}", mark),
                    _cell(line, "eval_em"),
                    _cell(line, "eval_gain", sign=True),
                    _cell(line, "eval_sampled_em"),
                    _cell(line, "em"),
                )
            )
    return FigureTable(tuple(map(Cell, head)), tuple(rows), "In brackets the 95 % interval.")


def _cell(line: Mapping[str, Any], key: str, digits: int = 3, sign: bool = False) -> Cell:
    value = line.get(key)
    if not is_finite(value):
        return Cell("–")
    ends = [end for side in ("low", "high") if is_finite(end := line.get(f"{key}_{side}"))]
    small = brackets(ends, digits, sign) if len(ends) == 2 else ""
    return Cell(f"{value:+.{digits}f}" if sign else number(value, digits), small)


def _draw_run(place: int, run: TrainingRun) -> Any:
    if find_spec("matplotlib") is None:
        log.warning("no plots: %s brings matplotlib", install_extra("report"))
        return None
    panels: list[Panel] = []
    for title, keys, file in PANELS:
        lines = run.evaluations if file == EVALUATIONS else run.metrics
        drawn = [
            DrawnLine(label, found, _band(lines, key))
            for key, label in keys.items()
            if len(found := points(lines, key)) > 1
        ]
        if drawn:
            panels.append(Panel(title, drawn))
    return draw_panels(f"training-{place}", panels)


def points(lines: Mapping[int, Mapping[str, Any]], key: str) -> "Points":
    """Return the values of a log that can be drawn, by step."""
    return [(step, line[key]) for step, line in lines.items() if is_finite(line.get(key))]


def _band(lines: Mapping[int, Mapping[str, Any]], key: str) -> list[tuple[float, float]]:
    """Return the interval at each point, where the record has it."""
    ends = [(v.get(f"{key}_low"), v.get(f"{key}_high")) for v in lines.values() if key in v]
    both = [(a, b) for a, b in ends if is_finite(a) and is_finite(b)]
    return both if len(both) == len(ends) else []


def read_steps(path: Path) -> dict[int, dict[str, Any]]:
    """Read the lines of a log by step; of a step that a resumed run wrote twice, the last one."""
    if not path.is_file():
        return {}
    found = {
        line["step"]: line for line in read_jsonl(path, nan=True) if is_finite(line.get("step"))
    }
    return {step: found[step] for step in sorted(found)}


def is_finite(value: object) -> TypeGuard[float]:
    """Return whether a value is a number that can be drawn."""
    return isinstance(value, int | float) and math.isfinite(value)


Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class DrawnLine:
    """Points by step; `band` holds the ends of an interval at each, or nothing."""

    label: str
    points: Points
    band: Sequence[tuple[float, float]] = field(default_factory=tuple)
    stage: int = 0
    """Of a panel with one line: whose stage it is, by which it is coloured."""


@dataclass(frozen=True, slots=True)
class Panel:
    """A title over its lines."""

    title: str
    lines: Sequence[DrawnLine]


def draw_panels(name: str, panels: Sequence[Panel]) -> Markup | None:
    """Draw all panels as one SVG, a running mean over long lines; `None` for no panel.

    `name` keeps the ids of several figures apart.
    """
    if not panels:
        return None
    columns = min(3, len(panels))
    rows = math.ceil(len(panels) / columns)
    with figure(name, 3.6 * columns, 2.7 * rows) as (canvas, svg):
        places = canvas.subplots(rows, columns, squeeze=False)
        for number, axes in enumerate(places.flat):
            if number < len(panels):
                _draw(axes, panels[number])
            else:
                axes.set_axis_off()
        canvas.tight_layout()
    return svg.finish("What each step of training showed")


def _draw(axes: Any, panel: Panel) -> None:
    for place, line in enumerate(panel.lines):
        colour = SERIES[(line.stage + place) % len(SERIES)]
        steps = [step for step, _ in line.points]
        if line.band:
            low, high = zip(*line.band, strict=True)
            axes.fill_between(steps, low, high, color=colour, alpha=0.15, linewidth=0)
        values = [value for _, value in line.points]
        smooth = values if line.band else running_mean(values)
        if smooth != values:
            axes.plot(steps, values, color=colour, linewidth=0.9, alpha=0.35)
        axes.plot(
            steps,
            smooth,
            color=colour,
            linestyle=DASHES[place % len(DASHES)],
            linewidth=1.5,
            label=plain(line.label),
        )
    dress(axes, "", top=None)
    axes.set_title(plain(panel.title), fontsize=10, color=INK)
    axes.set_xlabel("step")
    if len(panel.lines) > 1:
        axes.legend(frameon=False, labelcolor=INK, fontsize=8)
