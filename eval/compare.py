"""Two runs on the same questions, compared."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.metrics import paired
from eval.records import read_run
from eval.tables import Cell, Table, as_terminal, brackets, number, p_value
from graphwalker.errors import UserError

if TYPE_CHECKING:
    import rich.table


def compare(a: Path, b: Path, seed: int = 0) -> dict[str, Any]:
    """B minus A over the questions that both runs scored; `UserError` when there are none."""
    first, second = read_run(a), read_run(b)
    result = paired(first.trajectories, second.trajectories, seed=seed)
    if not result["questions"]:
        raise UserError(f"{a} and {b} share no scored question: compare runs of one question file")
    return {"a": str(a), "b": str(b), **result}


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
    table = Table((Cell(""), Cell("A"), Cell("B"), Cell("B - A"), Cell("McNemar")), tuple(rows))
    title = (
        f"{result['questions']:,} questions; B right where A is wrong: {result['won']:,}, "
        f"the reverse: {result['lost']:,}"
    )
    return as_terminal(table, title)
