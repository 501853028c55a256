"""Answers of an endpoint: whole SPARQL results, or the reason why they cannot be believed."""

import json
from functools import lru_cache
from typing import Any, cast

from graphwalker.graphs.sparql.connections import Response
from graphwalker.graphs.sparql.terms import Binding

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


def read_rows(response: Response) -> list[ResultRow]:
    """The solutions of a SELECT. Raises `Fault` for errors, and for answers that are not whole."""
    _check_status(response)
    _check_whole(response)
    try:
        answer: Any = json.loads(response.body)
        rows = answer["results"]["bindings"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Fault(f"not SPARQL results in JSON: {_first_line(response)}", again=True) from None
    if not _are_rows(rows):
        raise Fault(f"its results are no rows of values: {_first_line(response)}", again=True)
    _check_count(response, len(cast(list[Any], rows)))
    return cast(list[ResultRow], rows)


def count_in(row: ResultRow, variable: str) -> int:
    """A number that an endpoint counted. Raises `Fault` for what is none.

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
    """Whether an answer is rows of values. All that comes in passes here: one loop, no calls."""
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


def _check_status(response: Response) -> None:
    status = response.status
    if status == 200:
        return
    if 300 <= status < 400:
        where = response.headers.get("location", "another address")
        raise Fault(f"HTTP {status}: moved to {where}", again=False)
    again = status >= 500 or status in (408, 429)
    raise Fault(f"HTTP {status}: {_first_line(response)}", again, _retry_after(response))


def _check_whole(response: Response) -> None:
    """Virtuoso gives up with HTTP 200 and what it has found so far; a header tells."""
    if state := response.headers.get("x-sql-state"):
        why = response.headers.get("x-sql-message", "").strip()
        raise Fault(f"incomplete answer, state {state}: {why}"[:300], again=True)


def _check_count(response: Response, rows: int) -> None:
    limit = response.headers.get("x-sparql-maxrows", "")
    if limit.isdigit() and rows >= int(limit):
        raise Fault(
            f"incomplete answer, cut at {limit} rows; raise ResultSetMaxRows in its virtuoso.ini",
            again=False,
        )


def _retry_after(response: Response) -> float:
    wait = response.headers.get("retry-after", "")
    return float(wait) if wait.isdigit() else 0.0


def _first_line(response: Response) -> str:
    lines = response.body[:2000].decode(errors="replace").split("\n")
    return next((line.strip() for line in lines if line.strip()), "(empty)")[:200]
