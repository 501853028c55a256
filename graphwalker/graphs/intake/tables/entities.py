"""CSV tables as people keep them: one row an entity, or one row a triple."""

from collections.abc import Sequence
from pathlib import Path

from graphwalker.errors import UserError
from graphwalker.graphs.intake.filters import Filters
from graphwalker.graphs.intake.rejects import Rejects
from graphwalker.graphs.intake.rows import IntakeRows, Relations, Source, TripleReader
from graphwalker.graphs.intake.tables.records import CsvFile, header_of
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.ntriples import parse_literal

TRIPLE = (
    {"head", "subject", "from", "source", "start"},
    {"relation", "predicate", "relationship", "property"},
    {"tail", "object", "to", "target", "end"},
)
"""What the header of a table of triples calls its three columns."""
SEPARATOR = ";"
"""Between several values in one cell."""


class TableReader(CsvFile, TripleReader):
    """Triples from CSV with a header.

    Three columns called head, relation, tail (or subject, predicate, object, ...) hold triples.
    Anything else is a table of entities: the first column names the entity and its header is the
    entity's type, each other column is a relation with its values, an empty cell none.
    """

    def __init__(
        self, source: Source, filters: Filters, rejects: Rejects, relations: Relations
    ) -> None:
        super().__init__(source, filters, rejects, relations)
        self._columns = _header(source.path)
        lowered = [column.lower() for column in self._columns]
        self._triples = len(lowered) == 3 and all(
            column in known for column, known in zip(lowered, TRIPLE, strict=True)
        )

    @property
    def columns(self) -> Sequence[str]:
        return self._columns

    def read(self, first: int, lines: list[str], rows: IntakeRows) -> None:
        before = len(rows.heads)
        super().read(first, lines, rows)
        self.kept += len(rows.heads) - before

    def record(self, number: int, fields: list[str], rows: IntakeRows) -> None:
        head, *cells = (field.strip() for field in fields)
        if not head:
            raise UserError(f"no value in the first column, {self._columns[0]}")
        if is_literal(head):
            raise UserError(f"a literal cannot be a head: {head[:80]}")
        if self._triples:
            relation, tail = cells
            if not relation or not tail:
                raise UserError("expected head,relation,tail, found an empty column")
            self._value(rows, head, relation, tail)
            return
        if self._keeps_node is None or self._keeps_node(head):
            rows.types.append((head, self._columns[0]))
        for relation, cell in zip(self._columns[1:], cells, strict=True):
            for value in filter(None, map(str.strip, cell.split(SEPARATOR))):
                self._value(rows, head, relation, value)

    def _value(self, rows: IntakeRows, head: str, relation: str, tail: str) -> None:
        tail = parse_literal(tail) if is_literal(tail) else tail
        self._add(rows, head, self._relations[relation], tail)


def _header(path: Path) -> list[str]:
    """The names of the columns. Raises `UserError` where they name no relation."""
    columns = [column.strip().removeprefix("\ufeff").strip() for column in header_of(path)]
    if len(columns) < 2 or not all(columns) or len(set(columns)) < len(columns):
        raise UserError(
            f"{path}:1: a header of two columns or more, each with a name of its own, is needed: "
            "head,relation,tail, or the entity and then its relations"
        )
    return columns
