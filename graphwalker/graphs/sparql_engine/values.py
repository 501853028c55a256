"""Values of literals: how they compare, what they count, and casts as lenient as Virtuoso's."""

import logging
import math
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

from rdflib import BNode, Literal, URIRef

from graphwalker.graphs.sparql_engine.wording import XSD

_INTEGERS = (
    "integer int long short byte nonNegativeInteger positiveInteger nonPositiveInteger "
    "negativeInteger unsignedLong unsignedInt unsignedShort unsignedByte"
)
INTEGER, DECIMAL, FLOAT, DOUBLE = range(4)
"""Ranks of numbers: what is calculated from two has the higher one."""
_RANKS = {
    **dict.fromkeys((XSD + name for name in _INTEGERS.split()), INTEGER),
    **{XSD + "decimal": DECIMAL, XSD + "float": FLOAT, XSD + "double": DOUBLE},
}
_TYPES = [URIRef(XSD + name) for name in ("integer", "decimal", "float", "double")]
_MOMENTS = {XSD + name for name in ("dateTime", "date", "gYear", "gYearMonth")}
_MOMENT = re.compile(
    r"(-?\d{4,})(?:-(\d\d)(?:-(\d\d)(?:T(\d\d)(?::(\d\d)(?::(\d\d(?:\.\d+)?))?)?)?)?)?"
    r"(Z|[+-]\d\d:\d\d)?"
)
_STRING = URIRef(XSD + "string")
_LARGEST = 10_000
"""Digits of a number: more would take a calculation too long."""
_CACHED = 200
"""Characters of a text whose value is remembered."""
TRUE, FALSE = Literal(True), Literal(False)
# rdflib logs a traceback for each literal that is not what its type says, such as a year alone.
logging.getLogger("rdflib.term").setLevel(logging.ERROR)
Number = tuple[int, Any]
"""A rank and a value."""


class ValueFault(Exception):
    """An expression has no value; in a filter that is false, in a BIND unbound."""


def literal(lexical: str, datatype: str | None = None, tag: str | None = None) -> Any:
    """A literal of rdflib, spelled as it is given."""
    kind = URIRef(datatype) if datatype else None
    return Literal(lexical, lang=tag, datatype=kind, normalize=False)


def kind_of(term: Any) -> tuple[str, Any]:
    """What kind of value a literal is (number, moment, boolean, string, @tag, ^^type), and which.
    Values of one kind compare; a `^^type` only with itself."""
    make = _kind if len(term) < _CACHED else _kind.__wrapped__
    return make(str(term), term.datatype, term.language)


def number(term: Any) -> Number:
    """The number that a literal is. Raises `ValueFault`."""
    kind, value = kind_of(term) if isinstance(term, Literal) else ("", None)
    if kind != "number":
        raise ValueFault
    return _RANKS[str(term.datatype)], value


def number_literal(rank: int, value: Any) -> Any:
    """The literal of a number."""
    if rank == DECIMAL:
        text = f"{value:f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    elif rank == INTEGER:
        text = str(int(value))
    else:
        value = float(value)
        text = (
            repr(value)
            if math.isfinite(value)
            else {"inf": "INF", "nan": "NaN"}.get(str(value), "-INF")
        )
    return Literal(text, datatype=_TYPES[rank], normalize=False)


def calculate(operator: str, left: Number, right: Number) -> Number:
    """The sum, difference, product or quotient of two numbers. Raises `ValueFault`."""
    rank = max(left[0], right[0], DECIMAL if operator == "/" else INTEGER)
    a, b = (_as_rank(value, rank) for _, value in (left, right))
    if operator == "/" and not b:
        if rank < FLOAT or not a or math.isnan(a):
            raise ValueFault
        return rank, math.copysign(math.inf, a)
    if operator == "*" and rank == INTEGER and a.bit_length() + b.bit_length() > _LARGEST:
        raise ValueFault
    return rank, _OPERATIONS[operator](a, b)


_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}


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
    if kind == "number":
        return bool(value) and value == value
    if kind.startswith("^^") or kind == "moment":
        raise ValueFault
    return bool(value)


def moment_parts(term: Any) -> tuple[int, int, int, int, int, Decimal]:
    """Year, month, day, hour, minute and second of a date, however partial. Raises `ValueFault`."""
    found = _MOMENT.fullmatch(str(term)) if isinstance(term, Literal) else None
    if found is None or (term.datatype and str(term.datatype) not in {*_MOMENTS, str(_STRING)}):
        raise ValueFault
    year, month, day, hour, minute, second, _ = found.groups()
    parts = (int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0))
    return (*parts, Decimal(second or 0))


def cast(kind: str, term: Any) -> Any:
    """The term as that type of XSD, by its local name. Raises `ValueFault`.

    A date, a year, or a text that begins like one is a dateTime: benchmarks written for Virtuoso
    sort by `xsd:dateTime(?year)`.
    """
    if isinstance(term, BNode) or (kind != "string" and not isinstance(term, Literal)):
        raise ValueFault
    text = str(term).strip()
    if kind == "string":
        return Literal(str(term), datatype=_STRING, normalize=False)
    if kind in ("dateTime", "date"):
        year, month, day, hour, minute, second = moment_parts(term)
        zone = _MOMENT.fullmatch(text)
        date = f"{year:05d}" if year < 0 else f"{year:04d}"
        date += f"-{month:02d}-{day:02d}"
        if kind == "dateTime":
            whole = f"{second:02f}".rstrip("0").rstrip(".") if second % 1 else f"{int(second):02d}"
            date += f"T{hour:02d}:{minute:02d}:{whole}"
        return literal(date + ((zone[7] if zone else "") or ""), XSD + kind)
    if kind == "boolean":
        return _as_boolean(term, text)
    rank = _RANKS.get(XSD + kind)
    if rank is None:
        raise ValueFault
    known = kind_of(term)
    if known[0] in ("number", "boolean"):
        value = known[1]
    elif known[0] != "string":
        raise ValueFault
    else:
        value = _parse(text, INTEGER if rank == INTEGER and "." not in text else DOUBLE)
        if rank == DECIMAL:
            value = _parse(text, DECIMAL)
    try:
        return number_literal(rank, _as_rank(value, rank))
    except (ValueError, OverflowError, InvalidOperation):
        raise ValueFault from None


def _as_boolean(term: Any, text: str) -> Any:
    kind, value = kind_of(term)
    if kind in ("number", "boolean"):
        return TRUE if value else FALSE
    if kind == "string" and text in ("true", "1", "false", "0"):
        return TRUE if text in ("true", "1") else FALSE
    raise ValueFault


def _as_rank(value: Any, rank: int) -> Any:
    if rank == INTEGER:
        return int(value)
    if rank == DECIMAL:
        return value if isinstance(value, Decimal) else Decimal(value)
    return float(value)


def _parse(text: str, rank: int) -> Any:
    if len(text) > _LARGEST:
        raise ValueFault
    try:
        if rank == INTEGER:
            return int(text)
        if rank == DECIMAL:
            return Decimal(text)
        return float(text.replace("INF", "inf"))
    except (ValueError, InvalidOperation):
        raise ValueFault from None


@lru_cache(maxsize=1 << 16)
def _kind(text: str, datatype: Any, tag: str | None) -> tuple[str, Any]:
    if tag:
        return f"@{tag.lower()}", text
    if datatype is None or datatype == _STRING:
        return "string", text
    kind = str(datatype)
    try:
        if kind in _RANKS:
            return "number", _parse(text.strip(), _RANKS[kind])
        if kind in _MOMENTS:
            return "moment", _seconds(text.strip())
        if kind == XSD + "boolean" and text in ("true", "false", "1", "0"):
            return "boolean", text in ("true", "1")
    except ValueFault:
        pass
    return f"^^{kind}", text


def _seconds(text: str) -> Decimal:
    """Seconds since the year 1 in a calendar without a gap, UTC where no zone is given."""
    found = _MOMENT.fullmatch(text)
    if found is None or len(found[1]) > 12:
        raise ValueFault
    year, month, day, hour, minute, second = moment_parts(Literal(text))
    if not (1 <= month <= 12 and 1 <= day <= 31):
        raise ValueFault
    shifted = year - (month < 3)
    days = 365 * shifted + shifted // 4 - shifted // 100 + shifted // 400
    days += (153 * ((month + 9) % 12) + 2) // 5 + day
    zone = found[7] or "Z"
    minutes = 0 if zone == "Z" else int(zone[1:3]) * 60 + int(zone[4:6])
    minutes = -minutes if zone[0] == "-" else minutes
    return Decimal(days * 86400 + hour * 3600 + (minute - minutes) * 60) + second
