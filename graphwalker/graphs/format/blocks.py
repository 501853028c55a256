"""Digests of a file's blocks: made while it is written, held against its bytes when it is read."""

import hashlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

BLOCK_BYTES = 1 << 16
DIGEST_BYTES = 8
_AT_ONCE = 64
"""Blocks that are read in one piece."""
_THREADS = 8


@dataclass(frozen=True, slots=True)
class BlockTable:
    """Where the digests stand, one after the other, and of what.

    `digests` are those of the table itself, so that whoever vouches for them vouches for all.
    """

    start: int
    """The first byte that is covered; the last one stands right before the table."""
    offset: int
    bytes: int
    digests: tuple[str, ...]

    @property
    def end(self) -> int:
        return self.offset + self.bytes

    def to_json(self) -> dict[str, Any]:
        return {
            "start": self.start,
            "offset": self.offset,
            "bytes": self.bytes,
            "digests": list(self.digests),
        }


class BlockWriter:
    """Writes through to a file and takes the digest of every block that passes."""

    def __init__(self, out: BinaryIO, start: int) -> None:
        self._out, self._start = out, start
        self._hasher, self._filled = _digest(), 0
        self._digests = bytearray()

    def write(self, data: bytes) -> None:
        self._out.write(data)
        rest = memoryview(data)
        while len(rest):
            piece = rest[: BLOCK_BYTES - self._filled]
            self._hasher.update(piece)
            self._filled += len(piece)
            rest = rest[len(piece) :]
            if self._filled == BLOCK_BYTES:
                self._close_block()

    def tell(self) -> int:
        return self._out.tell()

    def write_table(self) -> BlockTable:
        """Write the digests behind all that was written."""
        if self._filled:
            self._close_block()
        offset, table = self._out.tell(), bytes(self._digests)
        self._out.write(table)
        digests = tuple(_digest(piece).hexdigest() for piece in _pieces(table))
        return BlockTable(self._start, offset, len(table), digests)

    def _close_block(self) -> None:
        self._digests += self._hasher.digest()
        self._hasher, self._filled = _digest(), 0


def first_damage(path: Path, table: BlockTable) -> int | None:
    """The place of the first byte of a block that is not what was written, `None` where all are.

    Reads the file through, by several threads: about a gigabyte a second for each.
    """
    with path.open("rb") as file:
        number = file.fileno()
        listed = os.pread(number, table.bytes, table.offset)
        for place, (piece, known) in enumerate(zip(_pieces(listed), table.digests, strict=False)):
            if _digest(piece).hexdigest() != known:
                return table.offset + place * BLOCK_BYTES
        blocks = -(-(table.offset - table.start) // BLOCK_BYTES)
        if len(listed) != blocks * DIGEST_BYTES or len(table.digests) != len(list(_pieces(listed))):
            return table.offset

        def check(first: int) -> int | None:
            start = table.start + first * BLOCK_BYTES
            data = os.pread(number, min(_AT_ONCE * BLOCK_BYTES, table.offset - start), start)
            for place in range(min(_AT_ONCE, blocks - first)):
                piece = data[place * BLOCK_BYTES : (place + 1) * BLOCK_BYTES]
                at = (first + place) * DIGEST_BYTES
                if _digest(piece).digest() != listed[at : at + DIGEST_BYTES]:
                    return start + place * BLOCK_BYTES
            return None

        firsts = range(0, blocks, _AT_ONCE)
        if len(firsts) < 4:
            return next((bad for first in firsts if (bad := check(first)) is not None), None)
        with ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1)) as threads:
            found = [bad for bad in threads.map(check, firsts) if bad is not None]
        return min(found, default=None)


def _pieces(data: bytes) -> Iterator[bytes]:
    for start in range(0, len(data), BLOCK_BYTES):
        yield data[start : start + BLOCK_BYTES]


def _digest(data: bytes = b"") -> "hashlib.blake2b":
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES)
