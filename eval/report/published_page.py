"""Published figures beside ours: a paper's table, marked as such, with our runs by its metrics."""

from collections.abc import Mapping, Sequence
from typing import Any

from eval.report.published import Column, PublishedTable
from eval.score.names import METRICS
from eval.score.predictions import Prediction
from eval.score.score import score_record
from eval.tables import Cell, FigureTable, as_markdown
from graphwalker.graphs.base import Entity
from graphwalker.trajectory import Trajectory

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
        values[column.key] = scale * sum(found) / len(found) if found else None
        questions = max(questions, len(found))
    return {"name": run, "questions": questions, "values": values}


def _figures(column: Column, trajectories: Sequence[Trajectory]) -> list[float]:
    if column.metric not in METRICS or not column.dataset:
        return []
    scores = [
        score_record(_record(trajectory), [column.metric])
        for trajectory in trajectories
        if trajectory.question.dataset.casefold() == column.dataset
        and not trajectory.stop.infrastructure_failure
    ]
    return [score[column.metric] for score in scores if column.metric in score]


def _record(trajectory: Trajectory) -> Prediction:
    given = trajectory.answer
    predictions = None if given is None else tuple(Entity("", name) for name in given)
    return Prediction(trajectory.question.id, trajectory.question.answers, predictions)


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
    return [Cell("–" if value is None else _figure(value)) for value in values]


def _figure(value: float) -> str:
    """One digit after the point, or as many as were printed (two at most)."""
    return f"{value:.1f}" if round(value, 1) == round(value, 2) else f"{value:.2f}"
