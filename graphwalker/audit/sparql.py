"""SPARQL of a benchmark, executed: by rdflib over any graph of ours, or by the endpoint itself."""

import re
import time
from collections.abc import Iterator
from typing import Any

from graphwalker.datasets.answers import wikidata_id
from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, OverGraph
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.sparql.graph import SparqlGraph
from graphwalker.graphs.sparql.terms import Vocabulary

ANSWERS, FACTS, SECONDS = 20_000, 2_000_000, 60.0
"""A query is given up past so many answers, looked-up triples, or seconds."""
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
    return _ask_rdflib(graph, query)


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


def _ask_rdflib(graph: KnowledgeGraph, query: str) -> list[Entity]:
    try:
        import rdflib
        import rdflib.plugins.sparql as plugins
    except ImportError:
        raise NotExecutedError(
            "SPARQL needs rdflib: pip install 'graphwalker-kgqa[sparql]'"
        ) from None
    store = _store(graph)
    library: Any = plugins
    library.CUSTOM_EVALS["graphwalker"] = _in_order
    try:
        found: Any = rdflib.Graph(store=store).query(query)
        if found.type == "ASK":
            flag = "true" if found.askAnswer else "false"
            return [Entity("", flag.capitalize())]
        ids = list(
            dict.fromkeys(store.node_id(term) for row in found for term in row if term is not None)
        )
    except NotExecutedError:
        raise
    except RecursionError:
        raise NotExecutedError("nested too deeply") from None
    except Exception as error:  # its parser and its functions raise what they like
        raise NotExecutedError(" ".join(str(error).split())[:160]) from None
    return _name_all(graph, ids)


def _in_order(ctx: Any, part: Any) -> Any:
    """The patterns of a group, each time one from a node that is known, types and names last."""
    from rdflib.plugins.sparql.evaluate import evalBGP

    if part.name != "BGP" or not hasattr(ctx.graph.store, "node_id"):
        raise NotImplementedError  # how rdflib is told to evaluate this part itself
    left: list[Any] = list(part.triples)
    ordered: list[Any] = []
    known = {node for fact in left for node in fact if ctx[node] is not None}

    def rank(fact: Any) -> tuple[bool, int]:
        is_last = str(fact[1]).endswith(("/type.object.type", "/type.object.name"))
        return is_last and fact[0] not in known, sum(node not in known for node in fact)

    while left:
        best = min(left, key=rank)
        left.remove(best)
        ordered.append(best)
        known.update(best)
    return evalBGP(ctx, ordered)


def _store(graph: KnowledgeGraph) -> Any:
    """The graph as a store of rdflib: its triples, names and types."""
    from rdflib import Literal, URIRef
    from rdflib.store import Store
    from rdflib.util import from_n3

    vocabulary = Vocabulary()
    name, kind = (URIRef(vocabulary.prefix + one) for one in (vocabulary.name, vocabulary.type))

    class GraphStore(Store):
        def __init__(self) -> None:
            super().__init__()
            self.facts, self.until = 0, time.monotonic() + SECONDS

        def node_id(self, term: Any) -> str:
            if not isinstance(term, Literal):
                return vocabulary.node_id({"type": "uri", "value": str(term)})
            about = {"xml:lang": term.language, "datatype": term.datatype and str(term.datatype)}
            known = {key: value for key, value in about.items() if value}
            return vocabulary.node_id({"type": "literal", "value": str(term), **known})

        def triples(self, triple_pattern: Any, context: Any = None) -> Iterator[Any]:
            for fact in self._facts(*triple_pattern):
                self.facts += 1
                if self.facts > FACTS or time.monotonic() > self.until:
                    raise NotExecutedError("too many triples on the way")
                yield fact, iter(())

        def _facts(self, head: Any, relation: Any, tail: Any) -> Iterator[Any]:
            if relation == name and head is not None:
                named = graph.name(self.node_id(head))
                yield from [(head, name, Literal(named, lang="en"))] if named else []
            elif relation == kind and head is not None:
                types = (_term(one) for one in graph.types(self.node_id(head)))
                yield from ((head, kind, one) for one in types if tail in (None, one))
            elif head is not None:
                yield from self._around(head, relation, tail, Direction.OUT)
            elif tail is not None and not isinstance(tail, Literal) and relation != kind:
                yield from self._around(tail, relation, None, Direction.IN)
            else:
                raise NotExecutedError("a pattern that starts at no entity")

        def _around(self, here: Any, relation: Any, there: Any, way: Direction) -> Iterator[Any]:
            own = self.node_id(here)
            relations = [self.node_id(relation)] if relation is not None else []
            for found in relations or [one for one, _ in graph.relations(own, way)]:
                for end in graph.neighbors(own, found, way):
                    other = _term(end.id)
                    if there in (None, other):
                        pair = (here, other) if way is Direction.OUT else (other, here)
                        yield pair[0], _term(found), pair[1]

    def _term(node_id: str) -> Any:
        if is_literal(node_id):
            return from_n3(node_id)
        iri = vocabulary.iri(node_id)
        return URIRef(iri[1:-1] if iri else vocabulary.prefix + node_id)

    return GraphStore()
