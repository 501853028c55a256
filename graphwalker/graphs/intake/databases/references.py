"""Where columns of a database point: the user says it, the values show it, or it is asked."""

import re
from collections.abc import Iterable, Sequence

from graphwalker.errors import UserError
from graphwalker.graphs.intake.databases.tables import (
    DatabaseColumn,
    DatabaseTable,
    Target,
    plain_form,
)
from graphwalker.graphs.intake.rows import Source

_MOST, _SOME = 0.8, 0.5
"""Shares of a column's values that are rows of a table: of one that points there by another name,
and by its name."""


def stated_targets(
    sources: Sequence[Source], tables: Sequence[DatabaseTable]
) -> dict[tuple[str, str], str]:
    """Return what the user says of columns: the type of the table that one points into, or `""`, by
    the type of its own table and its name. Raises `UserError`."""
    known = {plain_form(table.type): table for table in tables}
    found: dict[tuple[str, str], str] = {}
    for text in dict.fromkeys(text for source in sources for text in source.form.refers):
        match = re.fullmatch(r"([^=]+)\.([^.=]+)=([^=]+)", text)
        own = known.get(plain_form(match[1])) if match else None
        other = known.get(plain_form(match[3])) if match else None
        if match is None or own is None or (other is None and match[3] != "none"):
            raise UserError(
                f"--refers {text}: give TABLE.COLUMN=TABLE, or =none; the tables are "
                f"{', '.join(table.type for table in tables) or 'none'}"
            )
        if match[2] not in (names := [column.name for column in own.columns]):
            raise UserError(f"--refers {text}: {own.type} has the columns {', '.join(names)}")
        found[own.type, match[2]] = other.type if other else ""
    return found


def find_targets(
    tables: Iterable[DatabaseTable],
    listed: Sequence[DatabaseTable],
    stated: dict[tuple[str, str], str],
) -> list[str]:
    """Find where columns point, and return a question for each of which it is not sure."""
    unsure: dict[str, None] = {}
    by_type = {table.type: table for table in listed}
    for table in tables:
        for column in table.columns:
            if column is table.key or column.place in table.title or not column.values:
                continue
            stated_type = stated.get((table.type, column.name))
            found = [by_type[stated_type]] if stated_type else []
            if stated_type is None:
                found, is_sure = _candidates(column, listed)
                if found and not is_sure:
                    unsure[_question(table, column, found)] = None
            if found:
                one = found[0]
                by_name = column.names[one.type] > column.ids[one.type]
                column.target = Target(one, by_name)
    return list(unsure)


def _candidates(
    column: DatabaseColumn, tables: Sequence[DatabaseTable]
) -> tuple[list[DatabaseTable], bool]:
    """Return the tables that a column may point into, likeliest first, and whether it is first."""

    def rows(table: DatabaseTable) -> int:
        return max(column.ids[table.type], column.names[table.type])

    def share(table: DatabaseTable) -> float:
        return rows(table) / column.values

    # The table of that name goes before; among those left, the one that says most.
    tables = [table for table in tables if table.ids]
    named = [table for table in tables if column.is_called(table.type)]
    if named:
        return named, share(named[0]) >= _SOME
    fit = [t for t in tables if share(t) >= (_MOST if column.points else 1)]
    fit.sort(key=lambda t: (-rows(t), -len(t.ids)))
    are_numbers = not set(column.kinds).isdisjoint({"integer", "decimal"})
    if are_numbers and not column.points:
        return [], True
    return fit, len(fit) == 1 and not are_numbers


def _question(table: DatabaseTable, column: DatabaseColumn, found: Sequence[DatabaseTable]) -> str:
    fits = " and ".join(
        f"{max(column.ids[one.type], column.names[one.type])} of its {column.values} values are "
        f"rows of {one.type}"
        for one in found
    )
    options = ", ".join(f"--refers {table.type}.{column.name}={one.type}" for one in found)
    return (
        f"{table.path}: where does {column.name} point? {fits}. Add {options}, or "
        f"--refers {table.type}.{column.name}=none for a plain value"
    )
