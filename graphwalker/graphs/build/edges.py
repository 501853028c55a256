"""The edges of a compiled graph as seen from one end: sorted rows in, four arrays out."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphwalker.errors import GraphError
from graphwalker.graphs.format.layout import LayoutWriter, typecode
from graphwalker.graphs.format.offsets import OffsetsWriter, StartsWriter, write_ints

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class WrittenSide:
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
) -> WrittenSide:
    """Write the arrays of one side from chunks of (node, relation, other), sorted so.

    Repeated edges are dropped. `is_cvt` has a flag for each node; `most_edges` bounds the edges.
    """
    run = _Run(writer, side, len(is_cvt), relations, most_edges)
    for node, relation, other in chunks:
        run.add(node, relation, other, is_cvt)
    return run.finish()


class _Run:
    def __init__(
        self, writer: LayoutWriter, side: str, nodes: int, relations: int, most_edges: int
    ) -> None:
        self._relations = writer.section(f"{side}_relations", typecode(relations))
        self._starts = OffsetsWriter(writer, f"{side}_starts", most_edges)
        self._nodes = writer.section(f"{side}_nodes", "I")
        self._groups = StartsWriter(writer, f"{side}_groups", nodes, most_edges)
        self._to_cvts = writer.section(f"{side}_to_cvts", "B")
        self._cvts = np.zeros(relations, dtype=np.uint8)
        self._counts = np.zeros(relations, dtype=np.int64)
        self._edges = 0
        self._last: Array | None = None

    def add(self, node: Array, relation: Array, other: Array, is_cvt: Array) -> None:
        new_group, new_edge = self._news(node, relation, other)
        starts = self._edges + np.cumsum(new_edge)[new_group] - 1
        self._starts.write(starts)
        write_ints(self._relations, relation[new_group])
        write_ints(self._nodes, other[new_edge])
        self._groups.add(node[new_group].astype(np.int64))
        kept = relation[new_edge]
        self._counts += np.bincount(kept, minlength=len(self._counts))
        self._cvts[kept[is_cvt[other[new_edge]]]] = 1
        self._edges += int(new_edge.sum())

    def finish(self) -> WrittenSide:
        self._starts.write(np.array([self._edges]))
        self._starts.close()
        self._groups.close()
        self._to_cvts.write(self._cvts.tobytes())
        return WrittenSide(self._edges, self._counts)

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
