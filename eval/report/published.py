"""Published tables as data: the figures of the papers, marked as theirs, with our runs beside them.

The tables are TOML files in `eval/report/published_tables/`; `"-"` is a cell that the paper leaves
empty. Every figure is copied as printed, errors included; `notes` says where one looks wrong."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator

from eval.score.files import of_trajectory
from eval.score.metrics import METRICS
from eval.score.score import score_record
from eval.tables import Cell, FigureTable, as_markdown
from graphwalker.errors import UserError
from graphwalker.question import Question
from graphwalker.trajectory import Trajectory

FOLDER = Path(__file__).parent / "published_tables"
MISSING = "-"


def _figure(cell: object) -> float | None:
    if cell == MISSING:
        return None
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        raise ValueError(f"{cell!r} is neither a number nor '-'")
    return float(cell)


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)


class Column(_Part):
    """One column: what was measured on what. `metric` is our name for it where we compute it."""

    key: str
    label: str
    dataset: str
    metric: str


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
    unit: str
    metric: str
    notes: list[str]
    columns: list[Column]
    rows: list[Method]

    @model_validator(mode="after")
    def _cells_by_column(self) -> "PublishedTable":
        keys = [column.key for column in self.columns]
        if len(set(keys)) != len(keys):
            raise ValueError("two columns share a key")
        if not self.rows or len({(row.group, row.label) for row in self.rows}) != len(self.rows):
            raise ValueError("rows must be there and differ in group, method or backbone")
        for row in self.rows:
            if len(row.cells) != len(keys):
                found = f"{len(row.cells)} cells for {len(keys)} columns"
                raise ValueError(f"row {row.method!r} has {found}")
            row.values.update(zip(keys, row.cells, strict=True))
        return self

    def column(self, key: str) -> list[float | None]:
        """The figures of one column, in the order of the rows."""
        return [row.values[key] for row in self.rows]


def published_names(folder: Path = FOLDER) -> list[str]:
    """The names that `load_published` knows, in order."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def load_published(name: str, folder: Path = FOLDER) -> PublishedTable:
    """A table by its name, such as `graphwalker-table2`, checked.

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


def published_record(
    table: PublishedTable, runs: Sequence[tuple[str, Sequence[Trajectory]]]
) -> dict[str, Any]:
    """A published table as JSON, with what each run (name, trajectories) reaches.

    `ours[i]["values"]` holds a figure where the run has scored questions of the column's dataset
    and the column's metric is one that we compute, made by exactly that metric.
    """
    return {
        "name": table.name,
        "title": table.title,
        "paper": table.paper,
        "source": table.source,
        "unit": table.unit,
        "metric": table.metric,
        "notes": list(table.notes),
        "columns": [[column.key, column.label] for column in table.columns],
        "rows": [
            {"group": row.group, "label": row.label, "values": row.values} for row in table.rows
        ],
        "ours": [_ours(table, run, trajectories) for run, trajectories in runs],
    }


def sections(records: Sequence[PublishedRecord]) -> list[tuple[PublishedRecord, str, FigureTable]]:
    """Each table as a report shows it: the record, where it is from, and its figures."""
    return [(record, _origin(record), _table(record)) for record in records]


def published_markdown(records: Sequence[PublishedRecord]) -> list[str]:
    """The tables as parts of report.md."""
    parts = ["## Published figures\n"] if records else []
    for record, origin, table in sections(records):
        parts += [f"### {record['title']}\n", f"{origin}\n", as_markdown(table)]
        parts += [f"{note}\n" for note in record["notes"]]
    return parts


def _ours(table: PublishedTable, run: str, trajectories: Sequence[Trajectory]) -> dict[str, Any]:
    scale = 100.0 if table.unit == "percent" else 1.0
    values: dict[str, float | None] = {}
    questions = 0
    for column in table.columns:
        found = _figures(column, trajectories)
        factor = 100.0 if column.label.endswith("%") else scale
        values[column.key] = factor * sum(found) / len(found) if found else None
        questions = max(questions, len(found))
    return {"name": run, "questions": questions, "values": values}


def _figures(column: Column, trajectories: Sequence[Trajectory]) -> list[float]:
    if column.metric not in METRICS or not column.dataset:
        return []
    scores = [
        score_record(of_trajectory(trajectory), [column.metric])
        for trajectory in trajectories
        if column.dataset in _names(trajectory.question)
        and not trajectory.stop.infrastructure_failure
    ]
    return [score[column.metric] for score in scores if column.metric in score]


def _names(question: Question) -> tuple[str, str]:
    """The dataset of a question, and with its part (`grbench-dblp`)."""
    dataset = question.dataset.casefold()
    return dataset, f"{dataset}-{question.facets.get('graph', '')}"


def _origin(record: PublishedRecord) -> str:
    return (
        f"Copied as printed from {record['source']} ({record['paper']}), not measured here. "
        f"Unit: {record['unit']}. Metric: {record['metric']}. Rows marked “measured here” are "
        "this report's runs by the same metric, on the questions of that dataset that they hold."
    )


def _table(record: PublishedRecord) -> FigureTable:
    keys = [key for key, _ in record["columns"]]
    head = (Cell("System"), *(Cell(label) for _, label in record["columns"]))
    ours = [
        (Cell(row["name"], f"measured here, {row['questions']:,} questions"), *_cells(row, keys))
        for row in record["ours"]
        if row["questions"]
    ]
    theirs = [
        (Cell(row["label"], f"published · {row['group']}"), *_cells(row, keys))
        for row in record["rows"]
    ]
    return FigureTable(head, (*ours, *theirs))


def _cells(row: Mapping[str, Any], keys: Sequence[str]) -> list[Cell]:
    values = [row["values"].get(key) for key in keys]
    return [Cell("–" if value is None else _written_figure(value)) for value in values]


def _written_figure(value: float) -> str:
    """One digit after the point, or as many as were printed (two at most)."""
    return f"{value:.1f}" if round(value, 1) == round(value, 2) else f"{value:.2f}"
