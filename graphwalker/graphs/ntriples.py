"""N-Triples: one line to subject, predicate and object, with Freebase IRIs cut to their ids."""

import re
from collections.abc import Iterator
from hashlib import sha256

from graphwalker.errors import UserError
from graphwalker.graphs.literals import literal_id, unescape

FREEBASE = "http://rdf.freebase.com/ns/"
XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"

_CHARACTERS = r'[^<>"{}|^`\x00-\x20]+'
_IRI = rf"<(?:{re.escape(FREEBASE)})?({_CHARACTERS})>"
_BLANK = r"(_:[^\s<>\"]+)"
# Possessive, so that a literal of megabytes costs no memory for steps back.
_LITERAL = rf'("(?:[^"\\]++|\\.)*+")(?:(@[A-Za-z]+(?:-[A-Za-z0-9]+)*)|\^\^<({_CHARACTERS})>)?'
_LINE = re.compile(
    rf"\s*(?:{_IRI}|{_BLANK})\s*{_IRI}\s*(?:{_IRI}|{_BLANK}|{_LITERAL})\s*\.\s*(?:#.*)?", re.DOTALL
)
STATEMENT = "_:statement-"
"""The beginning of the id of a fact about a fact, which its own text names in every file."""
_QUOTED = re.compile(r"\s*<<(?!\()\s*(.+?)\s*>>\s*(<.+)", re.DOTALL)
_REIFIED = re.compile(
    r"\s*(\S+)\s*<http://www\.w3\.org/1999/02/22-rdf-syntax-ns#reifies>"
    r"\s*<<\(\s*(.+?)\s*\)>>\s*\.\s*",
    re.DOTALL,
)
_LITERAL_ONLY = re.compile(_LITERAL, re.DOTALL)

# What a line mostly is: no blank node, nothing escaped, its literal in its one spelling already.
_COMMON_IRI = rf"<(?:{re.escape(FREEBASE)})?([^<>\"{{}}|^`\\\x00-\x20]+)>"
_COMMON_TYPE = rf"\^\^<(?!{re.escape(XSD_STRING)}>)[^<>\"{{}}|^`\\\x00-\x20]+>"
_COMMON_LITERAL = rf'"[^"\\\n\r\t]*+"(?:@[A-Za-z]+(?:-[A-Za-z0-9]+)*|{_COMMON_TYPE})?'
_COMMON_LINES = re.compile(
    rf"^{_COMMON_IRI}[ \t]*{_COMMON_IRI}[ \t]*(?:{_COMMON_IRI}|({_COMMON_LITERAL}))[ \t]*\.[ \t]*$"
    r"|^(.*)$",
    re.MULTILINE,
)
_AT_ONCE = 1 << 15
"""Characters that are parsed in one pass: what they become stays in the processor's cache."""
_COMMON_ONLY = re.compile(_COMMON_LITERAL)


def parse_line(line: str) -> tuple[str, str, str] | None:
    """Return the ids on one line, `None` for an empty line or a comment.

    A literal comes in its one spelling (`literal_id`), any other node as its id.
    Raises `UserError` saying what is wrong with the line.
    """
    match = _LINE.fullmatch(line)
    if match is None:
        if not line.strip() or line.lstrip().startswith("#"):
            return None
        raise UserError("not an N-Triples line: <subject> <predicate> <object> .")
    subject, blank, predicate, tail, tail_blank, quoted, language, datatype = match.groups()
    if "\\" in line:
        subject, predicate, tail = (
            iri and _unescape_iri(iri) for iri in (subject, predicate, tail)
        )
    if quoted is not None:
        tail = _literal(quoted, language, datatype)
    return blank or subject, predicate, tail_blank or tail


def parse_annotation(line: str) -> list[tuple[str, str, str]]:
    """Return the triples of a line that says something of a fact, `<< s p o >> q x .` in RDF-star
    or `_:r rdf:reifies <<( s p o )>> .` in RDF 1.2; none of any other line.

    The fact about the fact is a node between subject and object, as Freebase has marriages:
    `(s, p, node)`, `(node, p, o)`, `(node, q, x)`.
    """
    try:
        if reified := _REIFIED.fullmatch(line):
            # Any relation will do: the node that reifies is the subject of the line.
            node = (parse_line(f"{reified[1]} <a:a> <a:a> .") or ("",))[0]
            inner, more = parse_line(f"{reified[2]} ."), ()
        elif quoted := _QUOTED.fullmatch(line):
            inner = parse_line(f"{quoted[1]} .")
            node = STATEMENT + sha256(" ".join(inner or ()).encode()).hexdigest()[:16]
            more = filter(None, [parse_line(f"{node} {quoted[2]}")])
        else:
            return []
    except UserError:
        return []
    if inner is None:
        return []
    subject, predicate, tail = inner
    return [(subject, predicate, node), (node, predicate, tail), *more]


def parse_lines(text: str) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield each line as (subject, predicate, object, literal, line).

    An empty object means a literal; a line that is anything but common, an empty one included,
    comes as text in the last place, for `parse_line`.
    """
    first, end = 0, len(text)
    while first < end:
        last = text.find("\n", first + _AT_ONCE)
        last = end if last < 0 else last
        yield from _COMMON_LINES.findall(text, first, last)
        first = last + 1


def parse_literal(text: str) -> str:
    """Return the one spelling of a literal in N-Triples form. Raises `UserError` for none."""
    if _COMMON_ONLY.fullmatch(text):
        return text
    match = _LITERAL_ONLY.fullmatch(text)
    if match is None:
        raise UserError(f'not a literal in N-Triples form ("text", "text"@en): {text[:80]}')
    return _literal(*match.groups())


def language(literal: str) -> str | None:
    """Return the language tag of a literal, `""` for a plain text, `None` for a typed value."""
    suffix = literal[literal.rfind('"') + 1 :]
    return None if suffix.startswith("^^") else suffix[1:].lower()


def _literal(quoted: str, tag: str | None, datatype: str | None) -> str:
    text = unescape(quoted[1:-1])
    if tag is not None:
        return literal_id(text, tag)
    if datatype is None or datatype == XSD_STRING:
        return literal_id(text)
    return literal_id(text, f"^^<{unescape(datatype)}>")


def _unescape_iri(iri: str) -> str:
    plain = unescape(iri).removeprefix(FREEBASE)
    if not plain or plain.startswith('"'):
        raise UserError("an empty or unusable IRI")
    return plain
