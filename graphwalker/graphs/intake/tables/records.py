"""Records of a CSV file: a field in quotation marks may hold line breaks, across blocks too.

Commas separate the columns; where the header has none, semicolons or tabs, as spreadsheets write
them in other countries.
"""

import csv
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from graphwalker.errors import UserError
from graphwalker.graphs.intake.blocks import Block, first_line, read_blocks
from graphwalker.graphs.intake.rows import FileReader, IntakeRows

DELIMITERS = (",", ";", "\t")
"""The first of them that stands in the header separates the columns of the file."""
MALFORMED = "not a CSV record (a quotation mark that is not closed, or stands inside a field?)"


class CsvFile(FileReader, ABC):
    """A reader of CSV with a header of one line. A record that does not fit is rejected with its
    first line, and reading continues with the next line, so a stray mark costs no other one."""

    header_lines = 1

    def blocks(self, after: int) -> Iterator[tuple[Block, IntakeRows]]:
        """As they are read; those between which a record lies are one."""
        found = read_blocks(self.path, after)
        block = next(found, None)
        while block is not None:
            behind = next(found, None)
            if behind is not None and _ends_inside(block.text, self._delimiter):
                block = _joined(block, behind)
                continue
            yield block, self.rows_of(block)
            block = behind

    def read(self, first: int, lines: list[str], rows: IntakeRows) -> None:
        columns = self.columns
        for at, taken, fields in _records(lines, len(columns), self._delimiter):
            number = first + at
            try:
                if number <= self.header_lines or not (fields or lines[at].strip()):
                    continue
                if fields is None:
                    raise UserError(MALFORMED)
                if len(fields) != len(columns):
                    raise UserError(f"expected {len(columns)} columns, found {len(fields)}")
                self.record(number, fields, rows)
            except UserError as error:
                self._reject(number, str(error), "\n".join(lines[at : at + taken]))

    @cached_property
    def _delimiter(self) -> str:
        return _delimiter_of(first_line(self.path))

    @property
    @abstractmethod
    def columns(self) -> Sequence[str]:
        """The header."""

    @abstractmethod
    def record(self, number: int, fields: list[str], rows: IntakeRows) -> None:
        """Turn a record of as many fields as there are columns into rows. Raises `UserError`."""


def header_of(path: Path) -> list[str]:
    """The fields of a CSV file's first line; none for an empty file. Raises `UserError`."""
    line = first_line(path)
    reader = csv.reader([line], strict=True, delimiter=_delimiter_of(line))
    try:
        return next(reader, list[str]())
    except csv.Error:
        raise UserError(f"{path}:1: {MALFORMED}: a header is one line") from None


def first_rows(path: Path, count: int) -> list[list[str]]:
    """The fields of the first records behind the header, those that can be read."""
    block = next(read_blocks(path), None)
    lines = block.text.split("\n")[: count + 1] if block else []
    found = _records(lines, 0, _delimiter_of(lines[0])) if lines else ()
    return [fields for _, _, fields in found if fields][1:]


def _delimiter_of(header: str) -> str:
    bare = re.sub('"[^"]*"', "", header)
    return next((mark for mark in DELIMITERS if mark in bare), ",")


def _records(
    lines: Sequence[str], columns: int, delimiter: str
) -> Iterator[tuple[int, int, list[str] | None]]:
    """The place of each record's first line, how many lines it takes, and its fields (`None` for
    a line that begins no record)."""
    at = 0
    while at < len(lines):
        begun = at
        rest = (lines[i] + "\n" for i in range(begun, len(lines)))
        reader = csv.reader(rest, strict=True, delimiter=delimiter)
        try:
            for fields in reader:
                taken = begun + reader.line_num - at
                # A mark that is closed only in a later record would swallow those between.
                if taken > 1 and len(fields) != columns:
                    break
                yield at, taken, fields
                at += taken
            else:
                return
        except csv.Error:
            pass
        yield at, 1, None
        at += 1


def _ends_inside(text: str, delimiter: str) -> bool:
    """Whether the last record may continue behind the text."""
    lines, at = text.split("\n"), 0
    while at < len(lines):
        begun, fed = at, _Fed(lines, at)
        reader = csv.reader(fed, strict=True, delimiter=delimiter)
        try:
            for _ in reader:
                at = begun + reader.line_num
            return False
        except csv.Error:
            if fed.at == len(lines):
                return True
            at += 1
    return False


class _Fed(Iterator[str]):
    """Lines from a place on, which knows how far it was read."""

    def __init__(self, lines: Sequence[str], at: int) -> None:
        self._lines, self.at = lines, at

    def __next__(self) -> str:
        if self.at >= len(self._lines):
            raise StopIteration
        self.at += 1
        return self._lines[self.at - 1] + "\n"


def _joined(one: Block, behind: Block) -> Block:
    text = f"{one.text}\n{behind.text}"
    return Block(one.first, text, behind.position, behind.size, one.broken + behind.broken)
