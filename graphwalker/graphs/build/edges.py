"""The edges of a compiled graph as seen from one end: sorted rows in, four arrays out."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphwalker.errors import GraphError
from graphwalker.graphs.format.integers import IntegersWriter
from graphwalker.graphs.format.layout import LayoutWriter
from graphwalker.graphs.format.offsets import StartsWriter
from graphwalker.graphs.format.sides import Rows

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class SideCounts:
    """What was written: distinct edges, and how many of them each relation has."""

    edges: int
    relation_counts: Array


def write_side(
    writer: LayoutWriter,
    side: str,
    chunks: Iterable[list[Array]],
    is_cvt: Array,
    relations: int,
    most_edges: int,
    rows: Rows,
) -> SideCounts:
    """Write the arrays of one side from chunks of (node, relation, other), sorted so.

    Repeated edges are dropped. `is_cvt` has a flag for each node; `most_edges` bounds the edges;
    `rows` are those of the nodes.
    """
    run = _Run(writer, side, len(is_cvt), relations, most_edges, rows)
    for node, relation, other in chunks:
        run.add(node, relation, other, is_cvt)
    return run.finish()


class _Run:
    def __init__(
        self,
        writer: LayoutWriter,
        side: str,
        nodes: int,
        relations: int,
        most_edges: int,
        rows: Rows,
    ) -> None:
        self._relations = IntegersWriter(writer, f"{side}_relations", relations)
        self._nodes = IntegersWriter(writer, f"{side}_nodes", nodes)
        self._groups = StartsWriter(writer, f"{side}_groups", nodes - rows.gap, most_edges)
        self._starts = StartsWriter(writer, f"{side}_edges", nodes - rows.gap, most_edges)
        self._begins = writer.section(f"{side}_begins", "B")
        self._begun = np.zeros(0, dtype=bool)
        self._rows = rows
        self._to_cvts = writer.section(f"{side}_to_cvts", "B")
        self._cvts = np.zeros(relations, dtype=np.uint8)
        self._counts = np.zeros(relations, dtype=np.int64)
        self._edges = 0
        self._last: Array | None = None

    def add(self, node: Array, relation: Array, other: Array, is_cvt: Array) -> None:
        new_group, new_edge = self._news(node, relation, other)
        row = self._rows.of(node.astype(np.int64))
        self._starts.add(row[new_edge])
        self._relations.write(relation[new_group])
        self._nodes.write(other[new_edge])
        self._groups.add(row[new_group])
        self._mark(new_group[new_edge])
        kept = relation[new_edge]
        self._counts += np.bincount(kept, minlength=len(self._counts))
        self._cvts[kept[is_cvt[other[new_edge]]]] = 1
        self._edges += int(new_edge.sum())

    def finish(self) -> SideCounts:
        for part in (self._starts, self._groups, self._relations, self._nodes):
            part.close()
        self._begins.write(np.packbits(self._begun, bitorder="little").tobytes())
        self._to_cvts.write(self._cvts.tobytes())
        return SideCounts(self._edges, self._counts)

    def _mark(self, begins: Array) -> None:
        """A bit for each edge: whether it is the first of its group."""
        waiting = np.concatenate([self._begun, begins])
        whole = len(waiting) // 8 * 8
        self._begins.write(np.packbits(waiting[:whole], bitorder="little").tobytes())
        self._begun = waiting[whole:]

    def _news(self, node: Array, relation: Array, other: Array) -> tuple[Array, Array]:
        """Where a group and where an edge begins. Raises `GraphError` if the rows are unsorted."""
        rows = np.stack([node, relation, other]).astype(np.int64)
        before = np.full((3, 1), -1) if self._last is None else self._last
        step: Array = np.diff(np.concatenate([before, rows], axis=1), axis=1)
        self._last = rows[:, -1:]
        new_node, new_relation = step[0] != 0, step[1] != 0
        new_group = new_node | new_relation
        falls = (step[0] < 0) | ~new_node & (step[1] < 0) | ~new_group & (step[2] < 0)
        if falls.any():
            raise GraphError("the sorter gave rows out of order")
        return new_group, new_group | (step[2] != 0)
