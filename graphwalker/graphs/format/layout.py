"""The file of a compiled graph: a header that vouches for the blocks and sections behind it."""

import hashlib
import logging
import mmap
import os
import socket
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from graphwalker.errors import UserError
from graphwalker.graphs.format.header import (
    DIGEST_BYTES,
    FORMAT_VERSION,
    HEADER_SPACE,
    WIDTHS,
    BlockWriter,
    Section,
    block_count,
    damage_error,
    first_damage,
    header_bytes,
    read_header,
)

Array = np.ndarray[Any, Any]

_MACHINE = Path("/etc/machine-id")


@dataclass(frozen=True, slots=True)
class Stamp:
    """The name of a file's stamp, and what must stand in it."""

    name: str
    state: str


def stamp_of(path: Path, checksum: str) -> Stamp:
    """Return the stamp of the file as it is now. Whatever writes to a file changes its time of
    change (ctime), even a copy that keeps the other times."""
    found = path.stat()
    try:
        machine = _MACHINE.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        machine = socket.gethostname()
    text = f"{machine} {found.st_dev} {found.st_ino}"
    name = hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
    return Stamp(name, f"{checksum} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}")


_known: set[Stamp] = set()
"""Those of this process: where no folder can be written, they are all there is."""


def is_kept(stamp: Stamp) -> bool:
    """Return whether this very file, unchanged since, was found whole."""
    if stamp in _known:
        return True
    for folder in _folders():
        with suppress(OSError):
            if (folder / stamp.name).read_text(encoding="utf-8") == stamp.state:
                _known.add(stamp)
                return True
    return False


def keep(stamp: Stamp) -> None:
    """Note that the file was found whole as the stamp says it is."""
    _known.add(stamp)
    for folder in _folders():
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            partial = folder / f"{stamp.name}.{os.getpid()}"
            partial.write_text(stamp.state, encoding="utf-8")
            partial.replace(folder / stamp.name)
        except OSError:
            continue
        return


def _folders() -> list[Path]:
    """Return the user's cache, else a folder of the user's own among the temporary files."""
    folders: list[Path] = []
    cache = os.environ.get("XDG_CACHE_HOME", "")
    with suppress(RuntimeError):  # no home
        base = Path(cache) if os.path.isabs(cache) else Path.home() / ".cache"
        folders.append(base / "graphwalker" / "whole")
    own = Path(tempfile.gettempdir()) / f"graphwalker-{os.getuid()}"
    with suppress(OSError):
        own.mkdir(mode=0o700, exist_ok=True)
        if own.stat().st_uid == os.getuid():
            folders.append(own / "whole")
    return folders


log = logging.getLogger(__name__)

FILE_NAME = "graph.gwk"
STORE_FOLDER = "sparql"
"""Beside the file: what SPARQL makes of it, which is no part of the graph."""
CHECKED_BYTES = 4 << 20
"""Files up to this size have every byte checked at each opening; of larger ones a stamp says that
they were."""
LOGGED_BYTES = 1 << 30
"""Checking a file of this size takes long enough to be told."""

_COPIED = 1 << 20


def typecode(largest: int) -> str:
    """Return the narrowest unsigned integer type that holds `largest`."""
    return next(code for code, width in WIDTHS.items() if largest < 1 << 8 * width)


class Arrays(Protocol):
    """Sections that can be read, of a file or of one that is being built."""

    def array(self, name: str) -> memoryview: ...
    def has(self, name: str) -> bool: ...


class Layout:
    """An open file: read-only views on its sections, shared with every process that maps it.

    Its bytes are those that were written: a file is read through when it is opened for the first
    time on a machine, and again when it was changed since. Raises `GraphError` otherwise.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = graph_file(Path(path))
        try:
            with self.path.open("rb") as file:
                self._header = read_header(file, self.path)
                self.map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise UserError(f"{self.path}: cannot be opened ({error.strerror})") from None
        self.checksum, self.counts = self._header.checksum, self._header.counts
        self._sections = self._header.sections
        self._check_size()
        self._check_once()

    def __reduce__(self) -> tuple[type["Layout"], tuple[Path]]:
        """Let another process open the same file."""
        return type(self), (self.path,)

    def info(self) -> dict[str, int | str]:
        """Counts, bytes, checksum and format version."""
        about = {"format_version": FORMAT_VERSION, "checksum": self.checksum}
        return {**self.counts, "bytes": len(self.map), **about}

    def array(self, name: str) -> memoryview:
        """Return the integers of a section; indexing gives plain `int`s."""
        section = self.section(name)
        view = memoryview(self.map)[section.offset : section.offset + section.bytes]
        return view.cast(section.typecode)  # type: ignore[call-overload]

    def has(self, name: str) -> bool:
        """Return whether the file has a section of that name."""
        return name in self._sections

    def section_names(self) -> list[str]:
        return list(self._sections)

    def section(self, name: str) -> Section:
        try:
            return self._sections[name]
        except KeyError:
            raise damage_error(self.path, f"no section {name}") from None

    def verify(self) -> None:
        """Check every byte. Raises `GraphError` naming the section that is damaged."""
        place = first_damage(self.path, self._header)
        if place is not None:
            raise damage_error(self.path, f"{self._at(place)} does not match its checksum")

    def _check_size(self) -> None:
        table = self._header.table
        size, end = len(self.map), table + block_count(self._header) * DIGEST_BYTES
        if size != end:
            raise damage_error(self.path, f"{size:,} bytes where {end:,} should be")
        for name, section in self._sections.items():
            if section.offset + section.bytes > table:
                raise damage_error(self.path, f"section {name} reaches behind the end")

    def _check_once(self) -> None:
        size = len(self.map)
        if size <= CHECKED_BYTES:
            self.verify()
            return
        stamp = stamp_of(self.path, self.checksum)
        if is_kept(stamp):
            return
        if size >= LOGGED_BYTES:
            log.warning("%s: checking %.1f GB, once on this machine", self.path, size / 1e9)
        self.verify()
        keep(stamp)

    def _at(self, place: int) -> str:
        """Return the block at that place, in words."""
        inside = [n for n, s in self._sections.items() if s.offset <= place < s.offset + s.bytes]
        return f"the block at byte {place:,}" + (f" (section {inside[0]})" if inside else "")


class SectionWriter:
    """One section while it is built, in a file of its own."""

    def __init__(self, path: Path, code: str) -> None:
        self.path, self.typecode = path, code
        self._out = path.open("wb")

    def write(self, data: bytes) -> None:
        self._out.write(data)

    def write_ints(self, values: Array) -> None:
        """Append integers in the section's type, little-endian."""
        self._out.write(values.astype(f"<u{WIDTHS[self.typecode]}").tobytes())

    def close(self) -> None:
        self._out.close()


class LayoutWriter:
    """Gathers sections in a folder, then joins them into one file behind a header."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sections: dict[str, SectionWriter] = {}

    def section(self, name: str, code: str) -> SectionWriter:
        found = self._sections[name] = SectionWriter(self._folder / f"{name}.section", code)
        return found

    def write(self, name: str, code: str, values: Array) -> None:
        """Write a whole section of integers."""
        self.section(name, code).write_ints(values)

    def array(self, name: str) -> memoryview:
        """Return the integers of a section that is written."""
        section = self._sections[name]
        section.close()
        if not section.path.stat().st_size:
            return memoryview(b"").cast(section.typecode)  # type: ignore[call-overload]
        with section.path.open("rb") as file:
            view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        return view.cast(section.typecode)  # type: ignore[call-overload]

    def has(self, name: str) -> bool:
        return name in self._sections

    def finish(self, path: Path, counts: Mapping[str, int]) -> None:
        """Write the file from all sections, in the order of their names."""
        sections: dict[str, tuple[int, int, str]] = {}
        with path.open("wb") as out:
            out.write(bytes(HEADER_SPACE))
            blocks = BlockWriter(out)
            for name, section in sorted(self._sections.items()):
                section.close()
                sections[name] = _copy_section(section, blocks)
            header = {"counts": dict(counts), "sections": sections, "blocks": blocks.write_table()}
            out.seek(0)
            out.write(header_bytes(header, path))
            out.flush()
            os.fsync(out.fileno())


def graph_file(path: Path) -> Path:
    """Return the file behind a path that a person gave: itself, or the one in that folder."""
    found = path / FILE_NAME if path.is_dir() else path
    made = "make one with: graphwalker graph build FILE --out FOLDER"
    if not path.exists():
        raise UserError(f"{path}: no such file or folder; {made}")
    if not found.is_file():
        inner = sorted((*path.glob(f"*/{FILE_NAME}"), *path.glob(f"*/*/{FILE_NAME}")))
        hint = f"did you mean {inner[0].parent}?" if inner else made
        raise UserError(f"{path}: no compiled graph here; {hint}")
    return found


def _copy_section(section: SectionWriter, out: BlockWriter) -> tuple[int, int, str]:
    out.write(bytes(-out.tell() % 64))
    offset = out.tell()
    with section.path.open("rb") as file:
        while block := file.read(_COPIED):
            out.write(block)
    return offset, out.tell() - offset, section.typecode
