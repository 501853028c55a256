"""CSV tables as people keep them: one row an entity, or one row a triple."""

import csv
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from graphwalker.errors import UserError
from graphwalker.graphs.intake.blocks import Block, BlockEnd, first_lines, read_blocks
from graphwalker.graphs.intake.columns import SAMPLED, TABLE, TriplePlaces, blank_rule, find_facts
from graphwalker.graphs.intake.rows import COMMENTED, FileReader, IntakeRows, ReaderInput
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.ntriples import parse_literal

DELIMITERS = (",", ";", "\t", "|")
SNIFFED = 20
"""Lines in which the separator is looked for."""
NO_VALUE = {
    "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "Null", "null", "None", "none", "-", "--",
    "?",
}  # fmt: skip
"""What other programs write into an empty cell."""
REMEMBERED = 200_000
"""Entities of a table whose later rows are noted."""
MALFORMED = "not a CSV record (a quotation mark that is not closed, or stands inside a field?)"


class CsvFile(FileReader, ABC):
    """A reader of CSV with a header of one line. A record that does not fit is rejected with its
    first line, and reading continues with the next line, so a stray mark costs no other one."""

    header_lines = 1
    columns: Sequence[str]
    """The header."""

    def blocks(self) -> Iterator[tuple[BlockEnd, IntakeRows]]:
        """Yield blocks as they are read; those between which a record lies are one."""
        found = read_blocks(self.path)
        block = next(found, None)
        while block is not None:
            behind = next(found, None)
            if behind is not None and _ends_inside(block.text, self._delimiter):
                block = _join_blocks(block, behind)
                continue
            yield block.place, self.rows_of(block)
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
        return _delimiter_of(first_lines(self.path, SNIFFED))

    def _note_no_value(self, number: int, value: str) -> None:
        if value in NO_VALUE:
            self._note("values such as NA and null are entities (empty cells are no facts)", number,
                       value)  # fmt: skip

    @abstractmethod
    def record(self, number: int, fields: list[str], rows: IntakeRows) -> None:
        """Turn a record of as many fields as there are columns into rows. Raises `UserError`."""


def header_of(path: Path) -> list[str]:
    """Return the fields of a CSV file's first line; none for an empty file. Raises `UserError`."""
    lines = first_lines(path, SNIFFED)
    reader = csv.reader(lines[:1], strict=True, delimiter=_delimiter_of(lines))
    try:
        return next(reader, list[str]())
    except csv.Error:
        raise UserError(f"{path}:1: {MALFORMED}: a header is one line") from None


def first_rows(path: Path, count: int) -> list[list[str]]:
    """Return the fields of the first records behind the header, those that can be read."""
    lines = first_lines(path, count + 1)
    found = _records(lines, 0, _delimiter_of(lines))
    return [fields for _, _, fields in found if fields][1:]


def _delimiter_of(lines: Sequence[str]) -> str:
    """Return what separates columns: the mark that each of the first lines has equally often, most
    often of several, else the first one that the header has."""
    bare = re.sub('"[^"]*"', "", "\n".join(lines[:SNIFFED])).split("\n")
    first, *others = [line for line in bare if line] or [""]
    found = {mark: first.count(mark) for mark in DELIMITERS if mark in first}
    even = [m for m, count in found.items() if all(line.count(m) == count for line in others)]
    # Names hold commas, but no tabs.
    return max(even or [next(iter(found), ",")], key=lambda m: (found.get(m, 0), m == "\t"))


def _records(
    lines: Sequence[str], columns: int, delimiter: str
) -> Iterator[tuple[int, int, list[str] | None]]:
    """Yield the place of each record's first line, how many lines it takes, and its fields (`None`
    for a line that begins no record)."""
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
    """Return whether the last record may continue behind the text."""
    lines, at = text.split("\n"), 0
    while at < len(lines):
        begun, fed = at, _LineFeed(lines, at)
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


class _LineFeed(Iterator[str]):
    """Lines from a place on, which knows how far it was read."""

    def __init__(self, lines: Sequence[str], at: int) -> None:
        self._lines, self.at = lines, at

    def __next__(self) -> str:
        if self.at >= len(self._lines):
            raise StopIteration
        self.at += 1
        return self._lines[self.at - 1] + "\n"


def _join_blocks(one: Block, behind: Block) -> Block:
    text = f"{one.text}\n{behind.text}"
    return Block(one.first, text, behind.position, behind.size, one.broken + behind.broken)


SEPARATOR = ";"
"""Between several values in one cell."""


class TableReader(CsvFile):
    """Triples from CSV.

    Three columns called head, relation, tail (or subject, predicate, object, ...) hold triples, as
    do those that the user names. What may hold triples under other names is refused. Anything else
    is a table of entities: the first column names the entity and its header is the entity's type,
    each other column is a relation with its values, an empty cell none.
    """

    def __init__(self, given: ReaderInput) -> None:
        super().__init__(given)
        path, form = self.path, self._form
        self.columns, rows = plain_header(path), first_rows(path, SAMPLED)
        self._places: TriplePlaces | None = None
        if form.columns in ((), (TABLE,)):
            found = None
            if not form.columns:
                found = find_facts(path, self.columns, rows)
            if found is None:
                _check_header(path, self.columns)
            else:
                self._places, has_header = found
                self.header_lines = int(has_header if form.header is None else True)
        else:
            self._places = form.places(path, self.columns)
            self.header_lines = int(form.has_header)
        rows = [row for row in rows if len(row) == len(self.columns)]
        head, ends = (
            (self._places[0], self._places[2:])
            if self._places
            else (0, range(1, len(self.columns)))
        )
        self._blanks = [
            "" if form.split else blank_rule((row[head], row[end]) for row in rows) for end in ends
        ]
        """The `blank_rule` of each column of tails."""
        self._known = set[str]()

    def read(self, first: int, lines: list[str], rows: IntakeRows) -> None:
        before = len(rows.heads)
        if first == 1 and self._places and not self._form.columns:
            self._note_unread(self.columns, self._places)
        super().read(first, lines, rows)
        self.kept += len(rows.heads) - before

    def record(self, number: int, fields: list[str], rows: IntakeRows) -> None:
        if self._places is not None:
            self._triple(number, [fields[place].strip() for place in self._places], rows)
            return
        head, *cells = (field.strip() for field in fields)
        if not head:
            raise UserError(f"no value in the first column, {self.columns[0]}")
        if is_literal(head):
            raise UserError(f"a literal cannot be a head: {head[:80]}")
        if head.startswith("#"):
            self._note(COMMENTED, number, head)
        if head in self._known:
            self._note("rows that name an entity of a row before are joined with it", number, head)
        elif len(self._known) < REMEMBERED:
            self._known.add(head)
        found = [
            (relation, self._tails(number, head, cell, blanks, SEPARATOR))
            for relation, cell, blanks in zip(self.columns[1:], cells, self._blanks, strict=True)
            if cell
        ]
        if self._keeps_node is None or self._keeps_node(head):
            rows.types.append((head, self.columns[0]))
        for relation, values in found:
            for value in values:
                self._note_no_value(number, value)
                self._value(rows, head, relation, value)

    def _triple(self, number: int, fields: list[str], rows: IntakeRows) -> None:
        head, relation, tail = fields
        if not head or not relation or not tail:
            raise UserError("expected head,relation,tail, found an empty column")
        if is_literal(head):
            raise UserError(f"a literal cannot be a head: {head[:80]}")
        heads, tails = self._divide(number, head, tail, self._blanks[0])
        for other in tails:
            self._note_no_value(number, other)
            for one in heads:
                self._value(rows, one, relation, other)

    def _value(self, rows: IntakeRows, head: str, relation: str, tail: str) -> None:
        tail = parse_literal(tail) if is_literal(tail) else tail
        self._add(rows, head, self._relations[relation], tail)


def plain_header(path: Path) -> list[str]:
    """Return the names of a CSV file's columns, without marks and white space around them."""
    return [column.strip().removeprefix("\ufeff").strip() for column in header_of(path)]


def _check_header(path: Path, columns: list[str]) -> None:
    """Raise `UserError` for columns that name no relation."""
    if len(columns) > 1 and all(columns) and len(set(columns)) == len(columns):
        return
    if not any(columns):
        has_text = any(first_lines(path, SAMPLED))
        why = "the first line names no column; the header belongs there"
        raise UserError(f"{path}:1: {why if has_text else 'no triples; the file is empty'}")
    if columns[0].startswith("sep="):
        raise UserError(
            f"{path}:1: {columns[0]} is a note for Excel, and no header: remove the line"
        )
    if columns[0].startswith("#"):
        raise UserError(f"{path}:1: a comment; a table begins with its header: remove the comment")
    twice = [name for name in columns if columns.count(name) > 1]
    if "" in columns:
        found = f"column {columns.index('') + 1} has no name"
    else:
        found = f"two columns are called {twice[0]}" if twice else "the header has one column"
    raise UserError(
        f"{path}:1: {found}; a header of two columns or more, each with a name of its own, is "
        "needed: head,relation,tail, or the entity and then its relations"
        + ("; --columns 1,2,3 where the first row is a fact" if len(columns) > 2 else "")
    )
