"""Results in the forms of the SPARQL protocol: JSON as Virtuoso writes it, XML, CSV, TSV."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from xml.sax.saxutils import escape, quoteattr

from graphwalker.errors import QueryLimitError
from graphwalker.graphs.literals import is_literal, literal_name
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
SparqlTerm = dict[str, str]


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
    if found.is_ask:
        return _write_truth(any(True for _ in found.rows), form)
    names = found.variables
    if form == JSON:
        rows = [
            {name: term for name, term in zip(names, row, strict=True) if term}
            for row in _read(found, most_rows)
        ]
        head = {"link": [], "vars": list(names)}
        results = {"distinct": False, "ordered": True, "bindings": rows}
        text = json.dumps({"head": head, "results": results}, ensure_ascii=False)
        return text.encode("utf-8", "replace")
    write = {XML: _write_xml, CSV: _write_csv, TSV: _write_tsv}[form]
    return write(names, _read(found, most_rows)).encode("utf-8", "replace")


def _read(found: Solutions, most_rows: int) -> Iterator[list[SparqlTerm | None]]:
    known: dict[int | None, SparqlTerm | None] = {None: None}
    terms = found.terms
    for number, row in enumerate(found.rows):
        if number >= most_rows:
            raise QueryLimitError(f"42000: more than {most_rows:,} rows; ask for less, or by LIMIT")
        if not number & 1023:
            terms.check()
        for one in row:
            if one is not None and one not in known:
                known[one] = binding(terms.id_of(one), terms.graph.iri)
        yield [known[one] for one in row]


def binding(node_id: str, write_iri: Callable[[str], str]) -> SparqlTerm:
    """A term as SPARQL's JSON has it; a literal with a type is a `typed-literal`, as it is in
    Virtuoso's."""
    if node_id.startswith("_:"):
        return {"type": "bnode", "value": node_id[2:]}
    if not is_literal(node_id):
        return {"type": "uri", "value": write_iri(node_id)}
    suffix = node_id[node_id.rfind('"') + 1 :]
    value = literal_name(node_id)
    if suffix.startswith("@"):
        return {"type": "literal", "xml:lang": suffix[1:], "value": value}
    if suffix:
        return {"type": "typed-literal", "datatype": suffix[3:-1], "value": value}
    return {"type": "literal", "value": value}


def _write_truth(holds: bool, form: str) -> bytes:
    word = "true" if holds else "false"
    if form == JSON:
        return json.dumps({"head": {"link": []}, "boolean": holds}).encode()
    if form == XML:
        return f"{_XML_HEAD}<head/><boolean>{word}</boolean></sparql>".encode()
    return f"{word}\n".encode()


_XML_HEAD = '<?xml version="1.0"?>\n<sparql xmlns="http://www.w3.org/2005/sparql-results#">\n'


def _write_xml(names: tuple[str, ...], rows: Iterator[list[SparqlTerm | None]]) -> str:
    lines = [_XML_HEAD, " <head>", *(f"  <variable name={quoteattr(n)}/>" for n in names)]
    lines += [" </head>", " <results>"]
    for row in rows:
        cells = zip(names, row, strict=True)
        written = (f"<binding name={quoteattr(n)}>{_xml(t)}</binding>" for n, t in cells if t)
        lines.append(f"  <result>{''.join(written)}</result>")
    return "\n".join([*lines, " </results>", "</sparql>", ""])


def _xml(term: SparqlTerm) -> str:
    value = escape(_BAD_IN_XML.sub("\ufffd", term["value"]))
    kind = term["type"]
    if kind in ("uri", "bnode"):
        return f"<{kind}>{value}</{kind}>"
    keys = (key for key in ("xml:lang", "datatype") if key in term)
    marks = "".join(f" {key}={quoteattr(term[key])}" for key in keys)
    return f"<literal{marks}>{value}</literal>"


def _write_csv(names: tuple[str, ...], rows: Iterator[list[SparqlTerm | None]]) -> str:
    out = io.StringIO()
    write = csv.writer(out).writerow
    write(names)
    for row in rows:
        write([_csv(term) if term else "" for term in row])
    return out.getvalue()


def _csv(term: SparqlTerm) -> str:
    return f"_:{term['value']}" if term["type"] == "bnode" else term["value"]


def _write_tsv(names: tuple[str, ...], rows: Iterator[list[SparqlTerm | None]]) -> str:
    lines = ["\t".join(f"?{name}" for name in names)]
    lines += ["\t".join(_tsv(term) if term else "" for term in row) for row in rows]
    return "\n".join([*lines, ""])


def _tsv(term: SparqlTerm) -> str:
    if term["type"] == "uri":
        return f"<{term['value']}>"
    if term["type"] == "bnode":
        return f"_:{term['value']}"
    text = json.dumps(term["value"], ensure_ascii=False)
    if "xml:lang" in term:
        return f"{text}@{term['xml:lang']}"
    return f"{text}^^<{term['datatype']}>" if "datatype" in term else text
