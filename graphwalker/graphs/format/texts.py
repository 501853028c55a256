"""Texts in compressed blocks, found by their number: the literals of a graph."""

import json
import zlib
from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate

import numpy as np

from graphwalker.graphs.format.layout import Arrays, Layout, LayoutWriter

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
        self._write_place()

    def _write_block(self) -> None:
        sizes = np.array(list(map(len, self._waiting)), dtype="<u4").tobytes()
        packed = _compress(sizes + b"".join(self._waiting), self._sample)
        self._write_place()
        self._data.write(packed)
        self._place += len(packed)
        self._written += len(self._waiting)
        self._waiting, self._bytes = [], 0

    def _write_place(self) -> None:
        self._places.write_ints(np.array([self._place]))
        self._firsts.write_ints(np.array([self._written]))


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
        """Return the strings of a block end to end, and where each of them starts and ends."""
        start, end = self._places[block], self._places[block + 1]
        try:
            unpacker = zlib.decompressobj(RAW, zdict=self._sample)
            data = unpacker.decompress(self._map[self._base + start : self._base + end])
        except zlib.error as error:
            raise ValueError(f"block {block} of texts: {error}") from None
        sizes = 4 * (self._firsts[block + 1] - self._firsts[block])
        return data, list(accumulate(memoryview(data)[:sizes].cast("I"), initial=sizes))


def read_words(layout: Arrays, name: str) -> list[str]:
    """Return a short list of strings: relations or types."""
    return json.loads(bytes(layout.array(name)))


def write_words(writer: LayoutWriter, name: str, words: list[str]) -> None:
    writer.section(name, "B").write(json.dumps(words, ensure_ascii=False).encode())
