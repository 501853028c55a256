"""Published tables as data: the figures of the papers, marked as theirs, with our runs beside them.

The tables are TOML files in `eval/report/published_tables/`; `"-"` is a cell that the paper leaves
empty. Every figure is copied as printed, errors included; `notes` says where one looks wrong."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator

from eval.analysis.summary import costs_of
from eval.analysis.truth_runs import FIGURES, truth_runs
from eval.run.records import Run, read_usage, read_verdicts
from eval.score.files import of_trajectory
from eval.score.metrics import METRICS
from eval.score.score import score_record
from eval.tables import Cell, FigureTable, as_markdown
from graphwalker.counts import number_of
from graphwalker.errors import UserError
from graphwalker.oracle.baselines import BASELINES
from graphwalker.question import Question
from graphwalker.trajectory import Trajectory

FOLDER = Path(__file__).parent / "published_tables"
MISSING = "-"
RULES = ("oracle", *BASELINES)
"""Policies without a model."""


def _figure(cell: object) -> float | None:
    if cell == MISSING:
        return None
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        raise ValueError(f"{cell!r} is neither a number nor '-'")
    return float(cell)


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)


ColumnUnit = Literal["percent", "share", "count", "seconds", "points"]


class PublishedColumn(_Part):
    """One column: what was measured on what. `metric` is our name for it where we compute it."""

    key: str
    label: str
    dataset: str
    metric: str
    unit: ColumnUnit | None = None
    """Where it is not the table's."""
    where: dict[str, str] = {}
    """The part of the dataset that the paper took: values of `structure` or of facets."""
    over: Literal["mean", "sum", "sd"] = "mean"
    """How the questions' values become one; `sd` is over the runs of `sampled`."""
    sampled: bool = False
    """Of the sampled episodes, sample k of every question as run k; else of the greedy pass."""

    def is_about(self, question: Question) -> bool:
        """Return whether the paper's column has such questions."""
        known = {"structure": question.structure, **question.facets}
        return self.has_dataset_of(question) and self.where.items() <= known.items()

    def has_dataset_of(self, question: Question) -> bool:
        """Tell whether the question is of the column's dataset, or of its part (`grbench-dblp`)."""
        name = question.dataset.casefold()
        return self.dataset in (name, f"{name}-{question.facets.get('graph', '')}")


class Method(_Part):
    """One method's figures: its cells, and `values` by column key (`None` where the paper gives
    none)."""

    group: str
    method: str
    backbone: str
    cells: list[Annotated[float | None, BeforeValidator(_figure)]]
    values: dict[str, float | None] = {}

    @property
    def label(self) -> str:
        """The method, with its backbone in brackets."""
        return f"{self.method} ({self.backbone})" if self.backbone else self.method


class PublishedTable(_Part):
    """A table of a paper. `source` names paper and table, `metric` how the figures were made."""

    name: str
    title: str
    paper: str
    source: str
    unit: Literal["percent", "as labelled"]
    metric: str
    notes: list[str]
    columns: list[PublishedColumn]
    rows: list[Method]

    @model_validator(mode="after")
    def _cells_by_column(self) -> "PublishedTable":
        keys = [column.key for column in self.columns]
        if len(set(keys)) != len(keys):
            raise ValueError("two columns share a key")
        if self.unit != "percent" and not all(column.unit for column in self.columns):
            raise ValueError("without a unit of the table each column needs one")
        if not self.rows or len({(row.group, row.label) for row in self.rows}) != len(self.rows):
            raise ValueError("rows must be there and differ in group, method or backbone")
        for row in self.rows:
            if len(row.cells) != len(keys):
                found = f"{len(row.cells)} cells for {len(keys)} columns"
                raise ValueError(f"row {row.method!r} has {found}")
            row.values.update(zip(keys, row.cells, strict=True))
        return self

    def column(self, key: str) -> list[float | None]:
        """Return the figures of one column, in the order of the rows."""
        return [row.values[key] for row in self.rows]

    def unit_of(self, column: PublishedColumn) -> str:
        """Return the unit in which a column is printed."""
        return column.unit or self.unit


def published_names(folder: Path = FOLDER) -> list[str]:
    """Return the names that `load_published` knows, in order."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def load_published(name: str, folder: Path = FOLDER) -> PublishedTable:
    """Return a table by its name, such as `graphwalker-table2`, checked.

    Raises `UserError` for an unknown name (listing the known ones) and for a damaged file.

    >>> table = load_published("graphwalker-table2")
    >>> table.rows[-1].label, table.rows[-1].values["cwq_em"]
    ('GraphWalker-7B-SFT-RL (Qwen2.5-7B-Instruct)', 79.6)
    """
    known = published_names(folder)
    if name not in known:
        raise UserError(f"no published table is named {name!r}; known: {', '.join(known)}")
    path = folder / f"{name}.toml"
    try:
        data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        return PublishedTable.model_validate({**data, "name": name})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not TOML ({error})") from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise UserError(f"{path}: {f'field {field!r}: ' if field else ''}{first['msg']}") from None


PublishedRecord = Mapping[str, Any]


def published_record(table: PublishedTable, runs: Sequence[tuple[str, Run]]) -> dict[str, Any]:
    """Return a published table as JSON, with what each run reaches.

    `ours[i]["values"]` holds a figure where the run has scored questions of the column's dataset
    and part, and the column's metric is one that we compute, made by exactly that metric.
    """
    return {
        "name": table.name,
        "title": table.title,
        "paper": table.paper,
        "source": table.source,
        "unit": table.unit,
        "units": {column.key: table.unit_of(column) for column in table.columns},
        "metric": table.metric,
        "notes": list(table.notes),
        "columns": [[column.key, column.label] for column in table.columns],
        "rows": [
            {"group": row.group, "label": row.label, "values": row.values} for row in table.rows
        ],
        "ours": [_measure(table, name, run) for name, run in runs],
    }


def sections(records: Sequence[PublishedRecord]) -> list[tuple[PublishedRecord, str, FigureTable]]:
    """Return each table as a report shows it: the record, where it is from, and its figures."""
    return [(record, _origin(record), _table(record)) for record in records]


def published_markdown(records: Sequence[PublishedRecord]) -> list[str]:
    """Return the tables as parts of report.md."""
    parts = ["## Published figures\n"] if records else []
    for record, origin, table in sections(records):
        parts += [f"### {record['title']}\n", f"{origin}\n", as_markdown(table)]
        parts += [f"{note}\n" for note in record["notes"]]
    return parts


def _measure(table: PublishedTable, name: str, run: Run) -> dict[str, Any]:
    """Return the run's row: its figures, of how many questions, and how many are left out."""
    kept = [one for one in run.trajectories if not one.stop.infrastructure_failure]
    found = {c.key: _figure_of(c, [t for t in kept if c.is_about(t.question)], run)
             for c in table.columns}  # fmt: skip
    filled = [column for column in table.columns if found[column.key] is not None]
    measured = {t.id for t in kept if any(c.is_about(t.question) for c in filled)}
    known = {t.id for t in kept if any(c.has_dataset_of(t.question) for c in table.columns)}
    drawn = {sample.sample for sample in run.samples} if any(c.sampled for c in filled) else set()
    percent = {c.key for c in table.columns if table.unit_of(c) == "percent"}
    return {
        "name": name,
        "questions": len(measured),
        "left_out": len(known - measured),
        **({"rule": rule} if (rule := run.config.get("policy")) in RULES else {}),
        **({"runs": len(drawn), "temperature": run.config.get("temperature")} if drawn else {}),
        "values": {
            key: value and value * (100.0 if key in percent else 1.0)
            for key, value in found.items()
        },
    }


def _figure_of(column: PublishedColumn, episodes: Sequence[Trajectory], run: Run) -> float | None:
    """Return a column's figure over these episodes of a run; `None` where it has none."""
    if column.sampled:
        names = {metric: name for name, metric in FIGURES.items()}
        name = names.get(column.metric, "reliability") + ("_sd" if column.over == "sd" else "")
        return truth_runs(episodes, run.samples).get("truth_runs", {}).get(name)
    values = _values_of(column.metric, episodes, run)
    return sum(values) / (1 if column.over == "sum" else len(values)) if values else None


def _values_of(metric: str, episodes: Sequence[Trajectory], run: Run) -> list[float]:
    """Return the metric of each episode that has one."""
    if metric in ("tool_calls", "seconds"):
        usage = {str(record["id"]): record for record in read_usage(run.folder)}
        costs = costs_of([one for one in episodes if one.turns], usage)
        return [cost[metric] for cost in costs if metric in cost]
    if metric not in METRICS:
        return []
    verdicts = read_verdicts(run.folder) if metric == "graphrunner_judge" else {}
    records = [replace(of_trajectory(one), judge=verdicts.get(one.question.id)) for one in episodes]
    scores = [score_record(record, [metric]) for record in records]
    return [score[metric] for score in scores if metric in score]


def _origin(record: PublishedRecord) -> str:
    labels = dict(record["columns"])
    other = [f"{labels[key]}: {unit}" for key, unit in record["units"].items()
             if record["unit"] == "percent" and unit not in ("percent", "points")]  # fmt: skip
    unit = f"{record['unit']} ({'; '.join(other)})" if other else record["unit"]
    ours = "Rows marked “measured here” are this report's runs by the same metric, on the "
    ours += "questions of that dataset that they hold."
    if not any(row["questions"] or row["left_out"] for row in record["ours"]):
        ours = "No run of this report holds a question of these datasets: none is measured here."
    return (
        f"Copied as printed from {record['source']} ({record['paper']}), not measured here. "
        f"Unit: {unit}. Metric: {record['metric']}. {ours}"
    )


def _table(record: PublishedRecord) -> FigureTable:
    head = (Cell("System"), *(Cell(label) for _, label in record["columns"]))
    ours = [
        (Cell(row["name"], _say_measured(row)), *_cells(row, record))
        for row in record["ours"]
        if row["questions"] or row["left_out"]
    ]
    if ours and all(row.get("rule") for row in record["ours"]):
        empty = (Cell("–"),) * (len(head) - 1)
        ours.append((Cell("a model", "not measured: a rule played in its place"), *empty))
    theirs = [
        (Cell(row["label"], f"published · {row['group']}"), *_cells(row, record))
        for row in record["rows"]
    ]
    return FigureTable(head, (*ours, *theirs))


def _say_measured(row: Mapping[str, Any]) -> str:
    """`measured here, 13 questions; 17 of other parts of the dataset left out`."""
    rule = f" ({row['rule']}, no model)" if row.get("rule") else ""
    parts = [f"measured here{rule}, {number_of(row['questions'], 'question')}"]
    if row.get("runs"):
        heat = row["temperature"]
        at = "" if heat is None else f" at temperature {heat:g}"
        parts.append(f"{row['runs']:,} sampled runs{at}")
    if row["left_out"]:
        parts.append(f"{row['left_out']:,} of other parts of the dataset left out")
    return "; ".join(parts)


def _cells(row: Mapping[str, Any], record: PublishedRecord) -> list[Cell]:
    shown = [(row["values"].get(key), record["units"][key]) for key, _ in record["columns"]]
    return [Cell("–" if value is None else _write_figure(value, unit)) for value, unit in shown]


def _write_figure(value: float, unit: str) -> str:
    """Return the figure with one digit after the point, or as many as were printed (two at most);
    a count without any."""
    if unit == "count" and value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if round(value, 1) == round(value, 2) else f"{value:.2f}"
