"""The header of a compiled graph, and the digests of the file's blocks for which it vouches."""

import hashlib
import json
import os
import struct
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from graphwalker.errors import GraphError, UserError

BLOCK_BYTES = 1 << 16
DIGEST_BYTES = 8
_AT_ONCE = 64
"""Blocks that are read in one piece."""
_THREADS = 8

MAGIC = b"GWGRAPH\n"
FORMAT_VERSION = 4
HEADER_SPACE = 1 << 15
WIDTHS = {"B": 1, "H": 2, "I": 4, "Q": 8}
_PREFIX = struct.Struct("<8sII16s")  # magic, format version, header bytes, header digest


@dataclass(frozen=True, slots=True)
class Section:
    """One array of the file: where it stands, and of what integers."""

    offset: int
    bytes: int
    typecode: str


@dataclass(frozen=True, slots=True)
class Header:
    """What the first bytes of the file say of the others."""

    checksum: str
    """The digest of this header, which holds those of all other bytes: that of the content."""
    counts: dict[str, int]
    sections: dict[str, Section]
    table: int
    """Where the digests of the blocks stand, behind all sections."""
    table_digest: str


class BlockWriter:
    """Writes through to a file and takes the digest of every block that passes."""

    def __init__(self, out: BinaryIO) -> None:
        self._out, self._hasher, self._filled = out, _block_digest(), 0
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

    def write_table(self) -> tuple[int, str]:
        """Write the digests behind all that was written: where they stand, and their digest."""
        if self._filled:
            self._close_block()
        place = self._out.tell()
        self._out.write(self._digests)
        return place, _digest(bytes(self._digests)).hex()

    def _close_block(self) -> None:
        self._digests += self._hasher.digest()
        self._hasher, self._filled = _block_digest(), 0


def first_damage(path: Path, header: Header) -> int | None:
    """Return the place of the first block that is not what was written, `None` where all are.

    Reads the file through, by several threads: about a gigabyte a second for each.
    """
    with path.open("rb") as file:
        number, blocks = file.fileno(), block_count(header)
        listed = os.pread(number, blocks * DIGEST_BYTES, header.table)
        if _digest(listed).hex() != header.table_digest:
            return header.table

        def check(first: int) -> int | None:
            start = HEADER_SPACE + first * BLOCK_BYTES
            data = os.pread(number, min(_AT_ONCE * BLOCK_BYTES, header.table - start), start)
            for place in range(min(_AT_ONCE, blocks - first)):
                piece = data[place * BLOCK_BYTES : (place + 1) * BLOCK_BYTES]
                at = (first + place) * DIGEST_BYTES
                if _block_digest(piece).digest() != listed[at : at + DIGEST_BYTES]:
                    return start + place * BLOCK_BYTES
            return None

        if blocks <= _AT_ONCE:
            return check(0)
        with ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1)) as threads:
            found = threads.map(check, range(0, blocks, _AT_ONCE))
            return min((bad for bad in found if bad is not None), default=None)


def block_count(header: Header) -> int:
    return -(-(header.table - HEADER_SPACE) // BLOCK_BYTES)


def read_header(file: BinaryIO, path: Path) -> Header:
    """Raise `UserError` for a foreign file and for one of another format, `GraphError` for one that
    is damaged or does not make sense."""
    space = file.read(HEADER_SPACE)
    if space[: len(MAGIC)] != MAGIC:
        made = "make one with: graphwalker graph build FILE --out FOLDER"
        raise UserError(f"{path}: not a compiled graph; {made}")
    if len(space) < _PREFIX.size:
        raise damage_error(path, "the header is cut")
    _, version, length, digest = _PREFIX.unpack_from(space)
    if version not in (0, FORMAT_VERSION):
        raise UserError(
            f"{path}: written in format {version} by another GraphWalker; this one reads format "
            f"{FORMAT_VERSION}: build the graph again"
        )
    text = space[_PREFIX.size : _PREFIX.size + length]
    if not version or _digest(text) != digest:
        raise damage_error(path, "the header does not match its checksum")
    if any(space[_PREFIX.size + length :]):
        raise damage_error(path, "bytes behind the header")
    if sys.byteorder != "little":
        raise GraphError(f"{path}: graph files are little-endian and this machine is not")
    try:
        return _parse_header(json.loads(text), digest.hex())
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        why = f"the header makes no sense ({type(error).__name__}: {error})"[:200]
        raise damage_error(path, why) from None


def header_bytes(header: Mapping[str, Any], path: Path) -> bytes:
    """Return the first bytes of a file with that header."""
    text = json.dumps(header).encode()
    if _PREFIX.size + len(text) > HEADER_SPACE:
        raise GraphError(f"{path}: header of {len(text)} bytes is too long")
    return _PREFIX.pack(MAGIC, FORMAT_VERSION, len(text), _digest(text)) + text


def damage_error(path: Path, why: str) -> GraphError:
    return GraphError(f"{path}: damaged graph file: {why}; build it again")


def _parse_header(data: Any, checksum: str) -> Header:
    counts = {name: _count(value) for name, value in data["counts"].items()}
    sections = {name: _section(*fields) for name, fields in data["sections"].items()}
    table, digest = data["blocks"]
    return Header(checksum, counts, sections, _count(table), str(digest))


def _section(offset: Any, size: Any, typecode: Any) -> Section:
    section = Section(_count(offset), _count(size), str(typecode))
    if section.offset < HEADER_SPACE or section.bytes % WIDTHS[section.typecode]:
        raise ValueError(f"no section can stand at {offset} with {size} bytes")
    return section


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"no count: {str(value)[:40]!r}")
    return value


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def _block_digest(data: bytes = b"") -> "hashlib.blake2b":
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES)
