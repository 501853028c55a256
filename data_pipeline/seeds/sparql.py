"""The SPARQL of training questions: which predicates it uses and which entities it starts from."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from graphwalker.errors import UserError
from graphwalker.graphs.ntriples import FREEBASE

PREFIXES = {
    "": FREEBASE,
    "ns": FREEBASE,
    "fb": FREEBASE,
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "wd": "http://www.wikidata.org/entity/",
    "wdt": "http://www.wikidata.org/prop/direct/",
    "p": "http://www.wikidata.org/prop/",
    "ps": "http://www.wikidata.org/prop/statement/",
    "pq": "http://www.wikidata.org/prop/qualifier/",
}
"""Prefixes that queries use without declaring them, as the papers' endpoints allow."""
NAMING = frozenset(
    {
        "type.object.type",
        "type.object.name",
        "common.topic.notable_types",
        PREFIXES["rdf"] + "type",
        PREFIXES["rdfs"] + "label",
    }
)
"""Predicates that name or classify: no hop takes them, and what they lead to is no topic entity."""

_TOKEN = re.compile(
    r"""(?P<declared>\bPREFIX\s+(?P<prefix>[\w.-]*):\s*<(?P<iri>[^<>"{}|^`\\\s]*)>)
    |(?P<kept>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|<[^<>"{}|^`\\\s]*>|\#[^\n]*|[?$]\w+)
    |(?P<name>(?<![\w.-])(?P<short>[A-Za-z][\w-]*|):(?P<local>[\w.%-]*))
    |(?P<word>\b(?:OR|AND)\b)""",
    re.IGNORECASE | re.VERBOSE,
)
_FREEBASE_ENTITY = re.compile(rf"<{re.escape(FREEBASE)}[mg]\.[0-9a-z_]+>")
_BARE = re.compile(
    r"(?<![(\w])(COUNT|MAX|MIN|SUM|AVG)\s*(\((?:[^()]|\([^()]*\))*\))", re.IGNORECASE
)
_SELECT = re.compile(r"\bSELECT\b(.*?)(?=\bWHERE\b|\bFROM\b|\{)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class SparqlIds:
    """What one query uses: predicate ids, and ids of the entities that it starts from."""

    predicates: frozenset[str]
    entities: frozenset[str]


def read_sparql(sparql: str) -> SparqlIds:
    """What a query uses, read by rdflib's SPARQL 1.1 parser after `standard`.

    Entities that a FILTER compares with (those excluded from the answers) are set aside, and so are
    the classes behind `NAMING`. Raises `UserError` for what is no SPARQL.
    """
    # Training questions share few forms: with their entities masked, each is parsed once.
    masks: dict[str, str] = {}
    masked = _FREEBASE_ENTITY.sub(
        lambda match: masks.setdefault(match[0], f"<{FREEBASE}m.{len(masks)}>"), standard(sparql)
    )
    uses = _read_masked(masked)
    ids = {node_id(mask[1:-1]): node_id(iri[1:-1]) for iri, mask in masks.items()}
    return SparqlIds(uses.predicates, frozenset(ids.get(one, one) for one in uses.entities))


@lru_cache(maxsize=16_384)
def _read_masked(text: str) -> SparqlIds:
    triples, values = _patterns(text)
    from rdflib import URIRef  # below: `_patterns` says what to install where it is not there

    predicates: set[str] = set()
    entities = {identifier for term in values if (identifier := _entity(term))}
    for subject, predicate, tail in triples:
        named = {node_id(str(part)) for part in _parts(predicate) if isinstance(part, URIRef)}
        predicates |= named - NAMING
        ends = (subject,) if named & NAMING else (subject, tail)
        entities |= {identifier for term in ends if (identifier := _entity(term))}
    return SparqlIds(frozenset(predicates), frozenset(entities))


def standard(sparql: str) -> str:
    """The query with Virtuoso's dialect put into SPARQL 1.1: `OR` and `AND` in filters, aggregates
    selected without a name, prefixes that nobody declared. Prefixed names are written out;
    strings and comments stay. Raises `UserError` for an unknown prefix.

    >>> standard("SELECT ?x WHERE { ns:m.01 ?p ?x FILTER (!isLiteral(?x) OR ?x = ' OR ') }")[-47:]
    " ?p ?x FILTER (!isLiteral(?x) || ?x = ' OR ') }"
    """
    prefixes = dict(PREFIXES)

    def plain(match: re.Match[str]) -> str:
        if match["declared"]:
            prefixes[match["prefix"]] = match["iri"]
            return ""
        if match["name"]:
            return _written_out(match, prefixes)
        if match["word"]:
            return "||" if match["word"].upper() == "OR" else "&&"
        return match[0]

    text = _TOKEN.sub(plain, sparql)
    return _SELECT.sub(lambda match: _BARE.sub(_alias, match[0]), text)


def _written_out(match: re.Match[str], prefixes: dict[str, str]) -> str:
    prefix, local = match["short"], match["local"]
    if prefix not in prefixes:
        raise UserError(f"no SPARQL (the prefix {prefix}: is not declared)")
    bare = local.rstrip(".")
    return f"<{prefixes[prefix]}{bare}>{local[len(bare) :]}"


def _alias(match: re.Match[str]) -> str:
    return f"({match[0]} AS ?aggregate{match.start()})"


def _patterns(text: str) -> tuple[list[tuple[Any, Any, Any]], list[Any]]:
    """All triple patterns of a query, and all values of its VALUES."""
    try:
        from pyparsing import ParseException
        from rdflib.plugins.sparql.parser import parseQuery
        from rdflib.plugins.sparql.parserutils import CompValue
    except ImportError:
        raise UserError(
            "reading SPARQL needs rdflib: pip install 'graphwalker-kgqa[sparql]'"
        ) from None
    try:
        tree = parseQuery(text)
    except ParseException as error:
        raise UserError(f"no SPARQL (line {error.lineno}: {error.msg})") from None
    except RecursionError:
        raise UserError("no SPARQL (nested too deeply)") from None
    triples: list[tuple[Any, Any, Any]] = []
    values: list[Any] = []
    for node in (part for part in _parts(tree) if isinstance(part, CompValue)):
        for row in node.get("triples") or ():
            triples += [(row[i], row[i + 1], row[i + 2]) for i in range(0, len(row) - 2, 3)]
        if node.name in ("InlineData", "ValuesClause"):
            values += _parts(node.get("value"))
    return triples, values


def _parts(tree: Any) -> Iterator[Any]:
    """A parse tree and everything in it; a property path has its predicates in it."""
    from pyparsing import ParseResults

    yield tree
    children = tree.values() if isinstance(tree, dict) else tree
    if isinstance(tree, dict | list | tuple | ParseResults):
        for child in children:
            yield from _parts(child)


def _entity(term: Any) -> str:
    """The id of an entity; `""` for a variable, a literal, a class or any other IRI."""
    from rdflib import URIRef

    if not isinstance(term, URIRef):
        return ""
    found = node_id(str(term))
    return found if is_entity(found) else ""


_ENTITY = re.compile(r"[mg]\.[0-9a-z_]+|http://www\.wikidata\.org/entity/Q\d+")


def is_entity(identifier: str) -> bool:
    """True for a Freebase id (`m.0f8l9c`, `g.1q...`) or a Wikidata item.

    >>> is_entity("m.0f8l9c"), is_entity("film.film.genre")
    (True, False)
    """
    return _ENTITY.fullmatch(identifier) is not None


def node_id(iri: str) -> str:
    """The id that a graph of ours has for an IRI."""
    return iri.removeprefix(FREEBASE) or iri
