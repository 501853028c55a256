"""Views on the arrays of a compiled graph: strings, compressed texts, lists, hash buckets."""

import zlib
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate
from zlib import crc32

import numpy as np

from graphwalker.graphs.format.integers import read_integers
from graphwalker.graphs.format.layout import Layout, LayoutWriter
from graphwalker.graphs.format.offsets import read_offsets, write_ints
from graphwalker.graphs.format.sides import read_rows

BLOCK_BYTES = 1 << 11
"""Of a block before it is compressed; a longer text is a block of its own. Larger blocks are
slower to look into (2 KiB take some 10 µs, 4 KiB twice that), and 2 % smaller at best."""
SAMPLE_BYTES = 1 << 13
"""With zlib's largest sample (32 KiB), making it ready takes longer than unpacking a block."""
RAW = -13
"""zlib's word for looking back 8 KiB, no header and no checksum: the file has its own."""
RECENT_BLOCKS = 512
"""Blocks that stay unpacked."""


class TextBlockWriter:
    """Takes byte strings in order; they are read by their number.

    `sample` are some of them: what they have in common is not stored in each block again.
    """

    def __init__(self, writer: LayoutWriter, name: str, sample: bytes = b"") -> None:
        self._sample = sample[-SAMPLE_BYTES:]
        writer.section(f"{name}_sample", "B").write(self._sample)
        self._data = writer.section(f"{name}_blocks", "B")
        self._places = writer.section(f"{name}_places", "Q")
        self._firsts = writer.section(f"{name}_firsts", "I")
        self._waiting: list[bytes] = []
        self._bytes = self._written = self._place = 0

    def write(self, strings: list[bytes]) -> None:
        for one in strings:
            if self._waiting and self._bytes + len(one) > BLOCK_BYTES:
                self._write_block()
            self._waiting.append(one)
            self._bytes += len(one)

    def close(self) -> None:
        if self._waiting:
            self._write_block()
        write_ints(self._places, np.array([self._place]))
        write_ints(self._firsts, np.array([self._written]))

    def _write_block(self) -> None:
        sizes = np.array(list(map(len, self._waiting)), dtype="<u4").tobytes()
        packed = _compress(sizes + b"".join(self._waiting), self._sample)
        write_ints(self._places, np.array([self._place]))
        write_ints(self._firsts, np.array([self._written]))
        self._data.write(packed)
        self._place += len(packed)
        self._written += len(self._waiting)
        self._waiting, self._bytes = [], 0


def _compress(data: bytes, sample: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, RAW, 9, zlib.Z_DEFAULT_STRATEGY, sample)
    return packer.compress(data) + packer.flush()


class TextBlocks:
    """The strings that a `TextBlockWriter` of that name wrote."""

    def __init__(self, layout: Layout, name: str) -> None:
        self._base, self._map = layout.section(f"{name}_blocks").offset, layout.map
        self._places, self._firsts = layout.array(f"{name}_places"), layout.array(f"{name}_firsts")
        self._sample = bytes(layout.array(f"{name}_sample"))
        self._block = lru_cache(RECENT_BLOCKS)(self._unpack)

    def __len__(self) -> int:
        return self._firsts[-1]

    def __getitem__(self, number: int) -> bytes:
        block = bisect_right(self._firsts, number) - 1
        data, ends = self._block(block)
        place = number - self._firsts[block]
        return data[ends[place] : ends[place + 1]]

    def _unpack(self, block: int) -> tuple[bytes, list[int]]:
        """The strings of a block end to end, and where each of them starts and ends."""
        start, end = self._places[block], self._places[block + 1]
        try:
            unpacker = zlib.decompressobj(RAW, zdict=self._sample)
            data = unpacker.decompress(self._map[self._base + start : self._base + end])
        except zlib.error as error:
            raise ValueError(f"block {block} of texts: {error}") from None
        sizes = 4 * (self._firsts[block + 1] - self._firsts[block])
        return data, list(accumulate(memoryview(data)[:sizes].cast("I"), initial=sizes))


class Lists:
    """A list of numbers for each index."""

    def __init__(self, layout: Layout, name: str) -> None:
        self._starts = read_offsets(layout, f"{name}_starts")
        self._items = read_integers(layout, f"{name}_items")

    def get(self, index: int) -> Sequence[int]:
        return self._items.between(*self._starts.span(index))


class NodeLists(Lists):
    """A list of numbers for each node; a literal has none."""

    def __init__(self, layout: Layout, name: str) -> None:
        super().__init__(layout, name)
        self._rows = read_rows(layout)

    def get(self, index: int) -> Sequence[int]:
        rows = self._rows
        if index < rows.first:
            return super().get(index)
        return super().get(index - rows.gap) if index >= rows.end else ()


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


def packed_literals(layout: Layout) -> range:
    """The nodes whose ids stand in compressed blocks."""
    if not layout.has("literal_blocks"):
        return range(0)
    first = layout.array("literal_start")[0]
    return range(first, first + layout.array("literal_firsts")[-1])


def read_ids(layout: Layout) -> Callable[[int], str]:
    """Return what reads the id of a node; literals may stand in compressed blocks."""
    packed = packed_literals(layout)
    if not packed:
        return read_strings(layout, "id")
    blocks, first = TextBlocks(layout, "literal"), packed.start
    return read_strings(layout, "id", packed, lambda node: blocks[node - first].decode())


def read_names(layout: Layout) -> Callable[[int], str]:
    """Return what reads the name of a node, `""` where it has none."""
    rows = read_rows(layout)
    return read_strings(layout, "name", range(rows.first, rows.end), lambda node: "")


def read_strings(
    layout: Layout,
    name: str,
    elsewhere: range = range(0),
    read_elsewhere: Callable[[int], str] = str,
) -> Callable[[int], str]:
    """Return what reads the string of a number; those `elsewhere` do not stand in the array."""
    first, end, skipped = elsewhere.start, elsewhere.stop, len(elsewhere)
    span = read_offsets(layout, f"{name}_ends").span
    base, data = layout.section(name).offset, layout.map

    def read(index: int) -> str:
        if skipped and index >= first:
            if index < end:
                return read_elsewhere(index)
            index -= skipped
        start, stop = span(index)
        return data[base + start : base + stop].decode()

    return read


def all_strings(layout: Layout, name: str, count: int) -> list[str]:
    read = read_strings(layout, name)
    return [read(i) for i in range(count)]
