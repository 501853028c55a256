"""Objects of other libraries as a knowledge graph: networkx, pandas, and plain triples."""

from collections.abc import Iterable, Sequence
from typing import Any

from graphwalker.errors import UserError
from graphwalker.graphs.adapters.networkx import from_networkx
from graphwalker.graphs.browse import COLUMNS
from graphwalker.graphs.intake.columns import clear_places
from graphwalker.graphs.memory import MemoryGraph


def from_object(given: Any) -> MemoryGraph:
    """Return the graph of an object: a networkx graph, a DataFrame, or triples.

    A DataFrame has the columns of `to_pandas`, or `head`, `relation` and `tail` (or other usual
    names). Names are ids at once. Raises `TypeError` for anything else, and
    `UserError` for other columns.
    """
    kind = f"{type(given).__module__}.{type(given).__name__}"
    if hasattr(given, "is_multigraph"):
        return from_networkx(given)
    if kind.startswith("pandas."):
        return _from_rows(_frame_rows(given))
    if isinstance(given, Iterable) and not isinstance(given, bytes):
        rows: list[Any] = list(given)  # pyright: ignore[reportUnknownArgumentType]
        if rows and all(isinstance(row, list | tuple) and len(row) == 3 for row in rows):  # pyright: ignore
            return _from_rows([(*row, row[0], row[2]) for row in rows])
    raise TypeError(
        "open_graph takes a path, an address, a DataFrame, a networkx or rdflib graph, or triples "
        f"(head, relation, tail); got {kind}"
    )


def _frame_rows(frame: Any) -> list[tuple[str, ...]]:
    columns = list(map(str, frame.columns))
    if set(COLUMNS) <= set(columns):
        chosen = list(COLUMNS)
    elif set(COLUMNS[:3]) <= set(columns):
        chosen = [*COLUMNS[:3], "head", "tail"]
    elif places := clear_places(columns) or ((0, 1, 2) if columns == ["0", "1", "2"] else None):
        chosen = [columns[at] for at in (*places, places[0], places[2])]
    else:
        raise UserError(
            f"a DataFrame with the columns {', '.join(columns)}: which are head, relation, tail? "
            "Rename them so, as in open_graph(df.rename(columns={'s': 'head', ...}))"
        )
    named = frame.rename(columns=str)
    if empty := int(named[chosen[:3]].isna().any(axis=1).sum()):
        raise UserError(
            f"a DataFrame with {empty} rows without a head, relation or tail; drop them"
        )
    return list(zip(*(named[column].astype(str) for column in chosen), strict=True))


def _from_rows(rows: Iterable[Sequence[Any]]) -> MemoryGraph:
    texts = [tuple(map(str, row)) for row in rows]
    names = {head: name for head, _, _, name, _ in texts}
    names |= {tail: name for _, _, tail, _, name in texts}
    return MemoryGraph([(head, relation, tail) for head, relation, tail, *_ in texts], names)
