"""The reader of a table of a database: rows become entities, values, and links to other rows."""

import re
from collections.abc import Iterable, Iterator
from hashlib import sha256

from graphwalker.errors import UserError
from graphwalker.graphs.intake.databases.schema import name_row, split_cell, whole
from graphwalker.graphs.intake.databases.tables import DatabaseColumn, DatabaseTable
from graphwalker.graphs.intake.rows import IntakeRows, ReaderInput
from graphwalker.graphs.intake.tables import CsvFile
from graphwalker.graphs.literals import literal_id
from graphwalker.graphs.properties import XSD

_LONG = 100
"""Characters of a text that is a description, and no entity."""


class DatabaseReader(CsvFile):
    """The rows of a table whose columns are known: entities with types, names, values and links."""

    def __init__(self, given: ReaderInput, table: DatabaseTable) -> None:
        super().__init__(given)
        self.columns, self._table, self._known = table.header, table, set[str]()

    def read(self, first: int, lines: list[str], rows: IntakeRows) -> None:
        before = len(rows.heads)
        super().read(first, lines, rows)
        rows.names, rows.types = list(dict.fromkeys(rows.names)), list(dict.fromkeys(rows.types))
        self.kept += len(rows.heads) - before + len(rows.types)

    def record(self, number: int, fields: list[str], rows: IntakeRows) -> None:
        table, fields = self._table, [value.strip() for value in fields]
        if table.key is None:
            self._link(number, fields, rows)
            return
        key = whole(fields[table.key.place])
        if not key:
            raise UserError(f"no value in the column {table.key.name}")
        if key in self._known:
            self._note("rows that name an entity of a row before are joined with it", number, key)
        self._known.add(key)
        node, named = table.node(key), name_row(table, fields)
        shown = named or (f"{table.type} {key}" if table.has_numbers else key)
        rows.names.append((node, shown, 0, self._line_base))
        rows.types.append((node, table.type))
        skipped = (table.key.place, *table.title)
        self._facts(
            number, node, [c for c in table.columns if c.place not in skipped], fields, rows
        )

    def _link(self, number: int, fields: list[str], rows: IntakeRows) -> None:
        """Link a row that says something of the rows that it names: of the first, where it alone
        has values, else at a node without a name."""
        table = self._table
        if not table.links:
            raise UserError("the row belongs to no row of another table")
        head, *others = [*table.links, *(c for c in table.columns if not c.target)]
        for node in self._ends(number, head, fields[head.place], rows):
            if len(others) == 1 and others[0].target:
                for end in self._ends(number, others[0], fields[others[0].place], rows):
                    self._add(rows, node, self._relations[table.type], end)
            elif len(table.links) == 1 and (table.heads_differ or len(others) == 1):
                self._facts(number, node, others, fields, rows)
            else:
                digest = sha256("\t".join(fields).encode()).hexdigest()[:12]
                statement = f"_:{re.sub(r'[^A-Za-z0-9]', '-', table.type)}-{digest}"
                self._add(rows, node, self._relations[table.type], statement)
                self._facts(number, statement, others, fields, rows)

    def _facts(
        self,
        number: int,
        node: str,
        columns: Iterable[DatabaseColumn],
        fields: list[str],
        rows: IntakeRows,
    ) -> None:
        for column in columns:
            what = column.stem if column.target else column.name
            relation = self._relations[f"{self._table.type}.{what}"]
            for end in self._ends(number, column, fields[column.place], rows):
                self._add(rows, node, relation, end)

    def _ends(
        self, number: int, column: DatabaseColumn, cell: str, rows: IntakeRows
    ) -> Iterator[str]:
        """Yield the nodes of a cell: rows of another table, literals, or what a text names."""
        for value in split_cell(cell, self._form.split):
            if column.target is None:
                self._note_no_value(number, value)
                yield self._value(column, value, rows)
                continue
            other = column.target.table
            key = other.names.get(value, "") if column.target.by_name else whole(value)
            if key in other.ids:
                yield other.node(key)
            else:
                what = f"values of {self._table.type}.{column.name} that name no row, or several"
                self._note(f"{what}, of {other.type} are left out", number, value)

    def _value(self, column: DatabaseColumn, value: str, rows: IntakeRows) -> str:
        if column.kinds:
            kind = column.kinds[0]
            value = value.lower() if kind == "boolean" else value
            return literal_id(value, f"^^<{XSD}{kind}>" if kind else "")
        if len(value) > _LONG:
            return literal_id(value)
        rows.names.append((value, value, 0, self._line_base))
        return value
