"""CSV tables as people keep them: one row an entity, or one row a triple."""

from collections.abc import Sequence
from pathlib import Path

from graphwalker.errors import UserError
from graphwalker.graphs.intake.filters import Filters
from graphwalker.graphs.intake.rejects import Rejects
from graphwalker.graphs.intake.rows import IntakeRows, Relations, Source, TripleReader
from graphwalker.graphs.intake.tables.columns import (
    SAMPLED,
    TABLE,
    TriplePlaces,
    is_clear,
    refuse_unclear,
)
from graphwalker.graphs.intake.tables.records import CsvFile, first_rows, header_of
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.ntriples import parse_literal

SEPARATOR = ";"
"""Between several values in one cell."""


class TableReader(CsvFile, TripleReader):
    """Triples from CSV.

    Three columns called head, relation, tail (or subject, predicate, object, ...) hold triples, as
    do those that the user names. What may hold triples under other names is refused. Anything else
    is a table of entities: the first column names the entity and its header is the entity's type,
    each other column is a relation with its values, an empty cell none.
    """

    def __init__(
        self, source: Source, filters: Filters, rejects: Rejects, relations: Relations
    ) -> None:
        super().__init__(source, filters, rejects, relations)
        self._form = source.form
        self._columns = _first_row(source.path)
        self._places: TriplePlaces | None = None
        if self._form.columns in ((), (TABLE,)):
            _check_header(source.path, self._columns)
            if is_clear(self._columns):
                self._places = 0, 1, 2
            elif not self._form.columns:
                refuse_unclear(source.path, self._columns, first_rows(source.path, SAMPLED))
        else:
            self._places = self._form.places(source.path, self._columns)
            self.header_lines = int(self._form.has_header)

    @property
    def columns(self) -> Sequence[str]:
        return self._columns

    def read(self, first: int, lines: list[str], rows: IntakeRows) -> None:
        before = len(rows.heads)
        super().read(first, lines, rows)
        self.kept += len(rows.heads) - before

    def record(self, number: int, fields: list[str], rows: IntakeRows) -> None:
        if self._places is not None:
            self._triple([fields[place].strip() for place in self._places], rows)
            return
        head, *cells = (field.strip() for field in fields)
        if not head:
            raise UserError(f"no value in the first column, {self._columns[0]}")
        if is_literal(head):
            raise UserError(f"a literal cannot be a head: {head[:80]}")
        found = [(r, self._values(cell, SEPARATOR)) for r, cell in self._cells(cells)]
        if self._keeps_node is None or self._keeps_node(head):
            rows.types.append((head, self._columns[0]))
        for relation, values in found:
            for value in values:
                self._value(rows, head, relation, value)

    def _cells(self, cells: Sequence[str]) -> list[tuple[str, str]]:
        return [(r, c) for r, c in zip(self._columns[1:], cells, strict=True) if c]

    def _triple(self, fields: list[str], rows: IntakeRows) -> None:
        head, relation, tail = fields
        if not head or not relation or not tail:
            raise UserError("expected head,relation,tail, found an empty column")
        if is_literal(head):
            raise UserError(f"a literal cannot be a head: {head[:80]}")
        heads, tails = self._values(head), self._values(tail)
        for one in heads:
            for other in tails:
                self._value(rows, one, relation, other)

    def _values(self, text: str, mark: str = "") -> list[str]:
        found = self._form.values(text, mark)
        self.divided += len(found) > 1
        return found

    def _value(self, rows: IntakeRows, head: str, relation: str, tail: str) -> None:
        tail = parse_literal(tail) if is_literal(tail) else tail
        self._add(rows, head, self._relations[relation], tail)


def _first_row(path: Path) -> list[str]:
    return [column.strip().removeprefix("\ufeff").strip() for column in header_of(path)]


def _check_header(path: Path, columns: list[str]) -> None:
    """Raise `UserError` for columns that name no relation."""
    if len(columns) < 2 or not all(columns) or len(set(columns)) < len(columns):
        raise UserError(
            f"{path}:1: a header of two columns or more, each with a name of its own, is needed: "
            "head,relation,tail, or the entity and then its relations; --columns 1,2,3 where the "
            "first row is a fact"
        )
