"""Answers of an endpoint: whole SPARQL results, or the reason why they cannot be believed."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, cast

from graphwalker.graphs.base import Entity
from graphwalker.graphs.literals import is_literal, literal_name
from graphwalker.graphs.names import names_nothing
from graphwalker.graphs.sparql.request import LOGIN, USER_AGENT
from graphwalker.graphs.sparql.terms import Binding, Vocabulary, name_rank
from graphwalker.http import PASSING, HttpReply

ResultRow = dict[str, Binding]
"""The values of one solution by variable; an unbound variable is absent."""


_TYPES = ("uri", "literal", "typed-literal", "bnode")
_DIGITS = 18


class Fault(Exception):
    """An answer that is none: `again` says whether asking again may help, `wait_s` for how long
    the endpoint asks to be left alone."""

    def __init__(self, reason: str, again: bool, wait_s: float = 0.0) -> None:
        super().__init__(reason)
        self.reason, self.again, self.wait_s = reason, again, wait_s


def read_rows(response: HttpReply) -> list[ResultRow]:
    """Return the solutions of a SELECT. Raises `Fault` for errors and cut-off answers."""
    _check_status(response)
    _check_whole(response)
    try:
        rows = response.json()["results"]["bindings"]
    except (ValueError, KeyError, TypeError):
        raise Fault(f"not SPARQL results in JSON: {_first_line(response)}", again=True) from None
    if not _are_rows(rows):
        raise Fault(f"its results are no rows of values: {_first_line(response)}", again=True)
    _check_count(response, len(cast(list[Any], rows)))
    return cast(list[ResultRow], rows)


def count_in(row: ResultRow, variable: str) -> int:
    """Return a number that an endpoint counted. Raises `Fault` for what is none.

    >>> count_in({"n": {"type": "typed-literal", "value": "12"}}, "n")
    12
    """
    value = row[variable]["value"] if variable in row else ""
    if (number := _number(value)) is None:
        raise Fault(f"its count ?{variable} is {value[:40]!r}", again=True)
    return number


@lru_cache(maxsize=4096)
def _number(value: str) -> int | None:
    is_one = value.isascii() and value.isdigit() and len(value) <= _DIGITS
    return int(value) if is_one else None


def _are_rows(rows: Any) -> bool:
    """Return whether an answer is rows of values. Every answer passes here: one loop, no calls."""
    if not isinstance(rows, list):
        return False
    for row in cast(list[Any], rows):
        if not isinstance(row, dict):
            return False
        value: Any
        for value in cast(dict[str, Any], row).values():
            if type(value) is not dict or value.get("type") not in _TYPES:  # pyright: ignore[reportUnknownMemberType]
                return False
            fields = cast(dict[str, Any], value)
            if type(fields.get("value")) is not str:
                return False
            if len(fields) > 2 and not all(type(field) is str for field in fields.values()):
                return False
    return True


def _check_status(response: HttpReply) -> None:
    status = response.status
    if status == 200:
        return
    if 300 <= status < 400:
        where = response.headers.get("location", "another address")
        raise Fault(f"HTTP {status}: moved to {where}", again=False)
    why = f"HTTP {status}: {_first_line(response)}"
    if status == 401:
        why += f"; {LOGIN}"
    if status == 403:
        why += f"; a public endpoint may want a name and an address in {USER_AGENT}"
    raise Fault(why, status in PASSING, response.retry_after_s)


def _check_whole(response: HttpReply) -> None:
    """Virtuoso gives up with HTTP 200 and what it has found so far; a header tells."""
    if state := response.headers.get("x-sql-state"):
        why = response.headers.get("x-sql-message", "").strip()
        raise Fault(f"incomplete answer, state {state}: {why}"[:300], again=True)


def _check_count(response: HttpReply, rows: int) -> None:
    limit = response.headers.get("x-sparql-maxrows", "")
    if limit.isdigit() and rows >= int(limit):
        raise Fault(
            f"incomplete answer, cut at {limit} rows; raise ResultSetMaxRows in its virtuoso.ini",
            again=False,
        )


def _first_line(response: HttpReply) -> str:
    lines = response.body[:2000].decode(errors="replace").split("\n")
    return next((line.strip() for line in lines if line.strip()), "(empty)")[:200]


class RowReader:
    """Reads rows in one vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    def id(self, row: ResultRow, variable: str) -> str:
        """Return the id of the value, `""` where it is unbound."""
        return self._vocabulary.node_id(row[variable]) if variable in row else ""

    def counts(self, rows: Iterable[ResultRow]) -> dict[str, int]:
        """Relations with their counts, names and types included."""
        return {self.id(row, "r"): count_in(row, "n") for row in rows}

    def relations(self, rows: Iterable[ResultRow]) -> list[tuple[str, int]]:
        """Relations by id, each with its count."""
        counts = self.counts(rows)
        return sorted((r, n) for r, n in counts.items() if n and not self._vocabulary.hides(r))

    def entities(self, rows: Iterable[ResultRow], variable: str = "x") -> list[Entity]:
        """Return the entities of a variable under their names, each once, in id order."""
        names: dict[str, list[Binding]] = {}
        for row in rows:
            found = names.setdefault(self.id(row, variable), [])
            if "xn" in row:
                found.append(row["xn"])
        return [Entity(i, display_name(i, names[i])) for i in sorted(names)]

    def by(self, rows: Iterable[ResultRow], variable: str) -> dict[str, list[ResultRow]]:
        """Rows by the id of a variable."""
        groups: dict[str, list[ResultRow]] = {}
        for row in rows:
            groups.setdefault(self.id(row, variable), []).append(row)
        return groups


def display_name(entity_id: str, names: Iterable[Binding]) -> str:
    """Return what an entity is shown as: a literal as its value, others by their best name."""
    if is_literal(entity_id):
        return literal_name(entity_id)
    texts = [name for name in names if name["value"] and _is_name(name)]
    return min(texts, key=name_rank)["value"] if texts else ""


def is_nameless(entity: Entity) -> bool:
    """True for what may be a CVT node."""
    return names_nothing(entity.name) and not is_literal(entity.id)


def _is_name(name: Binding) -> bool:
    return name["type"] in ("literal", "typed-literal") and (
        name.get("datatype", "").rpartition("#")[2] in ("", "string", "langString")
    )
