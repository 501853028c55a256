"""The analysis of a run: Pass@k curves, figures by group, kinds of error, and what it cost."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.analysis.error_kinds import class_shares, taxonomy
from eval.analysis.summary import (
    GROUPS,
    Passes,
    add_scores,
    by_group,
    figures,
    pass_by_question,
    pass_curve,
)
from eval.run.records import SampledEpisode, read_run, read_usage, read_verdicts, usage_figures
from eval.score.expected import ExpectedQuestions
from eval.score.systems import count_expected, holds_walks
from eval.tables import (
    Cell,
    FigureTable,
    TableColumn,
    as_terminal,
    figure,
    key_columns,
    make_table,
    missing_note,
)
from graphwalker.errors import UserError
from graphwalker.graphs.literals import is_literal
from graphwalker.question import Question
from graphwalker.trajectory import Trajectory

if TYPE_CHECKING:
    import rich.table

_log = logging.getLogger(__name__)
SHOWN = ("em", "f1", "hits1", "retrieval_any", "retrieval_all")


def analyse(
    folder: Path | str, seed: int = 0, expected: ExpectedQuestions | None = None
) -> dict[str, Any]:
    """Analyse a run: its greedy pass, and Pass@k from its samples.

    Infrastructure failures are counted and set aside; of `expected` questions each counts. Raises
    `UserError` where nothing is scored.
    """
    if Path(folder).is_file() and not holds_walks(Path(folder)):
        raise UserError(
            f"{folder}: predictions without walks, of which nothing can be broken down; "
            "`graphwalker score`, `compare` and `report` take them"
        )
    run = read_run(folder)
    if expected:
        run = count_expected(run, expected)
        run = replace(run, samples=list(map(expected.settle_sample, run.samples)))
        if remark := expected.remark():
            _log.warning("%s: %s", folder, remark)
    kept = [add_scores(t) for t in run.trajectories if not t.stop.infrastructure_failure]
    if not kept:
        raise UserError(f"{folder}: no scored episode to analyse")
    played = [t for t in kept if t.turns or t.usage]  # a missing record that counts 0 has no kind
    passes = pass_by_question(run.samples, _ks(run.samples))
    groups = GROUPS | {"answer_type": answer_type, "answers": number_of_answers}
    row = partial(_row, passes=passes, seed=seed)
    return {
        "run": str(folder),
        "questions": len(kept),
        "failures": len(run.failures) + len(run.trajectories) - len(kept),
        **(expected.stage_figures if expected else run.missing()),
        "wrong": sum(t.scores["em"] != 1.0 for t in played),
        "overall": row(kept),
        "by": {name: by_group(kept, group, row) for name, group in groups.items()},
        "pass_curve": pass_curve(passes, seed),
        "errors": taxonomy(played),
        "classes": class_shares(kept, read_verdicts(Path(folder))),
        "usage": usage_figures(read_usage(Path(folder))),
    }


def _row(group: Sequence[Trajectory], passes: Passes, seed: int) -> dict[str, Any]:
    """Return rates and recovery with intervals, and Pass@k at the ends of the curve."""
    kept = {t.question.id for t in group}
    own = {question: found for question, found in passes.items() if question in kept}
    ks = sorted({k for found in own.values() for k in found})
    ends = {q: {k: found[k] for k in ks[:1] + ks[-1:] if k in found} for q, found in own.items()}
    return figures(group, SHOWN, ends, seed, recovery=True)


def answer_type(question: Question) -> str:
    """`entity`, `number`, `date`, `text`, `name` (no id known), `mixed`, or `(none)`.

    >>> from graphwalker.question import Answer
    >>> year = Answer("1936", '"1936"^^<http://www.w3.org/2001/XMLSchema#gYear>')
    >>> answer_type(Question("q", "When?", (), (year,)))
    'date'
    """
    types = {_value_type(answer.id) for answer in question.answers}
    return types.pop() if len(types) == 1 else "mixed" if types else "(none)"


def number_of_answers(question: Question) -> str:
    """`1`, `2-3`, `4-10`, `11+` or `(none)` gold answers."""
    count = len(question.answers)
    bounds = ((0, "(none)"), (1, "1"), (3, "2-3"), (10, "4-10"))
    return next((label for most, label in bounds if count <= most), "11+")


def _value_type(answer_id: str) -> str:
    if not answer_id:
        return "name"
    if not is_literal(answer_id):
        return "entity"
    datatype = answer_id.rpartition("^^")[2].rstrip(">").rpartition("#")[2].lower()
    if datatype in ("date", "datetime", "gyear", "gyearmonth", "gmonthday", "gmonth", "gday"):
        return "date"
    numbers = ("integer", "int", "long", "float", "double", "decimal", "nonnegativeinteger")
    return "number" if datatype in numbers else "text"


def _ks(samples: Sequence[SampledEpisode]) -> range:
    return range(1, max((sample.sample for sample in samples), default=0) + 1)


def analysis_tables(result: Mapping[str, Any]) -> list["rich.table.Table"]:
    """Return the analysis for a terminal: groups, kinds of error, the curve, and costs."""
    tables = [
        as_terminal(_groups_table(rows), f"by {name.replace('_', ' ')}")
        for name, rows in result["by"].items()
        if len(rows) > 1
    ]
    wrong = ", ".join(filter(None, (f"{result['wrong']:,} wrong", missing_note(result))))
    tables.append(as_terminal(_errors_table("kind of error", result["errors"], 0), wrong))
    classes = _errors_table("class (GraphRunner, Table 2)", result["classes"], 2)
    tables.append(as_terminal(classes, "shares of all episodes"))
    if curve := result["pass_curve"]:
        rows = [{**point, "value_interval": point["interval"]} for point in curve]
        values = key_columns(rows, {"value": "Pass@k"})
        columns = [_text_column("k", "k"), *values, _text_column("questions", "questions")]
        tables.append(as_terminal(make_table(rows, columns), "Pass@k"))
    if costs := [{"name": k, **v} for k, v in result["usage"].items() if isinstance(v, dict)]:
        columns = [_text_column("", "name")]
        for key in ("mean", "median", "p95", "total"):
            columns.append(TableColumn(key, lambda row, k=key: _cost_cell(row, k)))
        note = "seconds include the wait for episodes that run at the same time: no total"
        table = make_table(costs, columns, note)
        tables.append(as_terminal(table, "cost of an episode"))
    return tables


def _cost_cell(row: Mapping[str, Any], key: str) -> Cell:
    if key == "total" and row["name"] == "seconds":
        return Cell("–")
    return Cell(f"{row[key]:,.0f}" if row[key] >= 1000 else f"{row[key]:,.3g}")


def _text_column(title: str, key: str) -> TableColumn:
    return TableColumn(title, lambda row: Cell(str(row[key])))


def _groups_table(groups: Mapping[str, Mapping[str, Any]]) -> FigureTable:
    rows = [{"name": name, **row} for name, row in groups.items()]
    labels = {"f1": "F1", "hits1": "Hits@1", "retrieval_all": "Retrieval"}
    columns = [
        _text_column("", "name"),
        _text_column("questions", "questions"),
        *key_columns(rows, {"em": "EM"}, 2),
        *key_columns(rows, labels, -1),
        TableColumn("Recovery", lambda row: figure(row, "recovery_given_error", -1)),
    ]
    return make_table(rows, columns)


def _errors_table(head: str, errors: Mapping[str, Mapping[str, Any]], digits: int) -> FigureTable:
    rows = [{"kind": kind, **row} for kind, row in errors.items() if row["count"]]
    columns = [
        TableColumn(head, lambda row: Cell(f"{row['kind']}:", row["meaning"])),
        _text_column("episodes", "count"),
        TableColumn("share", lambda row: Cell(f"{row['share']:.{digits}%}")),
    ]
    return make_table(rows, columns)
