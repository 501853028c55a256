"""The edges of a graph file as seen from one end: where those of a node start, relation, other."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np

from graphwalker.graphs.format.layout import Array, Arrays
from graphwalker.graphs.format.nodes import read_rows

FEW = 256
"""Edges of a node up to which their relations are all looked at; of more, the places where a
relation ends are searched for."""
RECENT_NODES = 1 << 14
"""Nodes whose relations are remembered: what was listed is asked about next."""


class EdgeSide:
    """The edges of one side in the order of node, relation, other node.

    `nodes` are the other nodes, `relations` the relation of each edge, both by the edge's place.
    """

    def __init__(self, layout: Arrays, side: str) -> None:
        self.nodes = layout.array(f"{side}_nodes")
        self.relations = layout.array(f"{side}_relations")
        self.starts = layout.array(f"{side}_starts")
        self.to_cvts = bytes(layout.array(f"{side}_to_cvts"))
        self.node_array, self.relation_array = np.asarray(self.nodes), np.asarray(self.relations)
        self.start_array = np.asarray(self.starts)
        self.rows = rows = read_rows(layout)
        self._first, self._end, self._gap = rows.first, rows.end, rows.gap
        self._known: dict[int, tuple[list[int], Sequence[int]]] = {}

    def span(self, node: int) -> tuple[int, int]:
        """Return where the edges of a node start and end."""
        if node >= self._first:
            if node < self._end:
                return 0, 0
            node -= self._gap
        return self.starts[node], self.starts[node + 1]

    def around(self, node: int) -> tuple[list[int], Sequence[int]]:
        """Return the relations of a node, ascending, and where the edges of each start; behind the
        last of these, where they end."""
        found = self._known.get(node)
        if found is None:
            found = self._find_runs(*self.span(node))
            if len(self._known) >= RECENT_NODES:
                self._known.clear()
            self._known[node] = found
        return found

    def run(self, node: int, relation: int) -> tuple[int, int]:
        """Return where the edges of a node over that relation start and end; equal for none."""
        known = self._known.get(node)
        if known is None:
            start, end = self.span(node)
            start = bisect_left(self.relations, relation, start, end)
            return start, bisect_right(self.relations, relation, start, end)
        relations, starts = known
        group = bisect_left(relations, relation)
        if group == len(relations) or relations[group] != relation:
            return 0, 0
        return starts[group], starts[group + 1]

    def edges(self, node: int, most: int) -> tuple[list[int], list[int]]:
        """Return the relation and other node of each edge of a node, of its first `most` ones."""
        start, end = self.span(node)
        if end - start > most:
            relations, starts = self._find_runs(start, end)
            end = starts[min(most, len(relations))]
        return self.relations[start:end].tolist(), self.nodes[start:end].tolist()

    def edges_at(self, nodes: Array) -> Array:
        """Tell where the edges of each node start; of the number behind the last, where all end."""
        return self.start_array[self.rows.of(nodes)].astype(np.int64)

    def over(self, nodes: Array, relation: int) -> Array:
        """Return the nodes at the other ends of all those nodes' edges of one relation."""
        starts = self.edges_at(nodes)
        sizes = self.edges_at(nodes + 1) - starts
        shifts: Array = starts - (sizes.cumsum() - sizes)
        edges = np.arange(int(sizes.sum())) + shifts.repeat(sizes)
        return self.node_array[edges[self.relation_array[edges] == relation]]

    def _find_runs(self, start: int, end: int) -> tuple[list[int], Sequence[int]]:
        view, starts = self.relations, list[int]()
        if end - start > FEW:
            found, at = list[int](), start
            while at < end:
                found.append(view[at])
                starts.append(at)
                at = bisect_right(view, view[at], at, end)
            return found, [*starts, end]
        relations = view[start:end].tolist()
        found = list(dict.fromkeys(relations))
        if len(found) == len(relations):
            return found, range(start, end + 1)
        return found, [*(start + bisect_left(relations, one) for one in found), end]
