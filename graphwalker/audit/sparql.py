"""SPARQL of a benchmark, executed: by the graph's store, or by the endpoint itself."""

import re

from graphwalker.datasets.answers import wikidata_id
from graphwalker.errors import QueryLimitError, UserError
from graphwalker.graphs.base import Entity, KnowledgeGraph, OverGraph
from graphwalker.graphs.ntriples import FREEBASE
from graphwalker.graphs.sparql.graph import SparqlGraph
from graphwalker.graphs.sparql_engine.engine import check_installed
from graphwalker.graphs.sparql_engine.wording import QueryShape, read_shape

ANSWERS, SECONDS = 20_000, 60.0
"""A query is given up past so many answers, or seconds."""
_PREFIXES: dict[str, str] = dict.fromkeys(("", "ns", "fb"), FREEBASE)
_ENTITY = re.compile(
    rf"<(?:{re.escape(FREEBASE)}([mg]\.\w+)|(http://www\.wikidata\.org/entity/Q\d+))>"
)
_OUTSIDE = re.compile(r"(?<![?$\w])(?:SERVICE|FROM|LOAD|INSERT|DELETE|DROP|CLEAR)\b", re.IGNORECASE)


class NotExecutedError(UserError):
    """The query could not be executed; says why."""


def run_sparql(graph: KnowledgeGraph, text: str) -> list[Entity]:
    """Tell what the query selects, each once, or whether it holds (ASK). Raises `NotExecutedError`,
    `GraphError` when the graph fails, and another `UserError` without Oxigraph."""
    shape = _read(text)
    if _OUTSIDE.search(shape.text):
        raise NotExecutedError("asks for more than to read this graph")
    while isinstance(graph, OverGraph):
        graph = graph.graph
    if isinstance(graph, SparqlGraph):
        return _ask_endpoint(graph, shape.fill().strip())
    check_installed()
    return _ask_engine(graph, text)


def entities_of(text: str) -> list[str]:
    """Return the ids of the entities that the query names, each once, as a graph has them."""
    found = map(_ENTITY.fullmatch, _read(text).constants)
    return list(dict.fromkeys(one[1] or one[2] for one in found if one))


def _read(text: str) -> QueryShape:
    try:
        return read_shape(text, _PREFIXES)
    except UserError as error:
        raise NotExecutedError(str(error)) from None


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
