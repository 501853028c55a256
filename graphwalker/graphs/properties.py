"""The property graph as agents see it: labels, keys and values, relationships with properties."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, cast, runtime_checkable
from zlib import crc32

from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, Triple
from graphwalker.graphs.literals import is_literal, literal_id, literal_name

XSD = "http://www.w3.org/2001/XMLSchema#"

Value = str | int | float | bool
NAME_KEYS = ("name", "title")
"""The first of these properties is a node's display name; without one it is its id."""


@dataclass(frozen=True, slots=True)
class Label:
    """A label, how many nodes carry it, and how many of them have each key."""

    name: str
    nodes: int
    keys: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Relationship:
    """A type of relationship between two labels, how many there are, parallel ones counted each,
    and how many of them have each key."""

    start: str
    type: str
    end: str
    count: int
    keys: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class Schema:
    """What a graph is made of, in the order of names. A node of two labels counts for both."""

    labels: tuple[Label, ...]
    relationships: tuple[Relationship, ...]


def make_schema(
    labels: Iterable[tuple[str, int]],
    label_keys: Iterable[tuple[str, str, int]],
    kinds: Iterable[tuple[str, str, str, int]],
    kind_keys: Iterable[tuple[str, str, str, str, int]],
) -> Schema:
    """Return the schema of these counts: nodes of a label, those with a key; relationships of a
    kind, those with a key. In any order."""
    keys: dict[str, dict[str, int]] = {}
    for label, key, count in sorted(label_keys):
        keys.setdefault(label, {})[key] = count
    known: dict[tuple[str, ...], dict[str, int]] = {}
    for *kind, key, count in sorted(kind_keys):
        known.setdefault(tuple(map(str, kind)), {})[str(key)] = int(count)
    return Schema(
        tuple(Label(name, count, keys.get(name, {})) for name, count in sorted(labels)),
        tuple(Relationship(*one, known.get(one[:3], {})) for one in sorted(kinds)),
    )


@runtime_checkable
class PropertyGraph(KnowledgeGraph, Protocol):
    """A `KnowledgeGraph` whose nodes have labels (their types) and properties (their literals)."""

    def schema(self) -> Schema:
        """Labels with their keys, and which relationships join them."""
        ...

    def properties(self, entity_id: str) -> dict[str, list[str]]:
        """Return a node's values by key, as text, both in order."""
        return {k: [literal_name(end.id) for end in ends] for k, ends in _literals(self, entity_id)}

    def node_properties(self, entity_id: str) -> dict[str, Any]:
        """Return a node's values by key, as JSON has them; several of one key are a list."""
        found: dict[str, Any] = {}
        for key, ends in _literals(self, entity_id):
            values = [literal_value(end.id) for end in ends]
            found[key] = values[0] if len(values) == 1 else values
        return found

    def find(self, label: str, key: str, value: Value, limit: int | None = None) -> list[Entity]:
        """Return the nodes of that label (any, for `""`) whose property has that value, by id."""
        ...

    def values(self, label: str, key: str, limit: int | None = None) -> list[tuple[Value, int]]:
        """Get the values of a key among the nodes of a label, most frequent first, then by text."""
        ...

    def relationship_values(
        self, relation: str, key: str, limit: int | None = None
    ) -> list[tuple[Value, int]]:
        """Return the values of a key among the relationships of a type, in the same order."""
        ...

    def relationship_properties(
        self, start_id: str, relation: str, end_id: str
    ) -> list[dict[str, Any]]:
        """Return what each relationship of that type between two nodes has, keys in order: one for
        each where they are several, none for a single one without properties."""
        ...

    def neighborhood(self, entity_id: str, hops: int = 1, limit: int = 100) -> list[Triple]:
        """Triples around a node up to so many hops away, nearest first, at most `limit`."""
        found: dict[Triple, None] = {}
        ring, seen = [entity_id], {entity_id}
        for _ in range(hops):
            outer: list[str] = []
            for one in ring:
                for direction, triple in _around(self, one, limit):
                    if len(found) >= limit:
                        return list(found)
                    found[triple] = None
                    other = triple.tail if direction == Direction.OUT else triple.head
                    if other.id not in seen and not is_literal(other.id):
                        seen.add(other.id)
                        outer.append(other.id)
            ring = outer
        return list(found)


def value_key(relation: str, literal: str) -> int:
    """Return the hash under which the nodes with that value are found."""
    return crc32(f"{relation}\0{literal}".encode("utf-8", "surrogatepass"))


def value_literal(value: Value) -> str:
    """Return the literal's id of a property value: numbers and truth values keep their type.

    >>> value_literal(1964)
    '"1964"^^<http://www.w3.org/2001/XMLSchema#integer>'
    """
    if isinstance(value, bool):
        return literal_id(str(value).lower(), f"^^<{XSD}boolean>")
    if isinstance(value, int):
        return literal_id(str(value), f"^^<{XSD}integer>")
    if isinstance(value, float):
        return literal_id(repr(value), f"^^<{XSD}double>")
    return literal_id(value)


def literal_value(literal: str) -> Value:
    """Get the property value of a literal's id, `value_literal` undone; other datatypes are texts.

    >>> literal_value('"1964"^^<http://www.w3.org/2001/XMLSchema#integer>')
    1964
    """
    text = literal_name(literal)
    kind = literal[literal.rfind('"') + 1 :].removeprefix(f"^^<{XSD}").removesuffix(">")
    if kind == "boolean":
        return text == "true"
    try:
        return {"integer": int, "double": float}.get(kind, str)(text)
    except ValueError:  # a graph may say of any text that it is a number
        return text


def facts_of(properties: Mapping[str, Any]) -> Iterator[tuple[str, Value]]:
    """Key and value; a list is several, an object its JSON text, nothing is nothing."""
    for key, value in properties.items():
        items = cast(list[Any], value) if isinstance(value, list) else [value]
        for item in items:
            if item is None or not key:
                continue
            plain = isinstance(item, str | int | float | bool)
            yield key, item if plain else json.dumps(item, ensure_ascii=False, sort_keys=True)


def rank_values(values: Counter[str], limit: int | None) -> list[tuple[Value, int]]:
    """Return values by their literals: most frequent first, then by text."""
    ranked = sorted(values.items(), key=lambda item: (-item[1], literal_name(item[0])))
    return [(literal_value(literal), count) for literal, count in ranked[:limit]]


def _literals(graph: KnowledgeGraph, entity_id: str) -> Iterator[tuple[str, list[Entity]]]:
    for relation, _ in graph.relations(entity_id, Direction.OUT):
        ends = graph.neighbors(entity_id, relation, Direction.OUT)
        values = [end for end in ends if is_literal(end.id)]
        if values:
            yield relation, values


def _around(
    graph: KnowledgeGraph, entity_id: str, limit: int
) -> Iterator[tuple[Direction, Triple]]:
    for direction in Direction:
        relations = [relation for relation, _ in graph.relations(entity_id, direction)]
        for triple in graph.triples(entity_id, relations, direction, limit):
            yield direction, triple
