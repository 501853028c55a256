"""Views on the arrays of a compiled graph: strings, lists, hash buckets."""

from collections.abc import Callable, Sequence
from zlib import crc32

from graphwalker.graphs.format.integers import read_integers
from graphwalker.graphs.format.layout import Layout
from graphwalker.graphs.format.offsets import read_offsets
from graphwalker.graphs.format.sides import Rows, read_rows
from graphwalker.graphs.format.texts import TextBlocks


class Lists:
    """A list of numbers for each index."""

    def __init__(self, layout: Layout, name: str) -> None:
        self._starts = read_offsets(layout, f"{name}_starts")
        self._items = read_integers(layout, f"{name}_items")

    def get(self, index: int) -> Sequence[int]:
        return self._items.between(*self._starts.span(index))


class NodeLists(Lists):
    """A list of numbers for each node."""

    def __init__(self, layout: Layout, name: str) -> None:
        super().__init__(layout, name)
        self._rows = read_rows(layout)

    def get(self, index: int) -> Sequence[int]:
        row = row_of(self._rows, index)
        return super().get(row) if row >= 0 else ()


def row_of(rows: Rows, node: int) -> int:
    """The row of a node, -1 for one that has none."""
    if node < rows.first:
        return node
    return node - rows.end + rows.first if node >= rows.end else -1


class Buckets(Lists):
    """Nodes by the leading bits of a hash; the caller compares the strings themselves."""

    def __init__(self, layout: Layout, name: str) -> None:
        super().__init__(layout, f"{name}_bucket")
        self._shift = bucket_shift(len(self._starts) - 1)

    def find(self, key: bytes) -> Sequence[int]:
        return self.get(crc32(key) >> self._shift)

    def find_hash(self, hashed: int) -> Sequence[int]:
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
    skipped = read_rows(layout).skipped

    def read(index: int) -> bytes:
        if index < first:
            return plain(index)
        return plain(index - skipped) if index >= end else literals[index - first]

    return read


def ids(layout: Layout) -> Callable[[int], str]:
    """Reads the id of a node."""
    packed, skipped = packed_literals(layout), read_rows(layout).skipped
    if not packed:
        return strings(layout, "id")
    literals, first, end = TextBlocks(layout, "literal"), packed.start, packed.stop
    span = read_offsets(layout, "id_ends").span
    base, data = layout.section("id").offset, layout.map

    def read(index: int) -> str:
        if index >= first:
            if index < end:
                return literals[index - first].decode()
            index -= skipped
        start, stop = span(index)
        return data[base + start : base + stop].decode()

    return read


def strings(layout: Layout, name: str) -> Callable[[int], str]:
    """Reads the string of a number."""
    span = read_offsets(layout, f"{name}_ends").span
    base, data = layout.section(name).offset, layout.map

    def read(index: int) -> str:
        start, end = span(index)
        return data[base + start : base + end].decode()

    return read


def names(layout: Layout) -> Callable[[int], str]:
    """Reads the name of a node, `""` where it has none."""
    rows = read_rows(layout)
    if not rows.skipped:
        return strings(layout, "name")
    first, end, skipped = rows.first, rows.end, rows.skipped
    span = read_offsets(layout, "name_ends").span
    base, data = layout.section("name").offset, layout.map

    def read(node: int) -> str:
        if node >= first:
            if node < end:
                return ""
            node -= skipped
        start, stop = span(node)
        return data[base + start : base + stop].decode()

    return read


def all_strings(layout: Layout, name: str, count: int) -> list[str]:
    read = strings(layout, name)
    return [read(i) for i in range(count)]
