"""The header of a compiled graph, and the digests of the file's blocks for which it vouches."""

import hashlib
import json
import os
import struct
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from graphwalker.errors import GraphError, UserError

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
        self._hasher, self._filled = _block_digest(), 0
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
        digests = tuple(_block_digest(piece).hexdigest() for piece in _pieces(table))
        return BlockTable(self._start, offset, len(table), digests)

    def _close_block(self) -> None:
        self._digests += self._hasher.digest()
        self._hasher, self._filled = _block_digest(), 0


def first_damage(path: Path, table: BlockTable) -> int | None:
    """The place of the first byte of a block that is not what was written, `None` where all are.

    Reads the file through, by several threads: about a gigabyte a second for each.
    """
    with path.open("rb") as file:
        number = file.fileno()
        listed = os.pread(number, table.bytes, table.offset)
        for place, (piece, known) in enumerate(zip(_pieces(listed), table.digests, strict=False)):
            if _block_digest(piece).hexdigest() != known:
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
                if _block_digest(piece).digest() != listed[at : at + DIGEST_BYTES]:
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


def _block_digest(data: bytes = b"") -> "hashlib.blake2b":
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES)


MAGIC = b"GWGRAPH\n"
FORMAT_VERSION = 3
NARROW, TEXTS = "offsets in steps of one byte", "literals in compressed blocks"
COMPACT = "edges in few bits"
FEATURES = frozenset({NARROW, TEXTS, COMPACT})
"""What a file may say that its reader must know (`requires`): how a format grows without a new
version. A section that readers may leave alone needs no such word."""
HEADER_SPACE = 1 << 15
WIDTHS = {"B": 1, "H": 2, "I": 4, "Q": 8}

_PREFIX = struct.Struct("<8sII16s")  # magic, format version, header bytes, header digest
_FIELDS = {"offset", "bytes", "typecode"}
_KEYS = {"counts", "sections", "blocks", "requires", "notes"}


@dataclass(frozen=True, slots=True)
class Section:
    """One array of the file: where it stands, and of what integers."""

    offset: int
    bytes: int
    typecode: str


@dataclass(frozen=True, slots=True)
class Header:
    """What the first bytes of the file say of the others."""

    version: int
    checksum: str
    """The digest of this header, which holds those of all other bytes: that of the content."""
    counts: dict[str, int]
    sections: dict[str, Section]
    blocks: BlockTable


def read_header(file: BinaryIO, path: Path) -> Header:
    """Raises `UserError` for a foreign file and for one of a newer format, `GraphError` for one
    that is damaged or does not make sense, naming what."""
    space = file.read(HEADER_SPACE)
    if space[: len(MAGIC)] != MAGIC:
        raise UserError(f"{path}: not a compiled graph; make one with: graphwalker graph build")
    if len(space) < _PREFIX.size:
        raise damage_error(path, "the header is cut")
    _, version, length, digest = _PREFIX.unpack_from(space)
    if version > FORMAT_VERSION:
        raise UserError(
            f"{path}: written in format {version} by a newer GraphWalker; this one reads format "
            f"{FORMAT_VERSION}: upgrade it, or build the graph again"
        )
    if 0 < version < FORMAT_VERSION:
        raise UserError(f"{path}: written in format {version} by an older one: build it again")
    text = space[_PREFIX.size : _PREFIX.size + length]
    if not version or _digest(text) != digest:
        raise damage_error(path, "the header does not match its checksum")
    if any(space[_PREFIX.size + length :]):
        raise damage_error(path, "bytes behind the header")
    if sys.byteorder != "little":
        raise GraphError(f"{path}: graph files are little-endian and this machine is not")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise damage_error(path, "the header is no JSON") from None
    return _Reader(path).header(data, digest.hex())


def header_bytes(header: Mapping[str, Any], path: Path) -> bytes:
    """The first bytes of a file with that header."""
    text = json.dumps(header).encode()
    if _PREFIX.size + len(text) > HEADER_SPACE:
        raise GraphError(f"{path}: header of {len(text)} bytes is too long")
    return _PREFIX.pack(MAGIC, FORMAT_VERSION, len(text), _digest(text)) + text


def needed_features(sections: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What a reader of these sections must know."""
    narrow = any(n.endswith("_steps") and s["typecode"] == "B" for n, s in sections.items())
    return [
        feature
        for feature, used in (
            (NARROW, narrow),
            (TEXTS, "literal_blocks" in sections),
            (COMPACT, "out_begins" in sections),
        )
        if used
    ]


def damage_error(path: Path, why: str) -> GraphError:
    return GraphError(f"{path}: damaged graph file: {why}; build it again")


class _Reader:
    """Takes a header apart; every surprise is told by its name."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def header(self, data: Any, checksum: str) -> Header:
        header = self._object(data, "the header")
        if unknown := sorted(set(header) - _KEYS):
            raise self._newer(f"`{unknown[0]}` in its header")
        required = header.get("requires", [])
        if not isinstance(required, list):
            raise damage_error(self._path, "`requires` of the header is no list")
        for feature in cast(list[Any], required):
            if feature not in FEATURES:
                raise self._newer(f"feature {feature!r}")
        counts = {
            name: self._number(value, f"count {name}")
            for name, value in self._object(header.get("counts"), "`counts`").items()
        }
        sections = {
            name: self._section(name, self._object(value, f"section {name}"))
            for name, value in self._object(header.get("sections"), "`sections`").items()
        }
        return Header(FORMAT_VERSION, checksum, counts, sections, self._blocks(header))

    def _section(self, name: str, fields: dict[str, Any]) -> Section:
        if unknown := sorted(set(fields) - _FIELDS):
            raise self._newer(f"`{unknown[0]}` of section {name}")
        if missing := sorted(_FIELDS - set(fields)):
            raise damage_error(self._path, f"section {name} has no `{missing[0]}`")
        code = fields["typecode"]
        if code not in WIDTHS:
            raise self._newer(f"integers of type {code!r} in section {name}")
        offset = self._number(fields["offset"], f"offset of section {name}")
        size = self._number(fields["bytes"], f"size of section {name}")
        if size % WIDTHS[code] or offset < HEADER_SPACE:
            raise damage_error(self._path, f"section {name} cannot stand where the header says")
        return Section(offset, size, code)

    def _blocks(self, header: dict[str, Any]) -> BlockTable:
        fields = self._object(header.get("blocks"), "`blocks`")
        digests = fields.get("digests")
        if not isinstance(digests, list):
            raise damage_error(self._path, "`blocks` of the header has no digests")
        start, offset, size = (
            self._number(fields.get(key), f"`{key}` of the blocks")
            for key in ("start", "offset", "bytes")
        )
        if start != HEADER_SPACE:
            raise damage_error(self._path, "the blocks do not begin behind the header")
        return BlockTable(start, offset, size, tuple(map(str, cast(list[Any], digests))))

    def _object(self, value: Any, what: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise damage_error(self._path, f"{what} is missing or no object")
        return cast(dict[str, Any], value)

    def _number(self, value: Any, what: str) -> int:
        if type(value) is not int or value < 0:
            raise damage_error(self._path, f"{what} is no count: {str(value)[:40]!r}")
        return value

    def _newer(self, what: str) -> UserError:
        return UserError(
            f"{self._path}: has {what}, which this GraphWalker does not read: upgrade it, or build "
            "the graph again"
        )


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()
