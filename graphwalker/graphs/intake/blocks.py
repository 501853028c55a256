"""Blocks of lines: a plain or compressed file, a few megabytes at a time, with line numbers."""

import bz2
import gzip
import io
import lzma
import os
import re
import zlib
from codecs import BOM_UTF8
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from graphwalker.errors import UserError, lacks_extra
from graphwalker.files import no_file

BLOCK_BYTES = 8 << 20
"""Read and stored at once."""
LINE_LIMIT = 64 << 20
"""Bytes of the longest line that is read; a longer one is malformed."""

PACKED = (".gz", ".bz2", ".xz", ".zst")
_QUOTED = re.compile(rb'\A"|(?:^|\t)"[^\t\n]+""', re.MULTILINE)
"""The first field, or one with quotation marks in it: no head, and no literal, is written so."""
_DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError)


@dataclass(frozen=True, slots=True)
class BlockEnd:
    """How far a file is read: the number of the last line, and the share of the bytes."""

    line: int
    share: float


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines: `first` is the number of the first one, from 1; the last one has no line end.

    `position` of `size` bytes of the file were read when it was made. A line that is not UTF-8,
    or too long, is an empty one in `text` and stands in `broken` with its number and the reason.
    """

    first: int
    text: str
    position: int
    size: int
    broken: tuple[tuple[int, str, bytes], ...] = ()

    @property
    def place(self) -> BlockEnd:
        """Where it ends."""
        return BlockEnd(self.first + self.text.count("\n"), self.position / max(1, self.size))


def read_blocks(path: Path) -> Iterator[Block]:
    """Yield the lines of a file.

    Raises `UserError` for a file that is missing, or a damaged archive.
    """
    size = path.stat().st_size if path.is_file() else 0
    number = 1
    with _open_packed(path) as packed, _unpack(path, packed) as file:
        lines = _whole_lines(file)
        while True:
            try:
                raw = next(lines, None)
            except _DAMAGE as error:
                raise UserError(f"{path}: damaged file after line {number - 1} ({error})") from None
            if raw is None:
                return
            text, broken = _decode(raw, number)
            position = os.lseek(packed.fileno(), 0, os.SEEK_CUR)
            yield Block(number, text, position, size, broken)
            number += raw.count(b"\n") + 1


def first_lines(path: Path, count: int) -> list[str]:
    """Return a file's first lines, unpacked; an empty line for an empty file. Raises
    `UserError`."""
    lines: list[str] = []
    for block in read_blocks(path):
        lines += block.text.split("\n", count)[:count]
        if len(lines) >= count:
            break
    return lines[:count] or [""]


def peek(path: Path, size: int) -> bytes:
    """Return the first bytes of a file, unpacked; fewer of a damaged archive, which is told by who
    reads it. Raises `UserError` for one that is missing."""
    found = b""
    with open_input(path) as file, suppress(*_DAMAGE):
        # By pieces, so that what stands before the damage is not lost.
        while len(found) < size and (piece := cast(Any, file).read1(size - len(found))):
            found += piece
    return found


def plain_name(path: Path) -> str:
    """Return the name of a file without the ending of its compression."""
    return path.stem if path.suffix in PACKED else path.name


def is_csv(path: Path) -> bool:
    """True for a file of that name, for one whose fields are quoted as in CSV, and for one of
    another name whose first line has two commas, semicolons or bars or more, and no tab."""
    name = plain_name(path).lower()
    if name.endswith((".csv", ".nt")):
        return name.endswith(".csv")
    text = peek(path, 1 << 16).removeprefix(BOM_UTF8)
    if name.endswith(".tsv") or _QUOTED.search(text):
        return _QUOTED.search(text) is not None
    line = text.partition(b"\n")[0]
    return (
        line[:1] not in b"<_#{["
        and b"\t" not in line
        and any(line.count(mark) >= 2 for mark in (b",", b";", b"|"))
    )


@contextmanager
def open_input(path: Path) -> Generator[BinaryIO, None, None]:
    """Open a file, unpacked where it is compressed. Raises `UserError` for one that is missing."""
    with _open_packed(path) as packed, _unpack(path, packed) as file:
        yield file


def _open_packed(path: Path) -> BinaryIO:
    if not path.is_file():
        raise no_file(path)
    return path.open("rb")


def _unpack(path: Path, packed: BinaryIO) -> BinaryIO:
    """Recognised by its first bytes: a file may have lost the ending of its name, or kept it."""
    magic = packed.read(6)
    packed.seek(0)
    if magic.startswith(b"\x1f\x8b"):
        return cast(BinaryIO, gzip.open(packed))
    if magic.startswith(b"BZh"):
        return cast(BinaryIO, bz2.open(packed))
    if magic.startswith(b"\xfd7zXZ"):
        return cast(BinaryIO, lzma.open(packed))
    if magic.startswith(b"\x28\xb5\x2f\xfd"):
        return _unpack_zstandard(path, packed)
    return packed


def _unpack_zstandard(path: Path, packed: BinaryIO) -> BinaryIO:
    try:
        import pyarrow  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        raise lacks_extra(f"{path}: Zstandard needs pyarrow", "formats") from None
    library: Any = pyarrow
    return cast(BinaryIO, io.BufferedReader(library.CompressedInputStream(packed, "zstd")))


def _whole_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield runs of whole lines without the last line end; a line beyond the limit is cut there."""
    rest = file.read(len(BOM_UTF8)).removeprefix(BOM_UTF8)
    while True:
        chunk = file.read(BLOCK_BYTES)
        end = chunk.rfind(b"\n")
        if not chunk:
            break
        if end < 0:
            rest += chunk[: max(0, LINE_LIMIT + 1 - len(rest))]
            continue
        yield rest + chunk[:end]
        rest = chunk[end + 1 :]
    if rest:
        yield rest


def _decode(raw: bytes, first: int) -> tuple[str, tuple[tuple[int, str, bytes], ...]]:
    if b"\r\n" in raw or raw.endswith(b"\r"):
        raw = raw.replace(b"\r\n", b"\n").removesuffix(b"\r")
    if len(raw) <= LINE_LIMIT:
        try:
            return raw.decode(), ()
        except UnicodeDecodeError:
            pass
    lines: list[str] = []
    broken: list[tuple[int, str, bytes]] = []
    for number, line in enumerate(raw.split(b"\n"), start=first):
        why = _fault(line)
        lines.append("" if why else line.decode())
        if why:
            broken.append((number, why, line))
    return "\n".join(lines), tuple(broken)


def _fault(line: bytes) -> str:
    if len(line) > LINE_LIMIT:
        return f"longer than {LINE_LIMIT:,} bytes"
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return f"not UTF-8 text ({error.reason}); save the file as UTF-8"
    return ""
