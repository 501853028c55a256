"""Blocks of lines: a plain or gzip file, a few megabytes at a time, as text with line numbers."""

import gzip
import os
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from graphwalker.errors import UserError
from graphwalker.files import no_file

BLOCK_BYTES = 8 << 20
"""Read, stored and noted at once; a killed build resumes behind the last whole block."""
LINE_LIMIT = 64 << 20
"""Bytes of the longest line that is read; a longer one is malformed."""

_DAMAGE = (gzip.BadGzipFile, EOFError, zlib.error)


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
    def last(self) -> int:
        """The number of its last line."""
        return self.first + self.text.count("\n")


def read_blocks(path: Path, after: int = 0) -> Iterator[Block]:
    """The lines of a file behind line `after`, which must be the last one of a block.

    Raises `UserError` for a file that is missing, or a damaged archive.
    """
    size = path.stat().st_size if path.is_file() else 0
    number = 1
    with open_input(path) as file:
        try:
            for raw in _whole_lines(file):
                if number > after:
                    text, broken = _decode(raw, number)
                    yield Block(number, text, _position(file), size, broken)
                number += raw.count(b"\n") + 1
        except _DAMAGE as error:
            raise UserError(
                f"{path}: damaged gzip file after line {number - 1} ({error})"
            ) from None


def first_line(path: Path) -> str:
    """The first line of a file, unpacked; `""` for an empty file. Raises `UserError`."""
    block = next(read_blocks(path), None)
    return block.text.partition("\n")[0] if block else ""


def first_byte(path: Path) -> bytes:
    """The first byte of a file, unpacked. Raises `UserError` for a damaged archive."""
    with open_input(path) as file:
        try:
            return file.read(1)
        except _DAMAGE as error:
            raise UserError(f"{path}: damaged gzip file ({error})") from None


def open_input(path: Path) -> BinaryIO:
    if not path.is_file():
        raise no_file(path)
    return cast(BinaryIO, gzip.open(path) if path.suffix == ".gz" else path.open("rb"))


def _whole_lines(file: BinaryIO) -> Iterator[bytes]:
    """Runs of whole lines without the last line end; a line beyond the limit is cut there."""
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
        return f"not UTF-8 text ({error.reason})"
    return ""


def _position(file: BinaryIO) -> int:
    """Bytes of the file itself that were read, also where it is an archive."""
    return os.lseek(file.fileno(), 0, os.SEEK_CUR)
