"""N-Triples: one line to subject, predicate and object, with Freebase IRIs cut to their ids."""

import re

from graphwalker.errors import UserError
from graphwalker.graphs.literals import literal_id, unescape

FREEBASE = "http://rdf.freebase.com/ns/"
XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"

_IRI = r'<([^<>"{}|^`\x00-\x20]*)>'
_BLANK = r"(_:[^\s<>\"]+)"
_LITERAL = rf'("(?:[^"\\]|\\.)*")(?:(@[A-Za-z]+(?:-[A-Za-z0-9]+)*)|\^\^{_IRI})?'
_LINE = re.compile(
    rf"\s*(?:{_IRI}|{_BLANK})\s*{_IRI}\s*(?:{_IRI}|{_BLANK}|{_LITERAL})\s*\.\s*(?:#.*)?", re.DOTALL
)
_LITERAL_ONLY = re.compile(_LITERAL, re.DOTALL)


def parse_line(line: str) -> tuple[str, str, str] | None:
    """The ids on one line, `None` for an empty line or a comment.

    A literal comes in its one spelling (`literal_id`), any other node as its id.
    Raises `UserError` saying what is wrong with the line.
    """
    match = _LINE.fullmatch(line)
    if match is None:
        if not line.strip() or line.lstrip().startswith("#"):
            return None
        raise UserError("not an N-Triples line: <subject> <predicate> <object> .")
    subject, blank, predicate, tail, tail_blank, quoted, language, datatype = match.groups()
    head = blank or _iri_id(subject)
    if quoted is not None:
        return head, _iri_id(predicate), _literal(quoted, language, datatype)
    return head, _iri_id(predicate), tail_blank or _iri_id(tail)


def parse_literal(text: str) -> str:
    """The one spelling of a literal written in N-Triples form. Raises `UserError` if it is not."""
    match = _LITERAL_ONLY.fullmatch(text)
    if match is None:
        raise UserError(f'not a literal in N-Triples form ("text", "text"@en): {text[:80]}')
    return _literal(*match.groups())


def language(literal: str) -> str | None:
    """The language tag of a literal, `""` for a plain text, `None` for a typed value."""
    suffix = literal[literal.rfind('"') + 1 :]
    return None if suffix.startswith("^^") else suffix[1:].lower()


def _literal(quoted: str, tag: str | None, datatype: str | None) -> str:
    inner = quoted[1:-1]
    text = unescape(inner) if "\\" in inner else inner
    if tag is not None:
        return literal_id(text, tag)
    if datatype is None or datatype == XSD_STRING:
        return literal_id(text)
    return literal_id(text, f"^^<{unescape(datatype) if chr(92) in datatype else datatype}>")


def _iri_id(iri: str) -> str:
    if "\\" in iri:
        iri = unescape(iri)
    if iri.startswith(FREEBASE):
        iri = iri[len(FREEBASE) :]
    if not iri or iri.startswith('"'):
        raise UserError("an empty or unusable IRI")
    return iri
