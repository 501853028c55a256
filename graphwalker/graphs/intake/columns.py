"""Which columns of a CSV or TSV file hold facts: stated, clear from the header, or refused."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from graphwalker.errors import UserError
from graphwalker.graphs.literals import is_literal

TriplePlaces = tuple[int, int, int]
TABLE = "table"
KEEP_WHOLE = "none"
FEW_ROWS = 10
SAMPLED = 1000
"""Rows that are looked at to tell facts from a table of entities."""

_CLEAR = (
    {"head", "subject", "from", "source", "start"},
    {"relation", "predicate", "relationship", "property"},
    {"tail", "object", "to", "target", "end"},
)
_LIKELY = (
    _CLEAR[0] | {"s", "h", "subj", "src"},
    _CLEAR[1] | {"p", "r", "rel", "pred", "type", "label", "edge", "link", "verb", "relationtype"},
    _CLEAR[2] | {"t", "o", "obj", "dst", "dest", "destination"},
)
_SUFFIX = re.compile(r"(?<=\w)[\W_]*(id|name|entity|node)$")
_SEVERAL = re.compile(r"[^\s|;]\s?[|;]\s?[^\s|;]")
_HTML = re.compile(r"&#?\w+;")


@dataclass(frozen=True, slots=True)
class TableForm:
    """What the user says of tables of triples."""

    columns: tuple[str, ...] = ()
    """Head, relation and tail by name or by number from 1; `("table",)` for rows of entities."""
    header: bool | None = None
    """Whether the first row is a header; `None`: where `columns` are names."""
    split: str | None = None
    """What stands between several values in one field; `none` keeps such a field whole."""

    @classmethod
    def read(cls, columns: str, header: bool | None, split: str | None) -> "TableForm":
        """The form of these options. Raises `UserError`."""
        named = tuple(name.strip() for name in columns.split(",")) if columns else ()
        if named and named != (TABLE,) and (len(named) != 3 or len(set(named)) < 3):
            raise UserError(
                f"--columns {columns}: name head, relation and tail, as h,r,t or 1,2,3, or `table`"
            )
        return cls(named, header, split or None)

    @property
    def has_header(self) -> bool:
        """Whether the first row is one, where columns are given."""
        by_name = not all(name.isdigit() for name in self.columns)
        return by_name if self.header is None else self.header

    def places(self, path: Path, first: Sequence[str]) -> TriplePlaces:
        """The places of head, relation and tail in a row. Raises `UserError`."""
        found: list[int] = []
        for name in self.columns:
            if name in first:
                found.append(first.index(name))
            elif name.isdigit() and 0 < int(name) <= len(first):
                found.append(int(name) - 1)
            else:
                raise UserError(f"{path}:1: no column {name}; there are {', '.join(first)}")
        return found[0], found[1], found[2]

    def values(self, text: str, mark: str = "") -> list[str]:
        """The values in a field, which `mark` separates where the user names no other. Raises
        `UserError` for a field that seems to hold several."""
        mark = self.split or mark
        if is_literal(text) or mark == KEEP_WHOLE:
            return [text]
        found = [value for part in text.split(mark) if (value := part.strip())] if mark else [text]
        if not self.split and any(map(holds_several, found)):
            raise UserError(
                f"several values in one field ({text[:60]})? --split '|' or ';' divides it, "
                f"--split {KEEP_WHOLE} keeps it whole"
            )
        return found


def holds_several(text: str) -> bool:
    """True for a field with a bar or a semicolon between texts, which is no address.

    >>> holds_several("Ana|Ben"), holds_several("AT&amp;T"), holds_several("http://x.org/a;b")
    (True, False, False)
    """
    if "|" not in text and ";" not in text:
        return False
    return "://" not in text and _SEVERAL.search(_HTML.sub("&", text)) is not None


def is_clear(header: Sequence[str]) -> bool:
    """True for three columns that are called head, relation and tail, or by a usual other name."""
    return len(header) == 3 and all(
        column.strip().lower() in known for column, known in zip(header, _CLEAR, strict=True)
    )


def names_facts(header: Sequence[str]) -> bool:
    """True for a header that seems to name head, relation and tail, in any order.

    >>> names_facts(["s", "p", "o"]), names_facts(["node1", "label", "node2"])
    (True, True)
    >>> names_facts(["a.name", "type(r)", "b.name"]), names_facts(["person", "label", "town"])
    (True, False)
    """
    stems = [_stem(column) for column in header]
    if all(any(stem in known for stem in stems) for known in _LIKELY):
        return True
    alike = len(header) == 3 and stems[0] == stems[2] and header[0] != header[2]
    return alike and stems[1] in _LIKELY[1]


def role_places(header: Sequence[str]) -> TriplePlaces | None:
    """The places of head, relation and tail by their names, `None` where these do not tell.

    >>> role_places(["rel", "dst", "src"]), role_places(["node1", "label", "node2"])
    ((2, 0, 1), (0, 1, 2))
    """
    stems = [_stem(column) for column in header]
    found = [[at for at, stem in enumerate(stems) if stem in known] for known in _LIKELY]
    if all(len(places) == 1 for places in found):
        (head,), (relation,), (tail,) = found
        return head, relation, tail
    return (0, 1, 2) if len(header) == 3 and names_facts(header) and not all(found) else None


def names_ends(header: Sequence[str]) -> bool:
    """True for a header that names two of head, relation and tail, or all."""
    stems = {_stem(column) for column in header}
    return names_facts(header) or sum(not stems.isdisjoint(known) for known in _LIKELY) > 1


def find_facts(
    path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[TriplePlaces, bool] | None:
    """Where the facts of a table stand, one a row, and whether its first row is a header; `None`
    for a table of entities.

    Names alone do not decide, nor do the rows alone: where they tell different things it raises
    `UserError`, which asks.
    """
    if is_clear(header):
        return (0, 1, 2), True
    rows = [row for row in rows[:SAMPLED] if len(row) == len(header)]
    places = role_places(header)
    if len(header) != 3:
        if places:
            raise UserError(unclear(path, header))
        return None
    relation_at = _relation_column(rows)
    if places and relation_at == places[1]:
        return places, True
    if relation_at in (None, 1) and _is_fact(header, rows):
        return (0, 1, 2), False
    repeats = relation_at is not None and len({row[0] for row in rows}) < len(rows)
    if repeats or _are_linked(rows) or names_ends(header) or _is_alike(header, rows):
        raise UserError(unclear(path, header))
    return None


def check_order(path: Path, first: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Raise `UserError` for rows of TSV that seem to be no head, relation, tail in that order, or
    to stand behind a header."""
    rows = [row for row in rows[:SAMPLED] if len(row) == 3]
    relation_at, heads = _relation_column(rows), {row[0] for row in rows}
    # A file sorted by head may have fewer tails than relations, but no relation is an entity.
    middles, others = {row[1] for row in rows}, {row[2 - (relation_at or 0)] for row in rows}
    in_other_order = relation_at in (0, 2) and not middles.isdisjoint(others)
    ends = heads | {row[2] for row in rows}
    is_header = (
        relation_at == 1
        and len(rows) >= FEW_ROWS
        and first[1] not in middles
        and not ends & {first[0], first[2]}
        and all(_shape(first[k]) not in {_shape(row[k]) for row in rows} for k in (0, 2))
    )
    if in_other_order or is_header or names_ends(first):
        raise UserError(unclear(path, first))


def unclear(path: Path, header: Sequence[str]) -> str:
    """What is said of a table whose columns can be read in two ways."""
    shown = ",".join(header)[:80]
    example = shown if len(header) == 3 else "HEAD,RELATION,TAIL"
    return (
        f"{path}:1: {shown}: a fact a row, or an entity a row? Add --columns {example} where this "
        "row is a header, --columns 1,2,3 where it is a fact, --columns table for entities"
    )


TABLES = TableForm()


def _stem(column: str) -> str:
    """`source` of `source_id`, `node` of `node1`, `name` of `a.name`, `type` of `type(r)`."""
    name = column.strip().strip("_:").lower()
    name = re.sub(r"^\w+\.(?=\w+$)|\(.*\)$|[\W_]*\d+$|[\W_]+[ab]$", "", name)
    return re.sub(r"[\W_]", "", _SUFFIX.sub("", name))


def _relation_column(rows: Sequence[Sequence[str]]) -> int | None:
    """The column of relations: it alone has few values, half as many as there are rows, or less."""
    counts = [len({row[place] for row in rows}) for place in range(3)]
    least = min(counts)
    if 2 * least > len(rows) or (counts[1] != least and counts[0] == counts[2]):
        return None
    return 1 if counts[1] == least else counts.index(least)


def _is_fact(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row is a fact: no header has the relation and an entity of other rows."""
    heads, middles, tails = ({row[place] for row in rows} for place in range(3))
    ends = heads | tails
    known = header[1] in middles and not ends.isdisjoint({header[0], header[2]})
    return known and middles.isdisjoint(ends)


def _are_linked(rows: Sequence[Sequence[str]]) -> bool:
    """Whether two columns share a value, as head and tail do when a fact leads to another."""
    values = [{row[place] for row in rows if row[place]} for place in range(3)]
    return any(not values[k].isdisjoint(values[k - 1]) for k in range(3))


def _is_alike(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row is written as the others are, or holds one of their values."""
    known = {value for row in rows for value in row}
    alike = all({_shape(row[k]) for row in rows} == {_shape(header[k])} for k in (0, 2))
    return bool(rows) and (alike or not known.isdisjoint(header))


def _shape(text: str) -> str:
    """`Aa 9` of `Entity 12`."""
    return re.sub(r"\d+", "9", re.sub("[A-Z]+", "A", re.sub("[a-z]+", "a", text)))
