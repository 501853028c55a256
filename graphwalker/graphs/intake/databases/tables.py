"""A table of a database and its columns, and how their names are compared."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

_POINTERS = re.compile(r"[\W_]+(?i:id|key|fk|ref|uuid|no|nr|code)$|(?<=[a-z])I[Dd]$")
_PLURALS = ("", "s", "es", "n", "en", "e", "er")
KINDS = {
    "integer": re.compile(r"0|-?[1-9]\d*"),
    "decimal": re.compile(r"-?(0|[1-9]\d*)(\.\d+)?"),
    "boolean": re.compile(r"true|false"),
    "date": re.compile(r"\d{4}-\d\d-\d\d"),
    "": re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*"),
}
"""What all values of a column may be, by the type of literal; `""` for a plain one."""


class Target(NamedTuple):
    """Where a column points: a table, and whether its values are names there, not ids."""

    table: "DatabaseTable"
    by_name: bool


@dataclass(slots=True)
class DatabaseColumn:
    """A column, and what its values were found to be."""

    place: int
    name: str
    values: int = 0
    kinds: list[str] = field(default_factory=lambda: list(KINDS))
    """The types of literals that all values have."""
    ids: dict[str, int] = field(default_factory=dict[str, int])
    """How many values are ids of a table, by its type."""
    names: dict[str, int] = field(default_factory=dict[str, int])
    target: Target | None = None

    @property
    def stem(self) -> str:
        """`department` of `department_id`."""
        return _POINTERS.sub("", self.name) or self.name

    @property
    def points(self) -> bool:
        """Whether the name says that it points somewhere."""
        return self.stem != self.name

    def name_of(self, kind: str) -> bool:
        """Return whether the name is that of a key of such a table: `employee_id`, `employeeid`."""
        keyed = self.points or self.name.lower().endswith("id")
        return keyed and self.is_called(kind)

    def is_called(self, kind: str) -> bool:
        """Return whether it is called after a table: `department_id`, `department`, `Abteilung`."""
        names = (
            plain_form(self.stem),
            plain_form(self.name).removesuffix("id"),
            plain_form(self.name),
        )
        return any(plain_form(kind) in (name + end, name) for name in names for end in _PLURALS)


@dataclass(slots=True, eq=False)
class DatabaseTable:
    """A table of a database: what its rows are called, and what is in its columns."""

    path: Path
    type: str
    header: list[str]
    columns: list[DatabaseColumn]
    key: DatabaseColumn | None = None
    title: tuple[int, ...] = ()
    """The places of what names a row."""
    ids: set[str] = field(default_factory=set[str])
    names: dict[str, str] = field(default_factory=dict[str, str])
    """Ids by name; `""` for a name of several rows."""
    heads_differ: bool = True
    """Whether no two rows have the same value in the first column that points into a table."""

    @property
    def has_numbers(self) -> bool:
        return all(one.isdigit() for one in self.ids)

    @property
    def links(self) -> list[DatabaseColumn]:
        return [column for column in self.columns if column.target]

    def node(self, key: str) -> str:
        return f"{self.type}/{key}"

    def describe(self) -> str:
        """Return how the table is read, in one line."""
        title = " ".join(self.header[place] for place in self.title)
        rows = f"a row is of type {self.type}" + (f", called by its {title}" if title else "")
        found = [
            f"{column.name} -> {column.target.table.type}{' (names)' * column.target.by_name}"
            for column in self.columns
            if column.target
        ]
        return "; ".join([f"{self.path}: {rows if self.key else 'a row links others'}", *found])


def plain_form(name: str) -> str:
    """Return the form in which names of tables, columns and types are compared."""
    return re.sub(r"[\W_]", "", singular(name).lower())


def singular(name: str) -> str:
    """Return `company` of `companies`, `employee` of `employees`."""
    if name.lower().endswith("ies") and len(name) > 4:
        return f"{name[:-3]}y"
    if name.lower().endswith(("sses", "xes", "ches", "shes")):
        return name[:-2]
    return name if re.search(r"(?i)(ss|us|is)$|^.{,2}$", name) else re.sub(r"(?i)s$", "", name)
