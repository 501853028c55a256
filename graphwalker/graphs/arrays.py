"""Views on the arrays of a compiled graph: strings, lists, hash buckets, edges of one side."""

from bisect import bisect_left
from collections.abc import Callable
from zlib import crc32

from graphwalker.graphs.layout import Layout


class Side:
    """The edges as seen from one end: node -> groups -> destinations."""

    def __init__(self, layout: Layout, side: str) -> None:
        self.groups = layout.array(f"{side}_groups")
        self.relations = layout.array(f"{side}_relations")
        self.starts = layout.array(f"{side}_starts")
        self.nodes = layout.array(f"{side}_nodes")
        self.to_cvts = layout.array(f"{side}_to_cvts")

    def run(self, node: int, relation: int) -> tuple[int, int]:
        """Where the node's destinations over that relation stand; an empty run if it has none."""
        end = self.groups[node + 1]
        group = bisect_left(self.relations, relation, self.groups[node], end)
        if group == end or self.relations[group] != relation:
            return 0, 0
        return self.starts[group], self.starts[group + 1]


class Lists:
    """A list of numbers for each node."""

    def __init__(self, layout: Layout, name: str) -> None:
        self._starts = layout.array(f"{name}_starts")
        self._items = layout.array(f"{name}_items")

    def get(self, index: int) -> memoryview:
        return self._items[self._starts[index] : self._starts[index + 1]]


class Buckets(Lists):
    """Nodes by the leading bits of a hash; the caller compares the strings themselves."""

    def __init__(self, layout: Layout, name: str) -> None:
        super().__init__(layout, f"{name}_bucket")
        self._shift = bucket_shift(len(self._starts) - 1)

    def find(self, key: bytes) -> memoryview:
        return self.get(crc32(key) >> self._shift)


def bucket_shift(buckets: int) -> int:
    """How far a 32-bit hash is shifted to number that many buckets, a power of two."""
    return 33 - buckets.bit_length()


def raw_strings(layout: Layout, name: str) -> Callable[[int], bytes]:
    ends, base, data = layout.array(f"{name}_ends"), layout.section(name).offset, layout.map
    return lambda i: data[base + ends[i] : base + ends[i + 1]]


def strings(layout: Layout, name: str) -> Callable[[int], str]:
    ends, base, data = layout.array(f"{name}_ends"), layout.section(name).offset, layout.map
    return lambda i: data[base + ends[i] : base + ends[i + 1]].decode()


def all_strings(layout: Layout, name: str, count: int) -> list[str]:
    read = strings(layout, name)
    return [read(i) for i in range(count)]
