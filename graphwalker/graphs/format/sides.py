"""The edges of a graph file as seen from one end: node, groups of one relation, destinations."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from graphwalker.graphs.format.integers import Integers, read_integers
from graphwalker.graphs.format.layout import Arrays
from graphwalker.graphs.format.offsets import read_offsets

FEW = 24
"""Edges that begin no group up to which they are taken out one by one."""
RECENT_NODES = 1 << 14
"""Nodes whose relations are remembered: what was listed is asked about next."""
LARGE_NODE = 4096
"""Edges of a node from which on the places where its groups start are written out."""

FEW_EDGES = 8
"""Edges whose groups are looked up by one byte: as many as most CVT nodes have, or more."""
_GROUPS_AT = [
    tuple((byte & (2 << at) - 1).bit_count() - 1 for at in range(FEW_EDGES)) for byte in range(256)
]
"""The group of each of these edges, by the bits that say where a group begins."""

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Rows:
    """The nodes from `first` up to `end` have no rows in arrays by node: literals, which have no
    edges of their own, no names and no types."""

    first: int = 0
    end: int = 0

    @property
    def gap(self) -> int:
        return self.end - self.first

    def of(self, nodes: Array) -> Array:
        """Their rows; a node without one has that of the next node with one."""
        return np.where(nodes < self.first, nodes, np.maximum(nodes - self.gap, self.first))


def read_rows(layout: Arrays) -> Rows:
    first, end = layout.array("skipped")
    return Rows(first, end)


@dataclass(frozen=True, slots=True)
class SideChunk:
    """Some nodes' groups and edges: where those of each start and the last end, the relations of
    the groups, and where the edges of each group start and the last end."""

    groups: Array
    edges: Array
    relations: Array
    starts: Array


class EdgeSide:
    """The edges of one side, with a bit for each that says whether a group begins there: most
    groups have one edge. `nodes` are the destinations, group by group."""

    def __init__(self, layout: Arrays, side: str) -> None:
        self.nodes: Integers = read_integers(layout, f"{side}_nodes")
        self.to_cvts = bytes(layout.array(f"{side}_to_cvts"))
        self._relations: Integers = read_integers(layout, f"{side}_relations")
        self._groups = read_offsets(layout, f"{side}_groups")
        self._known: dict[int, tuple[list[int], Sequence[int]]] = {}
        self._rows = rows = read_rows(layout)
        self._first, self._end, self._skipped = rows.first, rows.end, rows.gap
        self._edges = read_offsets(layout, f"{side}_edges")
        self._groups_span, self._edges_span = self._groups.span, self._edges.span
        self._begins = layout.array(f"{side}_begins")
        self._bits = np.asarray(self._begins)
        self._large = layout.array(f"{side}_large") if layout.has(f"{side}_large") else None
        if self._large is not None:
            self._large_spans = layout.array(f"{side}_large_spans")
            self._large_starts = layout.array(f"{side}_large_starts")

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return len(self._relations)

    def around(self, node: int) -> tuple[list[int], Sequence[int]]:
        """The relations of a node, ascending, and where the destinations of each start in `nodes`;
        behind the last of these, where they end."""
        found = self._known.get(node)
        if found is None:
            found = self._read_groups(node)
            if len(self._known) >= RECENT_NODES:
                self._known.clear()
            self._known[node] = found
        return found

    def run(self, node: int, relation: int) -> tuple[int, int]:
        """Where the node's destinations over that relation stand; an empty run if it has none."""
        relations, starts = self._known.get(node) or self.around(node)
        group = bisect_left(relations, relation)
        if group == len(relations) or relations[group] != relation:
            return 0, 0
        return starts[group], starts[group + 1]

    def edges(self, node: int, most: int) -> tuple[Sequence[int], list[int]]:
        """The relation and the destination of each edge of a node, of its first `most` relations;
        for nodes that are passed once, and not remembered."""
        row = node
        if node >= self._first:
            if node < self._end:
                return (), []
            row = node - self._skipped
        start, end = self._edges_span(row)
        if end - start > FEW_EDGES or most < FEW_EDGES:
            return self._many_edges(node, most)
        first, last = self._groups_span(row)
        relations, others = self._relations.between(first, last), self.nodes.between(start, end)
        if len(others) == len(relations):
            return relations, others
        bits = int.from_bytes(self._begins[start >> 3 : end + 7 >> 3], "little") >> (start & 7)
        groups = _GROUPS_AT[bits & 255]
        return [relations[group] for group in groups[: end - start]], others

    def edges_at(self, nodes: Array) -> Array:
        """Where the destinations of each node start; of the number behind the last, where all
        end."""
        return self._edges.at(self._rows.of(nodes))

    def over(self, nodes: Array, relation: int) -> Array:
        """The destinations of all those nodes, ascending, over one relation."""
        rows, after = self._rows.of(nodes), self._rows.of(nodes + 1)
        groups = _spans(self._groups.at(rows), self._groups.at(after))
        edges = _spans(self._edges.at(rows), self._edges.at(after))
        # The first edge of a node begins a group, so counting the bits gives each edge its group.
        begins = self._bits[edges >> 3] >> (edges & 7).astype(np.uint8) & 1
        group = np.cumsum(begins, dtype=np.int64) - 1
        return self.nodes.at(edges[self._relations.at(groups)[group] == relation])

    def chunk(self, first: int, last: int) -> SideChunk:
        """The nodes from `first` up to, but without, `last`."""
        rows = self._rows.of(np.arange(first, last + 1))
        groups, edges = self._groups.at(rows), self._edges.at(rows)
        start, end = int(edges[0]), int(edges[-1])
        starts = np.append(self._find_begins(start, end), end)
        return SideChunk(
            groups, edges, self._relations.array(int(groups[0]), int(groups[-1])), starts
        )

    def _many_edges(self, node: int, most: int) -> tuple[Sequence[int], list[int]]:
        relations, starts = self._read_groups(node)
        if len(relations) > most:
            relations, starts = relations[:most], starts[: most + 1]
        others = self.nodes.between(starts[0], starts[-1])
        # Most relations of a CVT node have one end, and then the two lists match as they are.
        if len(others) == len(relations):
            return relations, others
        runs = zip(relations, pairwise(starts), strict=True)
        return [r for r, (start, end) in runs for _ in range(end - start)], others

    def _read_groups(self, node: int) -> tuple[list[int], Sequence[int]]:
        """What `around` gives, from the file."""
        row = node
        if node >= self._first:
            if node < self._end:
                return [], [0]
            row = node - self._skipped
        first, last = self._groups_span(row)
        start, end = self._edges_span(row)
        relations = self._relations.between(first, last)
        if end - start == last - first:
            return relations, range(start, end + 1)
        return relations, self._group_starts(node, start, end)

    def _group_starts(self, node: int, start: int, end: int) -> list[int]:
        if end - start >= LARGE_NODE:
            return [*self._far_starts(node, start, end), end]
        bits = int.from_bytes(self._begins[start >> 3 : end + 7 >> 3], "little") >> (start & 7)
        others = ~bits & (1 << end - start) - 1
        starts = list(range(start, end + 1))
        if others.bit_count() > FEW:
            return [*self._find_begins(start, end).tolist(), end]
        while others:
            last = others.bit_length() - 1
            del starts[last]
            others ^= 1 << last
        return starts

    def _far_starts(self, node: int, start: int, end: int) -> list[int]:
        if self._large is not None:
            at = bisect_left(self._large, node)
            if at < len(self._large) and self._large[at] == node:
                first, last = self._large_spans[at : at + 2]
                return self._large_starts[first:last].tolist()
        return self._find_begins(start, end).tolist()

    def _find_begins(self, start: int, end: int) -> Array:
        """The edges among these at which a group begins."""
        bits = np.unpackbits(self._bits[start >> 3 : (end + 7) >> 3], bitorder="little")
        return np.flatnonzero(bits[start & 7 : (start & 7) + end - start]) + start


def _spans(starts: Array, ends: Array) -> Array:
    """All numbers from each start up to, but without, its end."""
    sizes = ends - starts
    shifts: Array = starts - (sizes.cumsum() - sizes)
    return np.arange(int(sizes.sum())) + shifts.repeat(sizes)
