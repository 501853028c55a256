"""Two runs on the same questions, compared."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.analysis.summary import paired, scored
from eval.run.records import read_run
from eval.tables import Cell, FigureTable, as_terminal, brackets, number, p_value
from graphwalker.errors import UserError
from graphwalker.trajectory import Trajectory

if TYPE_CHECKING:
    import rich.table


def compare(a: Path, b: Path, seed: int = 0) -> dict[str, Any]:
    """B minus A over the questions that both runs scored; `UserError` when there are none."""
    first, second = read_run(a), read_run(b)
    result = paired(first.trajectories, second.trajectories, seed=seed)
    if not result["questions"]:
        raise UserError(f"{a} and {b} share no scored question: compare runs of one question file")
    return {
        "a": str(a),
        "b": str(b),
        **result,
        **changes(first.trajectories, second.trajectories),
    }


def changes(a: Iterable[Trajectory], b: Iterable[Trajectory]) -> dict[str, list[dict[str, Any]]]:
    """The questions that B has right and A wrong (`wins`), and the reverse (`losses`), in order."""
    before = {t.id: t for t in a if not t.stop.infrastructure_failure}
    pairs = [(before[t.id], t) for t in b if t.id in before and not t.stop.infrastructure_failure]
    gains = [(x, y, _em(y) - _em(x)) for x, y in pairs]
    return {
        "wins": [_change(x, y) for x, y, gain in gains if gain > 0],
        "losses": [_change(x, y) for x, y, gain in gains if gain < 0],
    }


def changes_table(
    changed: Sequence[Mapping[str, Any]], title: str, most: int
) -> "rich.table.Table":
    """The first `most` wins or losses for a terminal."""
    rows = [
        (Cell(_short(row["question"], 44)), _answer_cell(row["a"]), _answer_cell(row["b"]))
        for row in changed[:most]
    ]
    head = (Cell("question"), Cell("A"), Cell("B"))
    return as_terminal(FigureTable(head, tuple(rows)), f"{title}: {len(changed):,}")


def _change(a: Trajectory, b: Trajectory) -> dict[str, Any]:
    question = a.question
    return {
        "id": a.id,
        "question": question.text,
        "structure": question.structure,
        "gold": [answer.name for answer in question.answers],
        "a": None if a.answer is None else list(a.answer),
        "b": None if b.answer is None else list(b.answer),
        "stop_a": a.stop.value,
        "stop_b": b.stop.value,
    }


def _em(trajectory: Trajectory) -> float:
    return scored(trajectory).scores["em"]


def _answer_cell(names: Sequence[str] | None) -> Cell:
    return Cell("(no answer)" if names is None else _short(", ".join(names), 30))


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def comparison_table(result: dict[str, Any]) -> "rich.table.Table":
    """The comparison for a terminal: print it with a rich console."""
    rows = [
        (
            Cell(label),
            Cell(number(result[f"{key}_a"])),
            Cell(number(result[f"{key}_b"])),
            Cell(f"{result[key]:+.3f}", brackets(result[f"{key}_interval"], sign=True)),
            Cell(p_value(result["p"]) if key == "em" else ""),
        )
        for key, label in (("em", "EM"), ("f1", "F1"), ("hits1", "Hits@1"))
    ]
    head = tuple(map(Cell, ("", "A", "B", "B - A", "McNemar")))
    title = (
        f"{result['questions']:,} questions; B right where A is wrong: {result['won']:,}, "
        f"the reverse: {result['lost']:,}"
    )
    if apart := [f"{n:,} by {x} alone" for x in "AB" if (n := result[f"only_{x.lower()}"])]:
        title += f"; not compared: scored {', '.join(apart)}"
    return as_terminal(FigureTable(head, tuple(rows)), title)
