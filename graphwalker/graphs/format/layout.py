"""The file of a compiled graph: a header that vouches for the sections behind it."""

import hashlib
import json
import mmap
import os
import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from graphwalker.errors import GraphError, UserError

MAGIC = b"GWGRAPH\n"
FORMAT_VERSION = 2
OLDEST_VERSION = 1
"""Offsets were plain integers then, which is still how small graphs have them."""
FILE_NAME = "graph.gwk"
CHECKED_BYTES = 4 << 20
"""Files up to this size have every byte checked on opening; larger ones by `verify`."""

_PREFIX = struct.Struct("<8sII16s")  # magic, format version, header bytes, header digest
_HEADER_SPACE = 1 << 15
_WIDTHS = {"B": 1, "H": 2, "I": 4, "Q": 8}
_BLOCK = 1 << 20


def typecode(largest: int) -> str:
    """The narrowest unsigned integer type that holds `largest`."""
    return next(code for code, width in _WIDTHS.items() if largest < 1 << 8 * width)


@dataclass(frozen=True, slots=True)
class Section:
    """One array of the file: where it stands, of what integers, and its digest."""

    offset: int
    bytes: int
    typecode: str
    digest: str


class Layout:
    """An open file: read-only views on its sections, shared with every process that maps it."""

    def __init__(self, path: Path | str) -> None:
        self.path = graph_file(Path(path))
        try:
            with self.path.open("rb") as file:
                self.version, self._header, self.checksum = _read_header(file, self.path)
                self.map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise UserError(f"{self.path}: cannot be opened ({error.strerror})") from None
        self.counts: dict[str, int] = self._header["counts"]
        self._sections = {n: Section(**s) for n, s in self._header["sections"].items()}
        self._check_size()
        if len(self.map) <= CHECKED_BYTES:
            self.verify()

    def __reduce__(self) -> tuple[type["Layout"], tuple[Path]]:
        """Another process opens the same file."""
        return type(self), (self.path,)

    def info(self) -> dict[str, int | str]:
        """Counts, bytes, checksum and format version."""
        about = {"format_version": self.version, "checksum": self.checksum}
        return {**self.counts, "bytes": len(self.map), **about}

    def array(self, name: str) -> memoryview:
        """The integers of a section; indexing gives plain `int`s."""
        section = self.section(name)
        view = memoryview(self.map)[section.offset : section.offset + section.bytes]
        return view.cast(section.typecode)  # type: ignore[call-overload]

    def has(self, name: str) -> bool:
        """Whether the file has a section of that name."""
        return name in self._sections

    def section_names(self) -> list[str]:
        return list(self._sections)

    def section(self, name: str) -> Section:
        try:
            return self._sections[name]
        except KeyError:
            raise GraphError(f"{self.path}: damaged graph file: no section {name}") from None

    def verify(self) -> None:
        """Check every byte. Raises `GraphError` naming the section that is damaged."""
        for name, section in self._sections.items():
            digest = _digest()
            end = section.offset + section.bytes
            for start in range(section.offset, end, _BLOCK):
                digest.update(self.map[start : min(start + _BLOCK, end)])
            if digest.hexdigest() != section.digest:
                raise _damaged(self.path, f"section {name} does not match its checksum")

    def _check_size(self) -> None:
        end = max(s.offset + s.bytes for s in self._sections.values())
        if len(self.map) < end:
            raise _damaged(self.path, f"{len(self.map):,} bytes where {end:,} should be")


class SectionWriter:
    """One section while it is built, in a file of its own."""

    def __init__(self, path: Path, code: str) -> None:
        self.path, self.typecode = path, code
        self._out: BinaryIO | None = None

    def write(self, data: Any) -> None:
        """Append bytes, or an array whose integers have the section's type."""
        if self._out is None:
            self._out = self.path.open("wb")
        self._out.write(data)

    def close(self) -> None:
        """A section that nothing was written to is empty."""
        self.write(b"")
        if self._out is not None:
            self._out.close()


class LayoutWriter:
    """Gathers sections in a folder, then joins them into one file behind a header."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sections: dict[str, SectionWriter] = {}
        self._closed: dict[str, tuple[str, int]] = {}

    def section(self, name: str, code: str) -> SectionWriter:
        writer = SectionWriter(self._folder / f"{name}.section", code)
        self._sections[name] = writer
        return writer

    def close_sections(self) -> dict[str, tuple[str, int]]:
        """Close the sections so far: typecodes and sizes by name, for `adopt` in a later run."""
        for name, writer in self._sections.items():
            writer.close()
            self._closed[name] = writer.typecode, writer.path.stat().st_size
        self._sections.clear()
        return dict(self._closed)

    def adopt(self, sections: Mapping[str, tuple[str, int]]) -> None:
        """Take over sections that an earlier run closed. Raises `GraphError` for one not whole."""
        for name, (_, size) in sections.items():
            path = self._folder / f"{name}.section"
            if not path.is_file() or path.stat().st_size != size:
                raise GraphError(f"{path}: damaged since it was written; remove {self._folder}")
        self._closed = {name: (code, size) for name, (code, size) in sections.items()}

    def finish(self, path: Path, counts: Mapping[str, int]) -> None:
        """Write the file from all sections, in the order of their names."""
        sections: dict[str, Any] = {}
        with path.open("wb") as out:
            out.write(bytes(_HEADER_SPACE))
            for name, (code, _) in sorted(self.close_sections().items()):
                sections[name] = _copy_section(self._folder / f"{name}.section", code, out)
            header = json.dumps({"counts": dict(counts), "sections": sections}).encode()
            if _PREFIX.size + len(header) > _HEADER_SPACE:
                raise GraphError(f"{path}: header of {len(header)} bytes is too long")
            out.seek(0)
            digest = _digest(header).digest()
            out.write(_PREFIX.pack(MAGIC, FORMAT_VERSION, len(header), digest) + header)
            out.flush()
            os.fsync(out.fileno())


def graph_file(path: Path) -> Path:
    """The file behind a path that a person gave: itself, or the one in that folder."""
    found = path / FILE_NAME if path.is_dir() else path
    if not found.is_file():
        raise UserError(f"{path}: no compiled graph here; make one with: graphwalker graph build")
    return found


def _read_header(file: BinaryIO, path: Path) -> tuple[int, dict[str, Any], str]:
    prefix = file.read(_PREFIX.size)
    if prefix[: len(MAGIC)] != MAGIC:
        raise UserError(f"{path}: not a compiled graph; make one with: graphwalker graph build")
    if len(prefix) < _PREFIX.size:
        raise _damaged(path, "the header is cut")
    _, version, length, digest = _PREFIX.unpack(prefix)
    if version > FORMAT_VERSION:
        raise UserError(
            f"{path}: written in format {version} by a newer GraphWalker; this one reads format "
            f"{FORMAT_VERSION}: upgrade it, or build the graph again"
        )
    header = file.read(min(length, _HEADER_SPACE))
    if version < OLDEST_VERSION or _digest(header).digest() != digest:
        raise _damaged(path, "the header does not match its checksum")
    if sys.byteorder != "little":
        raise GraphError(f"{path}: graph files are little-endian and this machine is not")
    return version, json.loads(header), digest.hex()


def _copy_section(path: Path, code: str, out: BinaryIO) -> dict[str, Any]:
    out.write(bytes(-out.tell() % 64))
    offset, digest = out.tell(), _digest()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            out.write(block)
    size = out.tell() - offset
    return {"offset": offset, "bytes": size, "typecode": code, "digest": digest.hexdigest()}


def _damaged(path: Path, why: str) -> GraphError:
    return GraphError(f"{path}: damaged graph file: {why}; build it again")


def _digest(data: bytes = b"") -> "hashlib.blake2b":
    return hashlib.blake2b(data, digest_size=16)
