"""Rows of a graph's input, the base of its readers, and the lines that they reject."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from graphwalker.errors import UserError
from graphwalker.graphs.intake.blocks import Block, BlockEnd, read_blocks
from graphwalker.graphs.intake.columns import SPLIT_BLANKS, TABLES, TableForm, holds_ids, is_id
from graphwalker.graphs.intake.filters import Filters
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.ntriples import language

log = logging.getLogger(__name__)

REJECT_LIMIT = 100
"""Malformed lines that a build skips and counts; one more stops it."""
SHOWN = 10
_TEXT_LIMIT = 2_000
_SHOWN_TEXT = 160
_HEADER = b"file\tline\treason\ttext\n"
_KEPT_WHOLE = (
    "fields that seem to hold several ids, with blanks between them, are kept whole (--split ' ' "
    "divides them)"
)
WANTED_JSON = 'a fact a line is wanted: {"head": "Ana", "relation": "knows", "tail": "Ben"}'
UNREAD = "columns besides head, relation and tail are not read"
COMMENTED = "facts that begin with #, a comment elsewhere, are kept"
_FLAT = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


class Rejects:
    """The malformed lines of a build: skipped, counted, named; too many stop it.

    They go to a TSV file (file, line, reason, the first 2,000 characters), if a path is given.
    """

    def __init__(self, path: Path | None = None, limit: int = REJECT_LIMIT) -> None:
        self.count = 0
        self.first = ""
        self.origins: dict[Path, Path] = {}
        """The user's files by those that were written from them."""
        self.oddities: dict[str, tuple[int, tuple[Path, int, str]]] = {}
        """What was kept but may not be as it was meant: how often, and where first."""
        self._path, self.limit = path, limit
        self._file: BinaryIO | None = None

    def add(self, path: Path, number: int, why: str, text: str | bytes = "") -> None:
        """Raise `UserError` once there are more than the limit."""
        self.count += 1
        path = self.origins.get(path, path)
        where = f"{path}:{number}: {why}"
        self.first = self.first or where
        self._write(path, number, why, text)
        if self.count > self.limit:
            self.close()
            raise UserError(
                f"{where}; more than {self.limit} malformed lines, the first {self.first}"
            )
        if self.count <= SHOWN:
            log.warning("skipped %s", where)

    def note(self, what: str, path: Path, number: int, text: str, times: int = 1) -> None:
        """Count an oddity that is kept. Of each kind, the first one is shown."""
        count, first = self.oddities.get(what, (0, (path, number, text)))
        self.oddities[what] = (count + times, first)

    def describe(self) -> list[str]:
        """Return what was not understood: each kind with its count and its first example."""
        lines = [
            f"{what}: {count:,}; the first: {self._where(path, number)}: {text[:_SHOWN_TEXT]}"
            for what, (count, (path, number, text)) in self.oddities.items()
        ]
        if self.count:
            lines.append(f"malformed lines are skipped: {self.count:,}; the first: {self.first}")
        return lines

    def _where(self, path: Path, number: int) -> str:
        shown = self.origins.get(path, path)
        # A file that was converted has other lines than the user's.
        return f"{shown}:{number}" if shown == path else str(shown)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _write(self, path: Path, number: int, why: str, text: str | bytes) -> None:
        if self._path is None:
            return
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("wb")
            self._file.write(_HEADER)
        start = text[:_TEXT_LIMIT]
        shown = start if isinstance(start, str) else start.decode(errors="backslashreplace")
        fields = (str(path), str(number), why, shown)
        line = "\t".join(field.translate(_FLAT) for field in fields) + "\n"
        self._file.write(line.encode(errors="backslashreplace"))


class RejectList(Rejects):
    """Rejected lines, for the process that counts them."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[tuple[int, str, str | bytes]] = []

    def add(self, path: Path, number: int, why: str, text: str | bytes = "") -> None:
        self.lines.append((number, why, text))


LINE_BITS = 40
"""A line's number among all files: that of its file, and behind it as many bits for its place."""
NAMES, TYPES, DROPPED = -1, -2, -3
"""What happens to a line whose relation is no edge: it names, it types, or it is dropped."""
UNWANTED_LANGUAGE = 16
"""Added to the rank of a name in a language that was not asked for: all others come first."""
OWN_NAME = 64
"""The rank of an id that is its own name, where others have names."""


@dataclass(slots=True)
class IntakeRows:
    """What was read and not yet stored. A relation is a number from `Relations`."""

    heads: list[str] = field(default_factory=list[str])
    relations: list[int] = field(default_factory=list[int])
    tails: list[str] = field(default_factory=list[str])
    names: list[tuple[str, str, int, int]] = field(default_factory=list[tuple[str, str, int, int]])
    """Id, name, rank (the lowest wins), and a number that grows from line to line."""
    types: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    edges: list[tuple[str, int, str, str, int]] = field(
        default_factory=list[tuple[str, int, str, str, int]]
    )
    """Relationships of property graphs: head, relation, tail, properties as JSON, and a number that
    grows from line to line."""

    def appends(self) -> tuple[Callable[[str], None], Callable[[int], None], Callable[[str], None]]:
        """Return what adds head, relation and tail, for loops that cannot wait for `add`."""
        return self.heads.append, self.relations.append, self.tails.append

    def add(self, head: str, relation: int, tail: str) -> None:
        self.heads.append(head)
        self.relations.append(relation)
        self.tails.append(tail)


class Relations(dict[str, int]):
    """What happens to a line, by its relation: a number from 0 on, or one of `NAMES` and so on."""

    def __init__(self, filters: Filters) -> None:
        super().__init__()
        self.listed: list[str] = []
        self._keeps = filters.relation_test()

    def __missing__(self, relation: str) -> int:
        found = DROPPED
        if self._keeps(relation):
            found = len(self.listed)
            self.listed.append(relation)
        self[relation] = found
        return found


@dataclass(frozen=True, slots=True)
class Source:
    """One input file: `kind` is triples, names, types or property; `number` is its place among
    all files."""

    path: Path
    kind: str
    number: int
    form: TableForm = TABLES
    is_json: bool = False
    """Triples as JSON lines."""
    origin: Path | None = None
    """The user's file, where `path` was written from it in a form that is read."""
    table: Any = None
    """What is known of a table of a database (`databases.schema.Table`)."""
    scope: str = ""
    """Stands before the labels of its blank nodes, where other files of RDF are read, too."""

    @property
    def shown(self) -> Path:
        """The file as messages name it."""
        return self.origin or self.path


class ReaderInput(NamedTuple):
    """What a reader reads, what it keeps, and where it notes the rest."""

    source: Source
    filters: Filters
    rejects: Rejects
    relations: Relations


class BlockReader(ABC):
    """Gives the blocks of one file with their rows. `dropped` counts what the filters dropped."""

    header_lines = 0
    """Lines that may be a header."""

    def __init__(self, given: ReaderInput) -> None:
        self.path, self.rejects = given.source.path, given.rejects
        self._relations = given.relations
        self.kept: int = 0
        self.dropped: int = 0
        self.divided: int = 0
        """Fields that held several values."""

    @abstractmethod
    def blocks(self) -> Iterator[tuple[BlockEnd, IntakeRows]]:
        """Return the rows of each block, and where it ends."""


class FileReader(BlockReader):
    """Turns the lines of one file into rows, in this process."""

    def __init__(self, given: ReaderInput) -> None:
        super().__init__(given)
        self._line_base, self._form = given.source.number << LINE_BITS, given.source.form
        self._keeps_node = given.filters.node_test()
        self._keeps_language = given.filters.language_test()
        self._sifts = self._keeps_node is not None or self._keeps_language is not None

    def blocks(self) -> Iterator[tuple[BlockEnd, IntakeRows]]:
        for block in read_blocks(self.path):
            yield block.place, self.rows_of(block)

    def rows_of(self, block: Block) -> IntakeRows:
        """Return the rows of one block."""
        rows = IntakeRows()
        if block.broken:
            self._read_around(block, rows)
        else:
            self.read(block.first, block.text.split("\n"), rows)
        return rows

    @abstractmethod
    def read(self, first: int, lines: list[str], rows: IntakeRows) -> None:
        """Turn lines into rows; `first` is the number of the first of them."""

    def _read_around(self, block: Block, rows: IntakeRows) -> None:
        """Lines that cannot be read are rejected in their turn."""
        lines, first = block.text.split("\n"), block.first
        for number, why, line in block.broken:
            self.read(first, lines[first - block.first : number - block.first], rows)
            self.rejects.add(self.path, number, why, line)
            first = number + 1
        self.read(first, lines[first - block.first :], rows)

    def _reject(self, number: int, why: str, line: str) -> None:
        self.rejects.add(self.path, number, why, line)

    def _note(self, what: str, number: int, line: str, times: int = 1) -> None:
        self.rejects.note(what, self.path, number, line, times)

    def _note_unread(self, columns: Sequence[str], places: Iterable[int]) -> None:
        if others := [name for at, name in enumerate(columns) if at not in places]:
            self._note(UNREAD, 1, ", ".join(others), len(others))

    def _divide(
        self, number: int, head: str, tail: str, blanks: str
    ) -> tuple[list[str], list[str]]:
        """Return the heads and the tails of a fact whose fields may hold several values. Raises
        `UserError` where the user has to say it."""
        if head.startswith("#"):
            self._note(COMMENTED, number, head)
        heads = self._form.values(head)
        self.divided += len(heads) > 1
        return heads, self._tails(number, head, tail, blanks)

    def _tails(self, number: int, head: str, tail: str, blanks: str, mark: str = "") -> list[str]:
        """Return the values in a field, which `mark` separates, or blanks by the `blank_rule`."""
        found = self._form.values(tail, mark)
        if blanks and len(found) == 1 and holds_ids(tail):
            if blanks == SPLIT_BLANKS and is_id(head):
                found = tail.split()
            else:
                self._note(_KEPT_WHOLE, number, f"{head} {tail}")
        self.divided += len(found) > 1
        return found

    def _keeps(self, head: str, tail: str) -> bool:
        """Return whether the ends of a triple pass the filters of namespaces and languages."""
        if is_literal(tail):
            if not self._keeps_text(tail):
                return False
        elif self._keeps_node is not None and not self._keeps_node(tail):
            return False
        return self._keeps_node is None or self._keeps_node(head)

    def _keeps_text(self, literal: str) -> bool:
        if self._keeps_language is None:
            return True
        tag = language(literal)
        return tag is None or self._keeps_language(tag)

    def _add(self, rows: IntakeRows, head: str, number: int, tail: str) -> None:
        if number < 0 or (self._sifts and not self._keeps(head, tail)):
            self.dropped += 1
        else:
            rows.add(head, number, tail)
