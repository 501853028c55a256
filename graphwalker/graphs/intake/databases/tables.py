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
    "boolean": re.compile(r"(?i:true|false)"),
    "date": re.compile(r"\d{4}-\d\d-\d\d"),
    "": re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*"),
}
"""What all values of a column may be, by the type of literal; `""` for a plain one."""
LOOKED_AT, MOST = 1000, 0.7
"""Values of a column whose types are counted, and the share of them that tells what it holds."""


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
    fits: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    """How many of the first values have each type."""
    odd: str = ""
    """The first value that has none of them."""
    ids: dict[str, int] = field(default_factory=dict[str, int])
    """How many values are ids of a table, by its type."""
    names: dict[str, int] = field(default_factory=dict[str, int])
    target: Target | None = None

    def look_at(self, value: str) -> None:
        """Note the types of literals that a value has."""
        self.values += 1
        self.kinds = [kind for kind in self.kinds if KINDS[kind].fullmatch(value)]
        if self.values <= LOOKED_AT:
            found = [kind for kind, form in KINDS.items() if form.fullmatch(value)]
            self.fits |= {kind: self.fits[kind] + 1 for kind in found}
            self.odd = self.odd or ("" if found else value)

    def describe_mixed(self) -> str:
        """Return what is said of a column with a few values that have not the type of the others,
        for which all are entities; `""` for another column."""
        count = min(self.values, LOOKED_AT)
        kind, most = max(self.fits.items(), key=lambda item: item[1])
        if self.kinds or self.target or not self.odd or most < MOST * count:
            return ""
        return (
            f"{most} of {count} values are of the type {kind or 'time'}, {self.odd[:40]!r} is not: "
            "all are entities; empty cells in place of such values make them literals"
        )

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
        mixed = [f"{c.name}: {text}" for c in self.columns if (text := c.describe_mixed())]
        what = f"{self.path}: {rows if self.key else 'a row links others'}"
        return "; ".join([what, *found, *mixed])


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
