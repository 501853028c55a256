"""The property graph as agents see it: labels, keys and values, relationships with properties."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable
from zlib import crc32

from graphwalker.graphs.base import Entity, KnowledgeGraph, Triple
from graphwalker.graphs.literals import literal_id

XSD = "http://www.w3.org/2001/XMLSchema#"

Value = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Label:
    """A label, how many nodes carry it, and how many of them have each key."""

    name: str
    nodes: int
    keys: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Relationship:
    """A type of relationship between two labels, and how many there are."""

    start: str
    type: str
    end: str
    count: int


@dataclass(frozen=True, slots=True)
class Schema:
    """What a graph is made of, in the order of names. A node of two labels counts for both."""

    labels: tuple[Label, ...]
    relationships: tuple[Relationship, ...]


@runtime_checkable
class PropertyGraph(KnowledgeGraph, Protocol):
    """A `KnowledgeGraph` whose nodes have labels (their types) and properties (their literals)."""

    def schema(self) -> Schema:
        """Labels with their keys, and which relationships join them."""
        ...

    def properties(self, entity_id: str) -> dict[str, list[str]]:
        """A node's values by key, as text, both in order."""
        ...

    def find(self, label: str, key: str, value: Value, limit: int | None = None) -> list[Entity]:
        """The nodes of that label (any, for `""`) whose property has that value, in id order."""
        ...

    def values(self, label: str, key: str, limit: int | None = None) -> list[tuple[str, int]]:
        """The values of a key among the nodes of a label, most frequent first, then by text."""
        ...

    def relationship_properties(
        self, start_id: str, relation: str, end_id: str
    ) -> list[dict[str, Any]]:
        """The properties of each relationship of that type between two nodes that has any."""
        ...

    def neighborhood(self, entity_id: str, hops: int = 1, limit: int = 100) -> list[Triple]:
        """Triples around a node up to so many hops away, nearest first, at most `limit`."""
        ...


def value_key(relation: str, literal: str) -> int:
    """The hash under which the nodes with that value are found."""
    return crc32(f"{relation}\0{literal}".encode("utf-8", "surrogatepass"))


def value_literal(value: Value) -> str:
    """The literal's id of a property value: numbers and truth values keep their type.

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
