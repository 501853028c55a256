"""Results in the forms of the SPARQL protocol: JSON as Virtuoso writes it, XML, CSV, TSV."""

import json
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from pyoxigraph import Literal, NamedNode, QueryResultsFormat, QuerySolution, parse_query_results

from graphwalker.errors import QueryLimitError
from graphwalker.graphs.literals import literal_name
from graphwalker.graphs.ntriples import XSD_STRING

JSON, XML = "application/sparql-results+json", "application/sparql-results+xml"
CSV, TSV = "text/csv", "text/tab-separated-values"
IDS = "ids"
"""Rows of ids, for Python."""
_FORMS = {
    **dict.fromkeys((JSON, "application/json", "json", "*/*"), JSON),
    **dict.fromkeys((XML, "application/xml", "text/xml", "xml"), XML),
    **dict.fromkeys((CSV, "csv"), CSV),
    **dict.fromkeys((TSV, "tsv"), TSV),
}
_OTHERS = {XML: QueryResultsFormat.XML, CSV: QueryResultsFormat.CSV, TSV: QueryResultsFormat.TSV}
_BAD_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
Term = Any
"""A term of Oxigraph."""


def choose_form(accept: str, wanted: str = "") -> str:
    """Return the form of a result: the one of the `format` parameter, else the first of `Accept`.

    >>> choose_form("text/html, application/xml;q=0.9")
    'application/sparql-results+xml'
    """
    if wanted.strip().lower() in _FORMS:
        return _FORMS[wanted.strip().lower()]
    names = [part.partition(";")[0].strip().lower() for part in accept.split(",")]
    return next((_FORMS[name] for name in names if name in _FORMS), JSON)


def write_boolean(holds: bool, form: str) -> bytes:
    """Write the answer of an ASK."""
    return _as_form(json.dumps({"head": {"link": []}, "boolean": holds}), form)


def write_rows(
    found: Any, names: list[str], form: str, most_rows: int, describe: Callable[[Term], Any]
) -> bytes:
    """Write the solutions of a SELECT, `describe` giving the JSON of a term. Raises
    `QueryLimitError` for more than so many rows."""
    known = lru_cache(1 << 16)(describe)
    rows = list[Any]()
    for row in _limit_rows(found, most_rows):
        terms = ((name, row[name]) for name in names)
        rows.append({name: known(term) for name, term in terms if term is not None})
    if form == IDS:
        return json.dumps(rows).encode()
    results = {"distinct": False, "ordered": True, "bindings": rows}
    head = {"link": list[str](), "vars": names}
    return _as_form(json.dumps({"head": head, "results": results}, ensure_ascii=False), form)


def binding(term: Term) -> dict[str, str]:
    """Return a term as SPARQL's JSON has it; a literal with a type is a `typed-literal`, as it is
    in Virtuoso's."""
    if not isinstance(term, Literal):
        return {"type": "uri" if isinstance(term, NamedNode) else "bnode", "value": term.value}
    kind = term.datatype.value
    return _literal(term.value, term.language or "", "" if kind == XSD_STRING else kind)


def literal_binding(node_id: str) -> dict[str, str]:
    """Return the same of a literal's id."""
    suffix = node_id[node_id.rfind('"') + 1 :]
    tag, kind = (suffix[1:], "") if suffix.startswith("@") else ("", suffix[3:-1])
    return _literal(literal_name(node_id), tag, kind)


def _literal(text: str, tag: str, kind: str) -> dict[str, str]:
    if tag:
        return {"type": "literal", "xml:lang": tag, "value": text}
    if kind:
        return {"type": "typed-literal", "datatype": kind, "value": text}
    return {"type": "literal", "value": text}


def _limit_rows(found: Iterator[QuerySolution], most_rows: int) -> Iterator[QuerySolution]:
    for number, row in enumerate(found):
        if number >= most_rows:
            raise QueryLimitError(f"42000: more than {most_rows:,} rows; ask for less, or by LIMIT")
        yield row


def _as_form(text: str, form: str) -> bytes:
    """Write JSON in the form that was asked for."""
    if form not in _OTHERS:
        return text.encode("utf-8", "replace")
    read = parse_query_results(text.encode("utf-8", "replace"), format=QueryResultsFormat.JSON)
    written = read.serialize(format=_OTHERS[form])
    assert isinstance(written, bytes)
    if form == XML:
        return _BAD_IN_XML.sub("\ufffd", written.decode()).encode()
    return written
