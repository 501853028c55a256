"""Stored listings: what is listed at nodes with many CVT nodes around, and where it leads first."""

from bisect import bisect_left
from collections.abc import Sequence

from graphwalker.graphs.base import FLATTENED, Direction
from graphwalker.graphs.format.layout import Arrays
from graphwalker.graphs.format.offsets import read_offsets

PLAIN = (1 << 32) - 1
"""In place of the far half of a label: there is none."""
LARGE = 255
"""In place of a count that is as large or larger, which stands elsewhere."""


class Listings:
    """The listings of one direction that were made when the graph was built.

    A label is a plain relation or a pair of them (`near`, `far`, as seen from the node); labels are
    numbered in the order of `near << 32 | far`. A listing is a run of entries: labels with counts.
    `crossed` are the entries whose first nodes are stored, too, in order.
    """

    def __init__(self, layout: Arrays, direction: Direction, relation_ids: Sequence[str]) -> None:
        name = f"{direction.value}_listed"
        self.nodes = layout.array(f"{name}_nodes")
        self._starts = read_offsets(layout, f"{name}_starts")
        self._keys = layout.array(f"{name}_keys")
        self._labels = layout.array(f"{name}_labels")
        self._counts = layout.array(f"{name}_counts")
        self._large = layout.array(f"{name}_large")
        self._large_counts = layout.array(f"{name}_large_counts")
        self._crossed = layout.array(f"{name}_crossed")
        self._ends_starts = read_offsets(layout, f"{name}_ends_starts")
        self._ends = layout.array(f"{name}_ends")
        self.ends_limit: int = layout.array(f"{name}_ends_limit")[0]
        """Nodes stored behind an entry at most; where there are fewer, they are all."""
        self._names = _Names(self._keys, direction, relation_ids)

    def get(self, node: int) -> list[tuple[str, int]] | None:
        """The listing of a node, in order; `None` where none is stored."""
        at = bisect_left(self.nodes, node)
        if at == len(self.nodes) or self.nodes[at] != node:
            return None
        first, last = self._starts.span(at)
        counts = self._counts[first:last].tolist()
        if LARGE in counts:
            counts = [self._count(entry) for entry in range(first, last)]
        names = map(self._names.__getitem__, self._labels[first:last])
        return list(zip(names, counts, strict=True))

    def pairs(self, node: int) -> list[tuple[int, int]]:
        """The pairs of relations (near, far) in the listing of a node that has one."""
        first, last = self._starts.span(bisect_left(self.nodes, node))
        keys = (divmod(self._keys[label], 1 << 32) for label in self._labels[first:last])
        return [(near, far) for near, far in keys if far != PLAIN]

    def first_ends(self, node: int, near: int, far: int) -> list[int]:
        """The first nodes behind a pair of relations; an empty list where none are stored."""
        at, key = bisect_left(self.nodes, node), near << 32 | far
        label = bisect_left(self._keys, key)
        known = at < len(self.nodes) and label < len(self._keys)
        if not known or self.nodes[at] != node or self._keys[label] != key:
            return []
        first, last = self._starts.span(at)
        labels = self._labels[first:last].tolist()
        if label not in labels:
            return []
        entry = first + labels.index(label)
        place = bisect_left(self._crossed, entry)
        if place == len(self._crossed) or self._crossed[place] != entry:
            return []
        start, end = self._ends_starts.span(place)
        return self._ends[start:end].tolist()

    def _count(self, entry: int) -> int:
        count = self._counts[entry]
        if count < LARGE:
            return count
        return self._large_counts[bisect_left(self._large, entry)]


class _Names(dict[int, str]):
    """What a label is called, by its number; made when it is asked for."""

    def __init__(self, keys: memoryview, direction: Direction, relation_ids: Sequence[str]) -> None:
        super().__init__()
        self._keys, self._ids = keys, relation_ids
        self._out = direction == Direction.OUT

    def __missing__(self, label: int) -> str:
        near, far = divmod(self._keys[label], 1 << 32)
        name = self._ids[near]
        if far != PLAIN:
            other = self._ids[far]
            name = FLATTENED.join((name, other) if self._out else (other, name))
        self[label] = name
        return name


def read_listings(
    layout: Arrays, direction: Direction, relation_ids: Sequence[str]
) -> Listings | None:
    """`None` for a graph without any, as all were before they were stored."""
    if not layout.has(f"{direction.value}_listed_nodes"):
        return None
    return Listings(layout, direction, relation_ids)
