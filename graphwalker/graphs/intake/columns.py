"""Which columns of a CSV or TSV file hold facts: stated, clear from the header, or refused."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from graphwalker.errors import UserError
from graphwalker.graphs.literals import is_literal

TriplePlaces = tuple[int, int, int]
TABLE = "table"
KEEP_WHOLE = "none"
SPLIT_BLANKS, KEEP_BLANKS = "split", "keep"
FEW_ROWS = 10
SAMPLED = 1000
"""Rows that are looked at to tell facts from a table of entities."""

_CLEAR = (
    {"head", "subject", "from", "source", "start", "sujet", "subjekt", "sujeto", "субъект", "主语"},
    {"relation", "predicate", "relationship", "property", "prédicat", "prädikat", "predicado",
     "предикат", "谓语", "edgetype", "relationtype", "relationshiptype"},
    {"tail", "object", "to", "target", "end", "objet", "objekt", "objeto", "объект", "宾语"},
)  # fmt: skip
_LIKELY = (
    _CLEAR[0] | {"s", "h", "subj", "src"},
    _CLEAR[1] | {"p", "r", "rel", "pred", "type", "label", "edge", "link", "verb"},
    _CLEAR[2] | {"t", "o", "obj", "dst", "dest", "destination"},
)
_OF_BOTH = {"type", "label"}
_OF_ENTITIES = {"name", "title"}
"""What the first column is called in a table of entities alone."""
_SUFFIX = re.compile(r"(?<=\w)[\W_]*(id|name|entity|node)$")
_SEVERAL = re.compile(r"[^\s|;]\s?[|;]\s?[^\s|;]")
ID = re.compile(
    r"[a-z][a-z0-9+.-]*://\S+|[\w-]+(?:\.[\w-]+)+/\S+|/[mg]/\w+|[mg]\.[0-9a-z_]+"
    r"|[A-Za-z]+[_:.-]?\d+|[A-Za-z]\w*:[^\s:]+"
)
_CODE = re.compile(r"[A-Z]\d+")
_HTML = re.compile(r"&#?\w+;")
_WORDS = re.compile(r"[^\W\d][\w ()-]*")
_RELATION = re.compile(r"[a-zà-ÿ]|[A-Z]\d*$|[A-Z]+_[A-Z_\d]+$")
_IDENTIFIER = re.compile(
    r"[a-z]+[A-Z_.:]|[A-Z]\d*$|[A-Z]+_[A-Z_\d]+$|(is|has|was|part|born|of|in) "
)


@dataclass(frozen=True, slots=True)
class TableForm:
    """What the user says of tables of triples."""

    columns: tuple[str, ...] = ()
    """Head, relation and tail by name or by number from 1; `("table",)` for rows of entities."""
    header: bool | None = None
    """Whether the first row is a header; `None`: where `columns` are names."""
    split: str | None = None
    """What stands between several values in one field; `none` keeps such a field whole."""
    refers: tuple[str, ...] = ()
    """Which columns point into which table, as `project.leader_id=employee`; `=none` for none."""

    @classmethod
    def read(
        cls, columns: str, header: bool | None, split: str | None, refers: Sequence[str] = ()
    ) -> "TableForm":
        """Return the form of these options. Raises `UserError`."""
        named = tuple(name.strip() for name in columns.split(",")) if columns else ()
        if named and named != (TABLE,) and (len(named) != 3 or len(set(named)) < 3):
            raise UserError(
                f"--columns {columns}: name head, relation and tail, as h,r,t or 1,2,3, or `table`"
            )
        return cls(named, header, split or None, tuple(refers))

    @property
    def has_header(self) -> bool:
        """Whether the first row is one, where columns are given."""
        by_name = not all(name.isdigit() for name in self.columns)
        return by_name if self.header is None else self.header

    def places(self, path: Path, first: Sequence[str]) -> TriplePlaces:
        """Return the places of head, relation and tail in a row. Raises `UserError`."""
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
        """Return the values in a field, which `mark` separates where the user names no other.
        Raises `UserError` for a field that seems to hold several."""
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


def is_id(text: str) -> bool:
    """Return whether a text has the form of an id: an address, a MID, letters and a number.

    >>> is_id("www.freebase.com/m/0abc"), is_id("Q42"), is_id("wd:Q42"), is_id("New")
    (True, True, True, False)
    """
    return ID.fullmatch(text) is not None


def holds_ids(text: str) -> bool:
    """Return whether a field is several ids with blanks between them."""
    return " " in text and len(words := text.split()) > 1 and all(map(is_id, words))


def blank_rule(pairs: Iterable[tuple[str, str]]) -> str:
    """Return what becomes of tails that hold several ids with blanks between them, by the heads and
    tails of the first facts: `SPLIT_BLANKS` where all heads, and all words of tails with blanks,
    have the form of an id; `KEEP_BLANKS` where some tails look so; else `""`.

    >>> blank_rule([("Q1", "Q2 Q3"), ("Q2", "Q4")]), blank_rule([("Ana", "Q2 Q3")])
    ('split', 'keep')
    >>> blank_rule([("Q1", "New York")])
    ''
    """
    listed = [(head, tail) for head, tail in pairs if not is_literal(tail)]
    several = [holds_ids(tail) for _, tail in listed if " " in tail.strip()]
    if all(several) and all(is_id(head) for head, _ in listed):
        return SPLIT_BLANKS
    return KEEP_BLANKS if any(several) else ""


def role_places(header: Sequence[str]) -> TriplePlaces | None:
    """Return the places of head, relation and tail by their names, `None` where these do not tell.

    >>> role_places(["rel", "dst", "src"]), role_places(["node2", "label", "node1"])
    ((2, 0, 1), (2, 1, 0))
    >>> role_places(["a.name", "type(r)", "b.name"]), role_places(["person", "label", "town"])
    ((0, 1, 2), None)
    """
    if all(map(_CODE.fullmatch, header)):  # Q1, P19, Q2 is a fact
        return None
    stems = [_stem(column) for column in header]
    found = [[at for at, stem in enumerate(stems) if stem in known] for known in _LIKELY]
    if all(len(places) == 1 for places in found):
        return found[0][0], found[1][0], found[2][0]
    if len(header) != 3 or len(found[1]) != 1:
        return None
    one, other = sorted({0, 1, 2} - set(found[1]), key=lambda at: header[at])
    alike = stems[one] and stems[one] == stems[other] and header[one] != header[other]
    return (one, found[1][0], other) if alike else None


def clear_places(header: Sequence[str]) -> TriplePlaces | None:
    """Return the places of columns whose names mean head, relation and tail and nothing else."""
    places = role_places(header)
    stems = [_stem(header[at]) for at in places or ()]
    clear = all(stem in known for stem, known in zip(stems, _CLEAR, strict=False))
    return places if clear else None


def _named_places(header: Sequence[str], rows: Sequence[Sequence[str]]) -> TriplePlaces | None:
    """Return the places that the header names, where its words are clear, or the rows agree."""
    places = role_places(header)
    if places is None or clear_places(header):
        return places
    if not set(header).isdisjoint(value for row in rows for value in row if value):
        return None
    stems = [_stem(header[at]) for at in places]
    if stems[1] in _CLEAR[1] and stems[0] == stems[2]:
        return places
    # `start`, `end` and `type` are columns of a table of events, too.
    unsure = len(header) > 3 and stems[1] in _OF_BOTH
    agree = _relation_column([[row[at] for at in places] for row in rows]) == 1
    return places if agree and not unsure else None


def names_ends(header: Sequence[str]) -> bool:
    """True for a header that names two of head, relation and tail, or all."""
    stems = {_stem(column) for column in header}
    named = sum(not stems.isdisjoint(known) for known in _LIKELY)
    return named > 1 or role_places(header) is not None


def find_facts(
    path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[TriplePlaces, bool] | None:
    """Return where the facts of a table stand, one a row, and whether its first row is a header;
    `None` for a table of entities.

    Names alone do not decide, nor do the rows alone: where they tell different things it raises
    `UserError`, which asks.
    """
    rows = [row for row in rows[:SAMPLED] if len(row) == len(header)]
    if places := _named_places(header, rows):
        return places, True
    if len(header) == 3 and _relation_column(rows) in (None, 1) and _is_fact(header, rows):
        return (0, 1, 2), False
    # A header with an empty name is refused by the reader, which says so.
    if all(header) and len(header) > 2 and (names_ends(header) or _may_be_facts(header, rows)):
        raise UserError(unclear(path, header))
    return None


def find_columns(
    path: Path, first: Sequence[str], rows: Sequence[Sequence[str]]
) -> TriplePlaces | None:
    """Return the columns that the first row of a TSV file names; `None` for a file of facts alone.

    Raises `UserError` for rows that seem to be no head, relation, tail in that order, or to stand
    behind a header.
    """
    rows = [row for row in rows[:SAMPLED] if len(row) == len(first)]
    if (places := _named_places(first, rows)) or len(first) != 3:
        return places
    relation_at, heads = _relation_column(rows), {row[0] for row in rows}
    # A file sorted by head may have fewer tails than relations, but no relation is an entity.
    middles, others = {row[1] for row in rows}, {row[2 - (relation_at or 0)] for row in rows}
    in_other_order = relation_at in (0, 2) and not middles.isdisjoint(others)
    are_entities = FEW_ROWS <= len(rows) == len(heads) and 2 * len(middles) > len(rows)
    if in_other_order or are_entities or names_ends(first) or _is_header(first, rows):
        raise UserError(unclear(path, first))
    return None


def unclear(path: Path, header: Sequence[str]) -> str:
    """Return what is said of a table whose columns can be read in two ways."""
    places = role_places(header) or (0, 1, 2)
    example = ",".join(header[at] for at in places)
    if len(header) != 3 and not role_places(header):
        example = "HEAD,RELATION,TAIL"
    shown = ",".join(header)
    shown = shown if len(shown) <= 80 else f"{shown[:80]}..."
    return (
        f"{path}:1: {shown}: a fact a row, or an entity a row? Add --columns "
        f"{example} (head, relation, tail) where this row is a header, --columns 1,2,3 where it is "
        "a fact, --columns table for entities"
    )


TABLES = TableForm()


def _stem(column: str) -> str:
    """`source` of `source_id`, `node` of `node1`, `name` of `a.name`, `type` of `type(r)`."""
    name = column.strip().strip("_:").lower()
    name = re.sub(r"^\w+\.(?=\w+$)|\(.*\)$|[\W_]*\d+$|[\W_]+[ab]$", "", name)
    return re.sub(r"[\W_]", "", _SUFFIX.sub("", name))


def _relation_column(rows: Sequence[Sequence[str]]) -> int | None:
    """Find the column of relations: it alone has at most half as many values as there are rows."""
    counts = [len({row[place] for row in rows}) for place in range(3)]
    least = min(counts)
    if 2 * least > len(rows) or (counts[1] != least and counts[0] == counts[2]):
        return None
    return 1 if counts[1] == least else counts.index(least)


def _is_fact(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row is a fact: no header has a relation and entity of others."""
    heads, middles, tails = ({row[place] for row in rows} for place in range(3))
    ends = heads | tails
    known = header[1] in middles and not ends.isdisjoint({header[0], header[2]})
    return known and middles.isdisjoint(ends)


def _is_header(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row of three words has nothing of the others, which have much in
    common, or are written in another way."""
    known = [value for row in rows for value in row]
    if set(first) == {"0", "1", "2"} and not all(row[1].isdigit() for row in rows):
        return True  # as pandas calls columns without a name
    if not all(map(_WORDS.fullmatch, first)) or not set(known).isdisjoint(first):
        return False
    unlike = any(_shape(first[k]) not in {_shape(row[k]) for row in rows} for k in (0, 2))
    return bool(rows) and (unlike or len(set(known)) < len(known))


def _may_be_facts(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether rows under an unknown header may be facts: one column may hold relations, or
    the first row may be no header."""
    columns = list(zip(*rows, strict=True))
    known = {value for column in columns for value in column if value}
    if not known.isdisjoint(header) or any("://" in name for name in header):
        return True
    if len(header) == 3 and rows:
        # Head and tail share a value when a fact leads to another.
        values = [set(column) - {""} for column in columns]
        linked = any(not values[k].isdisjoint(values[k - 1]) for k in range(3))
        repeats = _relation_column(rows) is not None and len(values[0]) < len(rows)
        alike = all({_shape(value) for value in columns[k]} == {_shape(header[k])} for k in (0, 2))
        if linked or repeats or alike:
            return True
    named = header[0].strip().lower() in _OF_ENTITIES
    return not named and any(_may_be_relations(column, len(header)) for column in columns)


def _may_be_relations(column: Sequence[str], width: int) -> bool:
    """Return whether values may be relations: some come again, none is missing, and they are
    written as identifiers, or in a table of three columns in lower case, or few of them."""
    different = len(set(column))
    if not all(column) or (len(column) >= FEW_ROWS and different == len(column)):
        return False
    if width > 3:  # mostly tables of entities, with kinds in lower case
        return all(map(_IDENTIFIER.match, column))
    if all(map(_RELATION.match, column)):
        return True
    return len(column) >= FEW_ROWS and 2 * different <= len(column)


def _shape(text: str) -> str:
    """`Aa 9` of `Entity 12`."""
    return re.sub(r"\d+", "9", re.sub("[A-Z]+", "A", re.sub("[a-z]+", "a", text)))
