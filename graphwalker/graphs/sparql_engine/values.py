"""Values of literals: how they compare, and casts as lenient as Virtuoso's."""

import logging
import math
import re
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

from rdflib import BNode, Literal, URIRef
from rdflib.plugins.sparql.sparql import SPARQLError

from graphwalker.graphs.sparql_engine.wording import XSD

_MOMENTS = {XSD + name for name in ("dateTime", "date", "gYear", "gYearMonth")}
_MOMENT = re.compile(
    r"(-?\d{4,})(?:-(\d\d)(?:-(\d\d)(?:T(\d\d)(?::(\d\d)(?::(\d\d(?:\.\d+)?))?)?)?)?)?"
    r"(Z|[+-]\d\d:\d\d)?"
)
_STRING = URIRef(XSD + "string")
_WHOLE = ("integer", "int", "long")
_LARGEST = 10_000
"""Characters of a number: more would take a calculation too long."""
TRUE, FALSE = Literal(True), Literal(False)
# rdflib logs a traceback for each literal that is not what its type says, such as a year alone.
logging.getLogger("rdflib.term").setLevel(logging.ERROR)


class ValueFault(SPARQLError):
    """An expression has no value; in a filter that is false, in a BIND unbound."""


def literal(lexical: str, datatype: str | None = None, tag: str | None = None) -> Any:
    """A literal of rdflib, spelled as it is given."""
    kind = URIRef(datatype) if datatype else None
    return Literal(lexical, lang=tag, datatype=kind, normalize=False)


def kind_of(term: Any) -> tuple[str, Any]:
    """What kind of value a literal is (number, moment, boolean, string, @tag, ^^type), and which.
    Values of one kind compare; a `^^type` only with itself."""
    if term.language:
        return f"@{term.language.lower()}", str(term)
    if term.datatype is None or term.datatype == _STRING:
        return "string", str(term)
    if str(term.datatype) in _MOMENTS:
        if (seconds := _seconds(str(term).strip())) is not None:
            return "moment", seconds
    elif isinstance(term.value, bool):
        return "boolean", term.value
    elif isinstance(term.value, int | float | Decimal):
        return "number", term.value
    return f"^^{term.datatype}", str(term)


def is_number(term: Any) -> bool:
    return isinstance(term, Literal) and kind_of(term)[0] == "number"


def equal(a: Any, b: Any) -> bool:
    """Whether two terms are equal as `=` has it. Raises `ValueFault` where that is not known."""
    if not (isinstance(a, Literal) and isinstance(b, Literal)):
        return type(a) is type(b) and str(a) == str(b)
    (kind, value), (other_kind, other) = kind_of(a), kind_of(b)
    if kind == other_kind:
        if kind.startswith("^^") and value != other:
            raise ValueFault
        return bool(value == other)
    if kind.startswith("^^") or other_kind.startswith("^^"):
        raise ValueFault
    return False


def less(a: Any, b: Any) -> bool:
    """Whether a literal is less than another of its kind. Raises `ValueFault` for others."""
    if isinstance(a, Literal) and isinstance(b, Literal):
        (kind, value), (other_kind, other) = kind_of(a), kind_of(b)
        if kind == other_kind and not kind.startswith("^^"):
            return bool(value < other)
    raise ValueFault


def order_key(term: Any) -> tuple[Any, ...]:
    """What terms are sorted by: nothing, blank nodes, IRIs, literals by kind and value."""
    if term is None:
        return (0,)
    if not isinstance(term, Literal):
        return (1 if isinstance(term, BNode) else 2, str(term))
    kind, value = kind_of(term)
    if kind == "number" and value != value:
        value = -math.inf
    return (3, kind, value, str(term))


def truth(term: Any) -> bool:
    """The effective boolean value of a term. Raises `ValueFault`."""
    if term is TRUE or term is FALSE:
        return term is TRUE
    kind, value = kind_of(term) if isinstance(term, Literal) else ("^^", None)
    if kind.startswith("^^") or kind == "moment":
        raise ValueFault
    return bool(value) and value == value


def moment_parts(term: Any) -> tuple[int, int, int, int, int, Decimal]:
    """Year, month, day, hour, minute and second of a date, however partial. Raises `ValueFault`."""
    found = _MOMENT.fullmatch(str(term)) if isinstance(term, Literal) else None
    if found is None or (term.datatype and str(term.datatype) not in {*_MOMENTS, str(_STRING)}):
        raise ValueFault
    year, month, day, hour, minute, second, _ = found.groups()
    parts = (int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0))
    return (*parts, Decimal(second or 0))


def cast_to(kind: str, term: Any) -> Any:
    """The term as that type of XSD, by its local name. Raises `ValueFault`.

    A date, a year, or a text that begins like one is a dateTime: benchmarks written for Virtuoso
    sort by `xsd:dateTime(?year)`.
    """
    if isinstance(term, BNode) or (kind != "string" and not isinstance(term, Literal)):
        raise ValueFault
    if kind == "string":
        return literal(str(term), _STRING)
    if kind in ("dateTime", "date"):
        return _as_moment(kind, term)
    known, value = kind_of(term)
    if known not in ("number", "boolean", "string"):
        raise ValueFault
    try:
        if kind == "boolean":
            return _as_boolean(value)
        if known == "string":
            value = _read_number(value.strip(), kind)
        make: Any = Decimal if kind == "decimal" else int if kind in _WHOLE else float
        return Literal(make(value), datatype=URIRef(XSD + kind))
    except (ValueError, OverflowError, InvalidOperation):
        raise ValueFault from None


def _as_boolean(value: Any) -> Any:
    if isinstance(value, str):
        value = {"true": True, "1": True, "false": False, "0": False}.get(value.strip())
    if value is None:
        raise ValueFault
    return TRUE if value else FALSE


def _read_number(text: str, kind: str) -> Any:
    if len(text) > _LARGEST:
        raise ValueFault
    if kind == "decimal":
        return Decimal(text)
    return int(text) if kind in _WHOLE and "." not in text else float(text)


def _as_moment(kind: str, term: Any) -> Any:
    year, month, day, hour, minute, second = moment_parts(term)
    zone = _MOMENT.fullmatch(str(term))
    text = f"{year:05d}" if year < 0 else f"{year:04d}"
    text += f"-{month:02d}-{day:02d}"
    if kind == "dateTime":
        whole = f"{second:02f}".rstrip("0").rstrip(".") if second % 1 else f"{int(second):02d}"
        text += f"T{hour:02d}:{minute:02d}:{whole}"
    return literal(text + ((zone[7] if zone else "") or ""), XSD + kind)


@lru_cache(maxsize=1 << 16)
def _seconds(text: str) -> Decimal | None:
    """Seconds since the year 1 in a calendar without a gap, UTC where no zone is given."""
    found = _MOMENT.fullmatch(text)
    if found is None or len(found[1]) > 12:
        return None
    year, month, day, hour, minute, second = moment_parts(Literal(text))
    cycle, year = divmod(year, 400)  # Python's dates begin with the year 1
    try:
        days = cycle * 146_097 + date(year + 400, month, day).toordinal()
    except ValueError:
        return None
    zone = found[7] or "Z"
    minutes = 0 if zone == "Z" else int(zone[1:3]) * 60 + int(zone[4:6])
    minutes = -minutes if zone[0] == "-" else minutes
    return Decimal(days * 86400 + hour * 3600 + (minute - minutes) * 60) + second
