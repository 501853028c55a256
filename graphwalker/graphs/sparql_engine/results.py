"""Results in the forms of the SPARQL protocol: JSON as Virtuoso writes it, XML, CSV, TSV."""

import json
import re
from collections.abc import Iterator
from io import StringIO
from typing import Any

from rdflib import XSD, BNode, Literal
from rdflib.plugins.sparql.results.csvresults import CSVResultSerializer
from rdflib.plugins.sparql.results.xmlresults import XMLResultSerializer
from rdflib.query import Result

from graphwalker.errors import QueryLimitError
from graphwalker.graphs.sparql_engine.engine import Solutions

JSON, XML = "application/sparql-results+json", "application/sparql-results+xml"
CSV, TSV = "text/csv", "text/tab-separated-values"
_FORMS = {
    **dict.fromkeys((JSON, "application/json", "json", "*/*"), JSON),
    **dict.fromkeys((XML, "application/xml", "text/xml", "xml"), XML),
    **dict.fromkeys((CSV, "csv"), CSV),
    **dict.fromkeys((TSV, "tsv"), TSV),
}
_BAD_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def choose_form(accept: str, wanted: str = "") -> str:
    """The form of a result: what the `format` parameter names, else the first that `Accept` does.

    >>> choose_form("text/html, application/xml;q=0.9")
    'application/sparql-results+xml'
    """
    if wanted.strip().lower() in _FORMS:
        return _FORMS[wanted.strip().lower()]
    names = [part.partition(";")[0].strip().lower() for part in accept.split(",")]
    return next((_FORMS[name] for name in names if name in _FORMS), JSON)


def write_results(found: Solutions, form: str, most_rows: int) -> bytes:
    """The solutions in a form. Raises `QueryLimitError` for more than so many."""
    holds = found.is_ask and any(True for _ in found.rows)
    rows = _limit_rows(found.rows, most_rows)
    if form == JSON:
        text = _write_json(found, rows, holds)
    elif form == XML:
        text = _BAD_IN_XML.sub("\ufffd", _write_plain(XMLResultSerializer, found, rows, holds))
    elif found.is_ask:
        text = f"{str(holds).lower()}\n"
    elif form == CSV:
        text = _write_plain(CSVResultSerializer, found, rows, holds)
    else:
        lines = ["\t".join(f"?{name}" for name in found.variables)]
        lines += ["\t".join(_tsv(row.get(name)) for name in found.variables) for row in rows]
        text = "\n".join([*lines, ""])
    return text.encode("utf-8", "replace")


def _limit_rows(rows: Iterator[Any], most_rows: int) -> Iterator[Any]:
    for number, row in enumerate(rows):
        if number >= most_rows:
            raise QueryLimitError(f"42000: more than {most_rows:,} rows; ask for less, or by LIMIT")
        yield row


def _write_json(found: Solutions, rows: Iterator[Any], holds: bool) -> str:
    if found.is_ask:
        return json.dumps({"head": {"link": []}, "boolean": holds})
    known: dict[Any, dict[str, str]] = {}
    bindings: list[dict[str, dict[str, str]]] = []
    for row in rows:
        made = {name: row.get(name) for name in found.variables}
        for term in made.values():
            if term is not None and term not in known:
                known[term] = binding(term)
        bindings.append({name: known[term] for name, term in made.items() if term is not None})
    results = {"distinct": False, "ordered": True, "bindings": bindings}
    head: dict[str, Any] = {"link": [], "vars": found.variables}
    return json.dumps({"head": head, "results": results}, ensure_ascii=False)


def binding(term: Any) -> dict[str, str]:
    """A term as SPARQL's JSON has it; a literal with a type is a `typed-literal`, as it is in
    Virtuoso's."""
    if not isinstance(term, Literal):
        return {"type": "bnode" if isinstance(term, BNode) else "uri", "value": str(term)}
    if term.language:
        return {"type": "literal", "xml:lang": term.language, "value": str(term)}
    if term.datatype and term.datatype != XSD.string:
        return {"type": "typed-literal", "datatype": str(term.datatype), "value": str(term)}
    return {"type": "literal", "value": str(term)}


def _write_plain(writer: Any, found: Solutions, rows: Iterator[Any], holds: bool) -> str:
    result: Any = Result("ASK" if found.is_ask else "SELECT")
    result.vars, result.askAnswer = found.variables, holds
    result.bindings = list(rows)
    out = StringIO()
    writer(result).serialize(out)
    return out.getvalue()


def _tsv(term: Any) -> str:
    if not isinstance(term, Literal):
        return "" if term is None else f"_:{term}" if isinstance(term, BNode) else f"<{term}>"
    text = json.dumps(term, ensure_ascii=False)
    if term.language:
        return f"{text}@{term.language}"
    return f"{text}^^<{term.datatype}>" if term.datatype else text
