"""The edges of a compiled graph as seen from one end: sorted rows in, three arrays out."""

from collections.abc import Iterable

import numpy as np

from graphwalker.errors import GraphError
from graphwalker.graphs.format.layout import Array, LayoutWriter, typecode
from graphwalker.graphs.format.nodes import Rows

_ROWS_AT_ONCE = 1 << 20


def write_side(
    writer: LayoutWriter,
    side: str,
    chunks: Iterable[list[Array]],
    is_cvt: Array,
    rows: Rows,
    relations: int,
    most_edges: int,
) -> Array:
    """Write the arrays of one side from chunks of (node, relation, other), sorted so; returns how
    many edges each relation has.

    Repeated edges are dropped. `is_cvt` has a flag for each node; `most_edges` bounds the edges;
    `rows` are those of the nodes.
    """
    starts = _Starts(writer, f"{side}_starts", typecode(most_edges))
    # One more: the listings use it for no relation.
    relation_section = writer.section(f"{side}_relations", typecode(relations))
    node_section = writer.section(f"{side}_nodes", "I")
    to_cvts, counts = np.zeros(relations, dtype=bool), np.zeros(relations, dtype=np.int64)
    last = np.full((3, 1), -1)
    for chunk in chunks:
        edges = np.stack(chunk).astype(np.int64)
        new, last = _new_edges(last, edges), edges[:, -1:]
        node, relation, other = edges[:, new]
        starts.add(rows.of(node))
        relation_section.write_ints(relation)
        node_section.write_ints(other)
        counts += np.bincount(relation, minlength=relations)
        to_cvts[relation[is_cvt[other]]] = True
    starts.fill(len(is_cvt) - rows.gap + 1)
    writer.write(f"{side}_to_cvts", "B", to_cvts)
    return counts


def _new_edges(last: Array, edges: Array) -> Array:
    """Get which edges are not those before them. Raises `GraphError` if the rows are unsorted."""
    step: Array = np.diff(edges, axis=1, prepend=last)
    same_node = step[0] == 0
    same_run = same_node & (step[1] == 0)
    falls = (step[0] < 0) | same_node & (step[1] < 0) | same_run & (step[2] < 0)
    if falls.any():
        raise GraphError("the sorter gave rows out of order")
    return ~same_run | (step[2] != 0)


class _Starts:
    """Where the edges of each row start: rows come in ascending order, one for each edge."""

    def __init__(self, writer: LayoutWriter, name: str, code: str) -> None:
        self._section = writer.section(name, code)
        self._next = self._edges = 0

    def add(self, rows: Array) -> None:
        if len(rows):
            self.fill(int(rows[-1]) + 1, rows)
            self._edges += len(rows)

    def fill(self, end: int, rows: Array | None = None) -> None:
        """Write the starts up to that row, the edges being those of `rows`."""
        rows = np.zeros(0, dtype=np.int64) if rows is None else rows
        for first in range(self._next, end, _ROWS_AT_ONCE):
            wanted = np.arange(first, min(end, first + _ROWS_AT_ONCE))
            self._section.write_ints(self._edges + np.searchsorted(rows, wanted))
        self._next = max(self._next, end)
