"""Views on the arrays of a compiled graph: strings, lists, hash buckets, edges of one side."""

from bisect import bisect_left
from collections.abc import Callable
from zlib import crc32

from graphwalker.graphs.format.layout import Arrays, Layout
from graphwalker.graphs.format.offsets import read_offsets
from graphwalker.graphs.format.texts import TextBlocks


class EdgeSide:
    """The edges as seen from one end: node -> groups -> destinations."""

    def __init__(self, layout: Arrays, side: str) -> None:
        self.groups = read_offsets(layout, f"{side}_groups")
        self.relations = layout.array(f"{side}_relations")
        self.starts = read_offsets(layout, f"{side}_starts")
        self.nodes = layout.array(f"{side}_nodes")
        self.to_cvts = layout.array(f"{side}_to_cvts")

    def run(self, node: int, relation: int) -> tuple[int, int]:
        """Where the node's destinations over that relation stand; an empty run if it has none."""
        first, end = self.groups.span(node)
        group = bisect_left(self.relations, relation, first, end)
        if group == end or self.relations[group] != relation:
            return 0, 0
        return self.starts.span(group)


class Lists:
    """A list of numbers for each node."""

    def __init__(self, layout: Layout, name: str) -> None:
        self._starts = read_offsets(layout, f"{name}_starts")
        self._items = layout.array(f"{name}_items")

    def get(self, index: int) -> memoryview:
        start, end = self._starts.span(index)
        return self._items[start:end]


class Buckets(Lists):
    """Nodes by the leading bits of a hash; the caller compares the strings themselves."""

    def __init__(self, layout: Layout, name: str) -> None:
        super().__init__(layout, f"{name}_bucket")
        self._shift = bucket_shift(len(self._starts) - 1)

    def find(self, key: bytes) -> memoryview:
        return self.get(crc32(key) >> self._shift)

    def find_hash(self, hashed: int) -> memoryview:
        """Those under a hash of 32 bits that the caller made."""
        return self.get(hashed >> self._shift)


def bucket_shift(buckets: int) -> int:
    """How far a 32-bit hash is shifted to number that many buckets, a power of two."""
    return 33 - buckets.bit_length()


def raw_strings(layout: Layout, name: str) -> Callable[[int], bytes]:
    """Reads the string of a number, as UTF-8 bytes."""
    span = read_offsets(layout, f"{name}_ends").span
    base, data = layout.section(name).offset, layout.map

    def read(index: int) -> bytes:
        start, end = span(index)
        return data[base + start : base + end]

    return read


def packed_literals(layout: Layout) -> range:
    """The nodes whose ids stand in compressed blocks."""
    if not layout.has("literal_blocks"):
        return range(0)
    first = layout.array("literal_start")[0]
    return range(first, first + layout.array("literal_firsts")[-1])


def raw_ids(layout: Layout) -> Callable[[int], bytes]:
    """Reads the id of a node, as UTF-8 bytes. Literals may stand in compressed blocks."""
    plain, packed = raw_strings(layout, "id"), packed_literals(layout)
    if not packed:
        return plain
    literals, first, end = TextBlocks(layout, "literal"), packed.start, packed.stop

    def read(index: int) -> bytes:
        return literals[index - first] if first <= index < end else plain(index)

    return read


def ids(layout: Layout) -> Callable[[int], str]:
    """Reads the id of a node."""
    if not layout.has("literal_blocks"):
        return strings(layout, "id")
    raw = raw_ids(layout)
    return lambda index: raw(index).decode()


def strings(layout: Layout, name: str) -> Callable[[int], str]:
    """Reads the string of a number."""
    span = read_offsets(layout, f"{name}_ends").span
    base, data = layout.section(name).offset, layout.map

    def read(index: int) -> str:
        start, end = span(index)
        return data[base + start : base + end].decode()

    return read


def all_strings(layout: Layout, name: str, count: int) -> list[str]:
    read = strings(layout, name)
    return [read(i) for i in range(count)]
