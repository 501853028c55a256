"""The header of a compiled graph: understood whole, or refused by the name of what is not."""

import hashlib
import json
import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from graphwalker.errors import GraphError, UserError
from graphwalker.graphs.format.blocks import BlockTable

MAGIC = b"GWGRAPH\n"
FORMAT_VERSION = 3
OLDEST_VERSION = 1
"""1: offsets are plain integers, which is still how small graphs have them. 2: packed ones.
1 and 2 have a digest for each section, 3 one for each block of the file."""
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
    """One array of the file: where it stands, of what integers, and its digest (formats 1, 2)."""

    offset: int
    bytes: int
    typecode: str
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Header:
    """What the first bytes of the file say of the others."""

    version: int
    checksum: str
    """The digest of this header, which holds those of all other bytes: that of the content."""
    counts: dict[str, int]
    sections: dict[str, Section]
    blocks: BlockTable | None
    """`None` in formats 1 and 2."""

    @property
    def end(self) -> int:
        """How long the file is."""
        ends = [section.offset + section.bytes for section in self.sections.values()]
        return self.blocks.end if self.blocks else max(ends, default=HEADER_SPACE)


def read_header(file: BinaryIO, path: Path) -> Header:
    """Raises `UserError` for a foreign file and for one of a newer format, `GraphError` for one
    that is damaged or does not make sense, naming what."""
    space = file.read(HEADER_SPACE)
    if space[: len(MAGIC)] != MAGIC:
        raise UserError(f"{path}: not a compiled graph; make one with: graphwalker graph build")
    if len(space) < _PREFIX.size:
        raise damaged(path, "the header is cut")
    _, version, length, digest = _PREFIX.unpack_from(space)
    if version > FORMAT_VERSION:
        raise UserError(
            f"{path}: written in format {version} by a newer GraphWalker; this one reads format "
            f"{FORMAT_VERSION}: upgrade it, or build the graph again"
        )
    text = space[_PREFIX.size : _PREFIX.size + length]
    if version < OLDEST_VERSION or _digest(text) != digest:
        raise damaged(path, "the header does not match its checksum")
    if version >= 3 and any(space[_PREFIX.size + length :]):
        raise damaged(path, "bytes behind the header")
    if sys.byteorder != "little":
        raise GraphError(f"{path}: graph files are little-endian and this machine is not")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise damaged(path, "the header is no JSON") from None
    return _Reader(path, version).header(data, digest.hex())


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


def damaged(path: Path, why: str) -> GraphError:
    return GraphError(f"{path}: damaged graph file: {why}; build it again")


class _Reader:
    """Takes a header apart; every surprise is told by its name."""

    def __init__(self, path: Path, version: int) -> None:
        self._path, self._version = path, version

    def header(self, data: Any, checksum: str) -> Header:
        header = self._object(data, "the header")
        known = _KEYS if self._version >= 3 else {"counts", "sections"}
        if unknown := sorted(set(header) - known):
            raise self._newer(f"`{unknown[0]}` in its header")
        required = header.get("requires", [])
        if not isinstance(required, list):
            raise damaged(self._path, "`requires` of the header is no list")
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
        blocks = self._blocks(header) if self._version >= 3 else None
        return Header(self._version, checksum, counts, sections, blocks)

    def _section(self, name: str, fields: dict[str, Any]) -> Section:
        known = _FIELDS | ({"digest"} if self._version < 3 else set[str]())
        if unknown := sorted(set(fields) - known):
            raise self._newer(f"`{unknown[0]}` of section {name}")
        if missing := sorted(known - set(fields)):
            raise damaged(self._path, f"section {name} has no `{missing[0]}`")
        code = fields["typecode"]
        if code not in WIDTHS:
            raise self._newer(f"integers of type {code!r} in section {name}")
        offset = self._number(fields["offset"], f"offset of section {name}")
        size = self._number(fields["bytes"], f"size of section {name}")
        if size % WIDTHS[code] or offset < HEADER_SPACE:
            raise damaged(self._path, f"section {name} cannot stand where the header says")
        return Section(offset, size, code, str(fields.get("digest", "")))

    def _blocks(self, header: dict[str, Any]) -> BlockTable:
        fields = self._object(header.get("blocks"), "`blocks`")
        digests = fields.get("digests")
        if not isinstance(digests, list):
            raise damaged(self._path, "`blocks` of the header has no digests")
        start, offset, size = (
            self._number(fields.get(key), f"`{key}` of the blocks")
            for key in ("start", "offset", "bytes")
        )
        if start != HEADER_SPACE:
            raise damaged(self._path, "the blocks do not begin behind the header")
        return BlockTable(start, offset, size, tuple(map(str, cast(list[Any], digests))))

    def _object(self, value: Any, what: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise damaged(self._path, f"{what} is missing or no object")
        return cast(dict[str, Any], value)

    def _number(self, value: Any, what: str) -> int:
        if type(value) is not int or value < 0:
            raise damaged(self._path, f"{what} is no count: {str(value)[:40]!r}")
        return value

    def _newer(self, what: str) -> UserError:
        return UserError(
            f"{self._path}: has {what}, which this GraphWalker does not read: upgrade it, or build "
            "the graph again"
        )


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()
