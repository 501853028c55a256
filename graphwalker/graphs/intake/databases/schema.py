"""Tables of a database: a row is an entity of its table, and columns point into other tables."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from graphwalker.errors import UserError
from graphwalker.graphs.intake.blocks import is_csv, plain_name
from graphwalker.graphs.intake.columns import KEEP_WHOLE, SAMPLED, TABLE, names_ends
from graphwalker.graphs.intake.databases.references import find_targets, stated_targets
from graphwalker.graphs.intake.databases.tables import (
    DatabaseColumn,
    DatabaseTable,
    plain_form,
    singular,
)
from graphwalker.graphs.intake.filters import Filters
from graphwalker.graphs.intake.rows import IntakeRows, ReaderInput, RejectList, Relations, Source
from graphwalker.graphs.intake.tables import SEPARATOR, CsvFile, first_rows, header_of, plain_header
from graphwalker.graphs.properties import NAME_KEYS

_KEYS = {"id", "pk", "key", "uuid", "guid", "oid", "nr", "no", "code"}
_PARTS = (
    {"firstname", "givenname", "forename", "vorname", "prenom", "nombre"},
    {"lastname", "surname", "familyname", "nachname", "nom", "apellido"},
)
_WHOLE = re.compile(r"(-?\d+)\.0+")


def read_tables(sources: Sequence[Source]) -> tuple[list[Source], list[str]]:
    """Return the sources, those that are tables of a database with how they are read, and what is
    to be said of it.

    Raises `UserError` that lists the columns of which it is not sure where they point, with the
    options that say it.
    """
    tables = {source.number: table for source in sources if (table := _table_of(source))}
    _refuse_shared_numbers([source for source in sources if source.number not in tables])
    _merge_names(tables.values())
    listed = list({table.type: table for table in tables.values()}.values())
    pairs = [(source, tables[source.number]) for source in sources if source.number in tables]
    for pair in pairs:
        _read_keys(*pair)
    if len(listed) == 1 and not (listed[0].title or listed[0].has_numbers):
        return list(sources), []  # its first column is a name
    for pair in pairs:
        _look_at_values(*pair, listed)
    if unsure := find_targets(tables.values(), listed, stated_targets(sources, listed)):
        raise UserError("; ".join(unsure))
    for pair in pairs:
        _find_links(*pair, listed)
    return [replace(s, table=tables.get(s.number)) for s in sources], [
        table.describe() for table in tables.values()
    ]


def _refuse_shared_numbers(sources: Sequence[Source]) -> None:
    """Raise `UserError` for tables of entities whose first columns have one name and the same
    numbers: employee 1 and department 1 would be one."""
    known: dict[str, tuple[Path, set[str]]] = {}
    for source in sources:
        rows = first_rows(source.path, SAMPLED) if _is_table(source) else []
        values = {row[0] for row in rows}
        if not values or not all(map(str.isdigit, values)):
            continue
        name = header_of(source.path)[0]
        path, others = known.setdefault(name, (source.shown, set()))
        if shared := sorted(values & others):
            raise UserError(
                f"{path} and {source.shown}: both have {shared[0]} in the column {name}, which "
                "would be one entity; call the column id in both: ids are of their table"
            )
        others |= values


def _is_table(source: Source) -> bool:
    form = source.form
    if source.kind != "triples" or source.is_json or form.columns not in ((), (TABLE,)):
        return False
    return bool(form.columns or is_csv(source.path)) and source.path.is_file()


def _table_of(source: Source) -> DatabaseTable | None:
    """Return the table of a file whose first column, or another, is called an id."""
    if not _is_table(source):
        return None
    try:
        header = plain_header(source.path)
    except UserError:
        return None  # its own reader says so, with the name of the user's file
    if len(header) < 2 or not all(header) or len(set(header)) < len(header):
        return None
    columns = [DatabaseColumn(place, name) for place, name in enumerate(header)]
    stem = re.sub(r"\..*", "", plain_name(source.shown)) or "row"
    kind = singular(re.sub(r"^(tbl|dim|fact)_", "", stem))
    own = next((c for c in columns if plain_form(c.name) in _KEYS), None)
    own = own or next((c for c in columns if c.name_of(kind)), None)
    if (own is None and not columns[0].points) or (not source.form.columns and names_ends(header)):
        return None
    table = DatabaseTable(source.shown, kind, header, columns, own)
    table.title = _title(table)
    return table


def _title(table: DatabaseTable) -> tuple[int, ...]:
    plain = [re.sub(r"[\W_]", "", column.name.lower()) for column in table.columns]
    first, last = (
        next((at for at, name in enumerate(plain) if name in names), -1) for names in _PARTS
    )
    whole = [
        plain.index(n) for n in ("name", "fullname", f"{plain_form(table.type)}name") if n in plain
    ]
    if whole or min(first, last) >= 0:
        return (whole[0],) if whole else (first, last)
    return next(((plain.index(name),) for name in (*NAME_KEYS, "label") if name in plain), ())


def _merge_names(tables: Iterable[DatabaseTable]) -> None:
    """Tables whose key is called after another thing are of that thing; two files of one table have
    the same columns. Raises `UserError` where they have not."""
    tables = list(tables)
    types = {plain_form(table.type) for table in tables}
    for table in tables:
        first = table.columns[0]
        if table.key is None and not any(map(first.is_called, types)):
            table.key, table.type = first, singular(first.stem)
            types.add(plain_form(table.type))
            table.title = _title(table)
    known: dict[str, DatabaseTable] = {}
    for table in tables:
        other = known.setdefault(plain_form(table.type), table)
        if [c.name for c in other.columns] != [c.name for c in table.columns]:
            raise UserError(
                f"{other.path} and {table.path}: two tables of {table.type} with other columns; "
                "ids are of their table: rename one of the files"
            )
        table.type, table.ids, table.names = other.type, other.ids, other.names


class _Survey(CsvFile):
    """Calls `look` with the fields of each record."""

    def __init__(
        self, source: Source, table: DatabaseTable, look: Callable[[list[str]], None]
    ) -> None:
        filters = Filters()
        super().__init__(ReaderInput(source, filters, RejectList(), Relations(filters)))
        self.columns, self._look = table.header, look

    def record(self, number: int, fields: list[str], rows: IntakeRows) -> None:
        self._look([value.strip() for value in fields])

    def run(self) -> None:
        for _ in self.blocks():
            pass


def _read_keys(source: Source, table: DatabaseTable) -> None:
    def look(fields: list[str]) -> None:
        if table.key is not None and (key := whole(fields[table.key.place])):
            table.ids.add(key)
            if name := name_row(table, fields):
                table.names[name] = key if table.names.get(name, key) == key else ""

    _Survey(source, table, look).run()


def name_row(table: DatabaseTable, fields: Sequence[str]) -> str:
    """Return what a row is called, `""` where it has no name."""
    return " ".join(filter(None, (fields[place] for place in table.title)))


def _look_at_values(source: Source, table: DatabaseTable, tables: Sequence[DatabaseTable]) -> None:
    columns = [c for c in table.columns if c is not table.key and c.place not in table.title]

    def look(fields: list[str]) -> None:
        for column in columns:
            for value in split_cell(fields[column.place], source.form.split):
                column.look_at(value)
                for other in tables:
                    column.ids[other.type] = column.ids.get(other.type, 0) + (
                        whole(value) in other.ids
                    )
                    column.names[other.type] = column.names.get(other.type, 0) + bool(
                        other.names.get(value)
                    )

    _Survey(source, table, look).run()


def _find_links(source: Source, table: DatabaseTable, tables: Sequence[DatabaseTable]) -> None:
    """Find the tables whose rows only link rows of others: they have no entities of their own."""
    pointed = any(c.target and c.target.table.type == table.type for t in tables for c in t.columns)
    if table.key is not None and not table.title and len(table.links) > 1 and not pointed:
        table.columns = [column for column in table.columns if column is not table.key]
        table.key = None
    if table.key is None and table.links:
        first, seen = table.links[0].place, set[str]()

        def look(fields: list[str]) -> None:
            table.heads_differ = table.heads_differ and fields[first] not in seen
            seen.add(fields[first])

        _Survey(source, table, look).run()


def split_cell(cell: str, mark: str | None) -> list[str]:
    """Return the values in a cell, which `mark` separates, by default a semicolon."""
    parts = [cell] if mark == KEEP_WHOLE else cell.split(mark or SEPARATOR)
    return [value for part in parts if (value := part.strip())]


def whole(text: str) -> str:
    """`3` of `3.0`, as pandas writes ids in a column with gaps."""
    match = _WHOLE.fullmatch(text)
    return match[1] if match else text
