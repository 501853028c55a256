"""Queries as benchmarks state them: the walk in a SPARQL text, and s-expressions as SPARQL."""

import re
from collections.abc import Iterator, Sequence
from itertools import count, product
from typing import Any

from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, Entity
from graphwalker.query.directed import groupings
from graphwalker.query.query import Branch, Hop, Query

_TERM = r"<[^>\s]*>|\?\w+|\w*:[\w./-]*\w"
_TRIPLE = re.compile(rf"({_TERM})\s+({_TERM})\s+({_TERM})\s*(?=[.;}}]|$)")
_VALUES = re.compile(rf"VALUES\s+(\?\w+)\s*\{{\s*({_TERM})\s*\}}")
_ANSWER = re.compile(r"SELECT\s+(?:DISTINCT\s+)?\(?\s*(\?\w+)", re.IGNORECASE)
_FILTER = re.compile(r"FILTER\s*(?:NOT\s+EXISTS\s*)?([({])", re.IGNORECASE)
_PREFIX = re.compile(r"^\s*(?:#.*|PREFIX\s+\S+\s+<[^>]*>)", re.IGNORECASE | re.MULTILINE)
_TOKEN = re.compile(r"[()]|[^\s()]+")
_NAMESPACE = re.compile(
    r"^http://(?:rdf\.freebase\.com/ns|www\.wikidata\.org/entity|www\.wikidata\.org/prop/direct)/"
)
_SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
StatedPattern = tuple[str, str, str]
"""Subject, relation and object of a pattern; variables begin with `?`."""
_Step = tuple[str, Hop, str]
"""From a node of the pattern, by a hop, to another."""


def walks(sparql: str, topics: Sequence[Entity]) -> Iterator[Query]:
    """Yield the queries that its patterns may be: the walk from the topics to what is selected.

    Conditions on other nodes are left out, so a query may find more. Two hops beside one another
    may be one through a CVT node: only the graph knows.
    """
    bare, filters = _without_filters(_PREFIX.sub(" ", sparql))
    answer, steps = stated_patterns(sparql)
    if not answer or re.search(r"\b(?:UNION|OPTIONAL|MINUS)\b", bare, re.IGNORECASE):
        return
    found = {t: path for t in topics if (path := _path(steps, t.id, answer))}
    avoids = any(re.search(rf"!=\s*\S*{re.escape(topic.id)}\b", filters) for topic in found)
    yield from _readings(found, avoids)


def stated_patterns(sparql: str) -> tuple[str, list[StatedPattern]]:
    """Return the variable that a SPARQL text selects, `""` where it selects none, and its patterns
    of three ids or variables. Filters are left out."""
    bare, _ = _without_filters(_PREFIX.sub(" ", sparql))
    answer = _ANSWER.search(bare)
    known = {name: _id(term) for name, term in _VALUES.findall(bare)}
    found = [
        (known.get(s, _id(s)), _id(p), known.get(o, _id(o))) for s, p, o in _TRIPLE.findall(bare)
    ]
    return answer[1] if answer else "", found


_MORE = re.compile(r"\b(?:FILTER|ORDER|LIMIT|GROUP|HAVING|COUNT|ASK|VALUES)\b|[|*+]", re.IGNORECASE)


def says_all(query: Query, sparql: str) -> bool:
    """Tell whether a walk of the text's patterns is all that it asks: no condition is left out."""
    bare = _PREFIX.sub(" ", sparql)
    hops = sum(len(branch.hops) for branch in query.branches) + len(query.tail)
    return len(_TRIPLE.findall(bare)) == hops and not _MORE.search(bare)


def _readings(found: dict[Entity, list[_Step]], avoids: bool) -> Iterator[Query]:
    paths = list(found.values())
    shared = 0
    while paths[1:] and all(
        len(path) > shared and path[-1 - shared] == paths[0][-1 - shared] for path in paths
    ):
        shared += 1
    own = [path[: len(path) - shared] for path in paths]
    if not own or not all(own):
        return
    parts = [[(hop,) for _, hop, _ in path] for path in (*own, paths[0][len(own[0]) :])]
    for *branches, tail in product(*map(list, map(groupings, parts))):
        hops = [tuple(part[0] for part in parts) for parts in branches]
        made = tuple(map(Branch, found, hops))
        yield Query(made, tuple(part[0] for part in tail), avoids_topics=avoids)


def _path(triples: Sequence[StatedPattern], start: str, end: str) -> list[_Step]:
    """Return the shortest way from one node of the pattern to another, empty for none."""
    ways: dict[str, list[_Step]] = {start: []}
    waiting = [start]
    for here in waiting:
        for s, relation, o in triples:
            for near, far, direction in ((s, o, Direction.OUT), (o, s, Direction.IN)):
                if near == here and far not in ways and (far == end or far.startswith("?")):
                    ways[far] = [*ways[here], (near, Hop(relation, direction), far)]
                    waiting.append(far)
    return ways.get(end, [])


def _without_filters(text: str) -> tuple[str, str]:
    """Return the text without its filters, and those."""
    filters = ""
    while match := _FILTER.search(text):
        depth, at = 1, match.end()
        while depth and at < len(text):
            depth += (text[at] in "({") - (text[at] in ")}")
            at += 1
        filters += text[match.start() : at] + "\n"
        text = f"{text[: match.start()]} {text[at:]}"
    return text, filters


def _id(term: str) -> str:
    if term.startswith("?"):
        return term
    if term.startswith("<"):
        return _NAMESPACE.sub("", term[1:-1])
    return term.partition(":")[2]


def from_s_expression(text: str) -> str:
    """Turn an s-expression of GrailQA into SPARQL. Raises `UserError` for an unknown function.

    >>> from_s_expression("(JOIN (R a.b.c) m.1)")
    'SELECT DISTINCT ?x WHERE { ?v1 :a.b.c ?x . VALUES ?v1 { :m.1 } }'
    """
    tokens = _TOKEN.findall(text)
    read = _parse_nested(tokens)
    if tokens or isinstance(read, str):
        raise UserError(f"not an s-expression: {text[:80]!r}")
    names = (f"?v{number}" for number in count(1))
    if read[:1] == ["COUNT"] and len(read) == 2:
        lines = " ".join(_patterns(read[1], "?x", names))
        return f"SELECT (COUNT(DISTINCT ?x) AS ?n) WHERE {{ {lines} }}"
    return f"SELECT DISTINCT ?x WHERE {{ {' '.join(_patterns(read, '?x', names))} }}"


def _parse_nested(tokens: list[str]) -> Any:
    """Return the first expression, taken off the tokens."""
    token = tokens.pop(0) if tokens else ")"
    if token != "(":
        return token
    found: list[Any] = []
    while tokens and tokens[0] != ")":
        found.append(_parse_nested(tokens))
    if not tokens:
        raise UserError("not an s-expression: a bracket is not closed")
    tokens.pop(0)
    return found


def _patterns(read: Any, node: str, names: Iterator[str]) -> Iterator[str]:
    match read:
        case str():
            yield _atom(read, node)
        case ["AND", first, second]:
            yield from _patterns(first, node, names)
            yield from _patterns(second, node, names)
        case ["JOIN", relation, inner]:
            there = next(names)
            yield _fact(relation, node, there)
            yield from _patterns(inner, there, names)
        case [("lt" | "le" | "gt" | "ge") as sign, relation, bound]:
            there = next(names)
            yield f"{_fact(relation, node, there)} FILTER ({there} {_SIGNS[sign]} {_value(bound)})"
        case [("ARGMAX" | "ARGMIN") as best, inner, relation]:
            value, other, top = next(names), next(names), next(names)
            within = " ".join(_patterns(inner, node, names))
            bound = f"{best.removeprefix('ARG')}({other}) AS {top}"
            inside = f"{within} {_fact(relation, node, other)}"
            yield f"{within} {_fact(relation, node, value)}"
            yield f"{{ SELECT ({bound}) WHERE {{ {inside} }} }} FILTER ({value} = {top})"
        case _:
            raise UserError(f"an s-expression with {str(read)[:60]} is not read")


def _fact(relation: Any, node: str, there: str) -> str:
    match relation:
        case str():
            return f"{node} :{relation} {there} ."
        case ["R", str(inverse)]:
            return f"{there} :{inverse} {node} ."
        case _:
            raise UserError(f"an s-expression with the relation {str(relation)[:60]} is not read")


def _atom(text: str, node: str) -> str:
    if re.match(r"[mg]\.", text):
        return f"VALUES {node} {{ :{text} }}"
    if "^^" in text:
        return f"VALUES {node} {{ {_value(text)} }}"
    return f"{node} :type.object.type :{text} ."


def _value(text: Any) -> str:
    value, _, kind = str(text).partition("^^")
    value, kind = value.strip('"'), kind.strip("<>")
    return f'"{value}"^^<{kind}>' if kind else f'"{value}"'
