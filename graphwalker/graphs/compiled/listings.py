"""The listings of nodes with many CVT nodes around, as the file of a compiled graph stores them."""

from bisect import bisect_left

from graphwalker.graphs.base import Direction
from graphwalker.graphs.format.layout import Arrays

ENDS = 8
"""Nodes stored behind a pair of relations; where there are fewer, they are all."""


class Listings:
    """The listings of one direction that were made when the graph was built.

    A listing is a run of entries in the order of their names: the numbers of a plain relation and
    of none, or those of the two halves of a flattened one (`near`, `far`, as seen from the node);
    a count; and of a flattened one with many CVT nodes between the first nodes behind them.
    """

    def __init__(self, layout: Arrays, direction: Direction) -> None:
        self.nodes, self._starts, self._near, self._far, self._counts, ends_starts, ends = (
            layout.array(f"{direction.value}_listed_{part}")
            for part in ("nodes", "starts", "near", "far", "counts", "ends_starts", "ends")
        )
        self._ends_starts, self._ends = ends_starts, ends

    def get(self, node: int) -> list[tuple[tuple[int, int], int]] | None:
        """The listing of a node, pairs of relations with counts; `None` where none is stored."""
        at = bisect_left(self.nodes, node)
        if at == len(self.nodes) or self.nodes[at] != node:
            return None
        first, last = self._starts[at], self._starts[at + 1]
        pairs = zip(self._near[first:last], self._far[first:last], strict=True)
        return list(zip(pairs, self._counts[first:last], strict=True))

    def first_ends(self, node: int, near: int, far: int) -> list[int]:
        """The first nodes behind a pair of relations; an empty list where none are stored."""
        listed = [pair for pair, _ in self.get(node) or ()]
        if (near, far) not in listed:
            return []
        entry = self._starts[bisect_left(self.nodes, node)] + listed.index((near, far))
        return self._ends[self._ends_starts[entry] : self._ends_starts[entry + 1]].tolist()
