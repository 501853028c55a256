"""The SPARQL of training questions: which predicates it uses and which entities it starts from."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from graphwalker.errors import UserError, lacks_extra
from graphwalker.graphs.ntriples import FREEBASE
from graphwalker.graphs.sparql_engine.wording import PLACE, read_shape

PREFIXES: dict[str, str] = dict.fromkeys(("", "ns", "fb"), FREEBASE)
"""Prefixes that queries use without declaring them, as the papers' endpoints allow."""
NAMING = frozenset(
    {
        "type.object.type",
        "type.object.name",
        "common.topic.notable_types",
        "http://www.w3.org/1999/02/22-rdf-syntax-ns#type",
        "http://www.w3.org/2000/01/rdf-schema#label",
    }
)
"""Predicates that name or classify: no hop takes them, and what they lead to is no topic entity."""


@dataclass(frozen=True, slots=True)
class SparqlIds:
    """What one query uses: predicate ids, and ids of the entities that it starts from."""

    predicates: frozenset[str]
    entities: frozenset[str]


def read_sparql(sparql: str) -> SparqlIds:
    """Return what a query uses, read by rdflib's parser from standard SPARQL 1.1 (`read_shape`).

    Entities that a FILTER compares with (those excluded from the answers) are set aside, and so are
    the classes behind `NAMING`. Raises `UserError` for what is no SPARQL.
    """
    try:
        shape = read_shape(sparql, PREFIXES)
        triples, values = _patterns(shape.text)
    except UserError as error:
        raise UserError(f"no SPARQL ({error})") from None

    def ids(term: Any) -> Iterator[str]:
        """Yield the ids of the IRIs that a term or a property path holds."""
        for part in _parts(term):
            if str(part).startswith(PLACE):
                constant = shape.constants[int(str(part).removeprefix(PLACE))]
                if constant.startswith("<"):
                    yield node_id(constant[1:-1])

    predicates: set[str] = set()
    entities = {one for term in values for one in ids(term) if is_entity(one)}
    for subject, predicate, tail in triples:
        named = frozenset(ids(predicate))
        predicates |= named - NAMING
        ends = (subject,) if named & NAMING else (subject, tail)
        entities |= {one for term in ends for one in ids(term) if is_entity(one)}
    return SparqlIds(frozenset(predicates), frozenset(entities))


@lru_cache(maxsize=16_384)
def _patterns(text: str) -> tuple[list[tuple[Any, Any, Any]], list[Any]]:
    """Return all triple patterns of a query, and all values of its VALUES. Training questions share
    few forms: with their constants taken out, each is parsed once."""
    try:
        from pyparsing import ParseException
        from rdflib.plugins.sparql.parser import parseQuery
        from rdflib.plugins.sparql.parserutils import CompValue
    except ImportError:
        raise lacks_extra("reading SPARQL needs rdflib", "sparql") from None
    try:
        tree = parseQuery(text)
    except ParseException as error:
        raise UserError(f"line {error.lineno}: {error.msg}") from None
    except RecursionError:
        raise UserError("nested too deeply") from None
    triples: list[tuple[Any, Any, Any]] = []
    values: list[Any] = []
    for node in (part for part in _parts(tree) if isinstance(part, CompValue)):
        for row in node.get("triples") or ():
            triples += [(row[i], row[i + 1], row[i + 2]) for i in range(0, len(row) - 2, 3)]
        if node.name in ("InlineData", "ValuesClause"):
            values.append(node.get("value"))
    return triples, values


def _parts(tree: Any) -> Iterator[Any]:
    """Yield a parse tree and everything in it; a property path has its predicates in it."""
    from pyparsing import ParseResults

    yield tree
    children = tree.values() if isinstance(tree, dict) else tree
    if isinstance(tree, dict | list | tuple | ParseResults):
        for child in children:
            yield from _parts(child)


_ENTITY = re.compile(r"[mg]\.[0-9a-z_]+|http://www\.wikidata\.org/entity/Q\d+")


def is_entity(identifier: str) -> bool:
    """True for a Freebase id (`m.0f8l9c`, `g.1q...`) or a Wikidata item.

    >>> is_entity("m.0f8l9c"), is_entity("film.film.genre")
    (True, False)
    """
    return _ENTITY.fullmatch(identifier) is not None


def node_id(iri: str) -> str:
    """Return the id that a graph of ours has for an IRI."""
    return iri.removeprefix(FREEBASE) or iri
