"""Literals: nodes whose id is their N-Triples form, and whose name is the lexical value."""

import re

from graphwalker.errors import UserError

_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.?))", re.DOTALL)
_LETTERS = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
_QUOTED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def is_literal(entity_id: str) -> bool:
    """True for a date, a number or a text, whose id starts with a quotation mark."""
    return entity_id.startswith('"')


def literal_id(lexical: str, suffix: str = "") -> str:
    """Return the one spelling of a literal; `suffix` is `""`, `@en`, or `^^<datatype IRI>`."""
    return f'"{lexical.translate(_QUOTED)}"{suffix}'


def literal_name(literal: str) -> str:
    """Return the lexical value of a literal's id."""
    end = literal.rfind('"')
    return unescape(literal[1:end] if end > 0 else literal[1:])


def unescape(text: str) -> str:
    """Decode N-Triples escapes. Raises `UserError` for one that the format does not have."""
    if "\\" not in text:
        return text
    decoded = _ESCAPE.sub(_decode, text)
    try:
        # Two \\u escapes may spell one character outside the basic plane.
        return decoded.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise UserError("half of a surrogate pair") from None


def _decode(match: re.Match[str]) -> str:
    digits = match[1] or match[2]
    if digits:
        code = int(digits, 16)
        if code > 0x10FFFF:
            raise UserError(f"no such character: {match[0]}")
        return chr(code)
    try:
        return _LETTERS[match[3]]
    except KeyError:
        raise UserError(f"unknown escape {match[0]!r}") from None
