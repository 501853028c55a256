"""SPARQL of a benchmark, executed: by our engine, or by the endpoint itself."""

import re

from graphwalker.datasets.answers import wikidata_id
from graphwalker.errors import QueryLimitError, UserError
from graphwalker.graphs.base import Entity, KnowledgeGraph, OverGraph
from graphwalker.graphs.sparql.graph import SparqlGraph

ANSWERS, SECONDS = 20_000, 60.0
"""A query is given up past so many answers, or seconds."""
_PREFIXES = {
    "": "http://rdf.freebase.com/ns/",
    "ns": "http://rdf.freebase.com/ns/",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "wd": "http://www.wikidata.org/entity/",
    "wdt": "http://www.wikidata.org/prop/direct/",
    "p": "http://www.wikidata.org/prop/",
    "ps": "http://www.wikidata.org/prop/statement/",
    "pq": "http://www.wikidata.org/prop/qualifier/",
}
_SPELLINGS = ((r"\bOR\b", "||"), (r"\bAND\b", "&&"), (r"\bxsd:datetime\b", "xsd:dateTime"))
"""What Virtuoso takes and SPARQL 1.1 does not."""
_PREFIX = re.compile(r"PREFIX\s+(\w*):\s*<([^>]*)>", re.IGNORECASE)
_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)
_NAME = re.compile(r"<[^<>\s]*>|\"[^\"]*\"|'[^']*'|(\w*):(\w(?:[\w.-]*\w)?)")
_VALUES = re.compile(r"VALUES\s+(\?\w+)\s*\{\s*(<[^<>\s]*>)\s*\}", re.IGNORECASE)
_OUTSIDE = re.compile(r"(?<![?$\w])(?:SERVICE|FROM|LOAD|INSERT|DELETE|DROP|CLEAR)\b", re.IGNORECASE)


class NotExecutedError(UserError):
    """The query could not be executed; says why."""


def run_sparql(graph: KnowledgeGraph, text: str) -> list[Entity]:
    """What the query selects, each once, or whether it holds (ASK). Raises `NotExecutedError`,
    `GraphError` when the graph fails."""
    query = plain_sparql(text)
    if _OUTSIDE.search(_NAME.sub(" ", query)):
        raise NotExecutedError("asks for more than to read this graph")
    while isinstance(graph, OverGraph):
        graph = graph.graph
    if isinstance(graph, SparqlGraph):
        return _ask_endpoint(graph, query)
    return _ask_engine(graph, query)


def plain_sparql(text: str) -> str:
    """The query in standard spelling, its names written out: what declares none of them needs no
    prefix, and begins with SELECT.

    >>> plain_sparql("SELECT ?x WHERE { ns:m.1 ns:a ?x FILTER (?x != 2 OR 1) }")[:41]
    'SELECT ?x WHERE { <http://rdf.freebase.co'
    """
    declared = {match[1]: match[2] for match in _PREFIX.finditer(text)}
    known = {**_PREFIXES, **declared}

    def write(match: re.Match[str]) -> str:
        return f"<{known[match[1]]}{match[2]}>" if match[1] in known else match[0]

    for spelling, standard in _SPELLINGS:
        text = re.sub(spelling, standard, text)
    plain = _NAME.sub(write, _COMMENT.sub("", _PREFIX.sub("", text))).strip()
    for given, variable, term in [(m[0], m[1], m[2]) for m in _VALUES.finditer(plain)]:
        if not re.search(rf"{re.escape(variable)}\b", plain.partition("{")[0]):  # else it is asked
            plain = re.sub(rf"{re.escape(variable)}\b", term, plain.replace(given, " "))
    return plain


def entities_of(text: str) -> list[str]:
    """The ids of the entities that the query names, each once, as a graph has them."""
    found = re.findall(r"<http://rdf\.freebase\.com/ns/([mg]\.\w+)>", plain_sparql(text))
    items = re.findall(r"<(http://www\.wikidata\.org/entity/Q\d+)>", plain_sparql(text))
    return list(dict.fromkeys([*found, *items]))


def _ask_endpoint(graph: SparqlGraph, query: str) -> list[Entity]:
    if query[:6].upper() != "SELECT":
        raise NotExecutedError("only SELECT is sent to an endpoint")
    is_bounded = "LIMIT" in query.rpartition("}")[2].upper()
    query = re.sub(r"\{(?=\w)", "{ ", query if is_bounded else f"{query}\nLIMIT {ANSWERS + 1}")
    rows = graph.client.rows(f"SELECT {query[6:].lstrip()}")
    ids = list(dict.fromkeys(graph.vocabulary.node_id(row[name]) for row in rows for name in row))
    return _name_all(graph, ids)


def _name_all(graph: KnowledgeGraph, ids: list[str]) -> list[Entity]:
    if len(ids) > ANSWERS:
        raise NotExecutedError(f"more than {ANSWERS:,} answers")
    names = graph.names_many(ids)
    return [Entity(wikidata_id(i) or i, name) for i, name in zip(ids, names, strict=True)]


def _ask_engine(graph: KnowledgeGraph, query: str) -> list[Entity]:
    try:
        found = graph.sparql(query, SECONDS)
    except (UserError, QueryLimitError) as error:
        raise NotExecutedError(str(error)[:160]) from None
    if isinstance(found, bool):
        return [Entity("", str(found))]
    return _name_all(graph, list(dict.fromkeys(end.id for row in found for end in row.values())))
