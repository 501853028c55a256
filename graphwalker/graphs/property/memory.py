"""A property graph in dicts: for small graphs, and the reference that others must equal."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from graphwalker.errors import UserError
from graphwalker.files import dumps
from graphwalker.graphs.base import Entity
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.graphs.properties import (
    NAME_KEYS,
    PropertyGraph,
    Schema,
    Value,
    facts_of,
    make_schema,
    rank_values,
    value_literal,
)


@dataclass(frozen=True, slots=True)
class Node:
    """A node: its id, its labels, its properties as JSON has them."""

    id: str
    labels: tuple[str, ...]
    properties: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Edge:
    """A relationship between two nodes by their ids, with its properties."""

    start: str
    type: str
    end: str
    properties: Mapping[str, Any] = field(default_factory=dict[str, Any])


class MemoryPropertyGraph(MemoryGraph, PropertyGraph):
    """A `PropertyGraph` built at once.

    >>> ann, bob = Node("1", ("Person",), {"name": "Ann", "born": 1970}), Node("2", ("Person",))
    >>> graph = MemoryPropertyGraph([ann, bob], [Edge("1", "KNOWS", "2", {"since": 1998})])
    >>> graph.find("Person", "born", 1970), graph.relationship_values("KNOWS", "since")
    ([Entity(id='1', name='Ann')], [(1998, 1)])
    """

    def __init__(self, nodes: Iterable[Node], relationships: Iterable[Edge]) -> None:
        self.nodes = _by_id(nodes)
        self.edges = tuple(relationships)
        for edge in self.edges:
            if not {edge.start, edge.end} <= self.nodes.keys():
                raise UserError(f"the relationship {edge.start} {edge.type} {edge.end} has no node")
        facts = [
            (node.id, key, value_literal(value))
            for node in self.nodes.values()
            for key, value in facts_of(node.properties)
        ]
        ends = [(edge.start, edge.type, edge.end) for edge in self.edges]
        names = {node.id: _display_name(node) for node in self.nodes.values()}
        super().__init__([*facts, *ends], names, {n.id: n.labels for n in self.nodes.values()})
        self.checksum = _checksum(self.checksum, self.edges)
        self._by_value: dict[tuple[str, str], list[str]] = defaultdict(list)
        for node_id, key, literal in sorted(set(facts)):
            self._by_value[key, literal].append(node_id)
        self._between: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
        for edge in self.edges:
            known = dict(sorted(edge.properties.items()))
            self._between[edge.start, edge.type, edge.end].append(known)
        self._schema = self._made_schema()
        self._known: dict[str, dict[str, Any]] = {}

    def schema(self) -> Schema:
        return self._schema

    def node_properties(self, entity_id: str) -> dict[str, Any]:
        if entity_id not in self._known:
            self._known[entity_id] = super().node_properties(entity_id)
        return dict(self._known[entity_id])

    def find(self, label: str, key: str, value: Value, limit: int | None = None) -> list[Entity]:
        found = self._by_value.get((key, value_literal(value)), ())
        fits = [i for i in found if not label or label in self.nodes[i].labels]
        return [Entity(i, self.name(i)) for i in fits[:limit]]

    def values(self, label: str, key: str, limit: int | None = None) -> list[tuple[Value, int]]:
        nodes = [n for n in self.nodes.values() if not label or label in n.labels]
        return rank_values(_values(key, [node.properties for node in nodes]), limit)

    def relationship_values(
        self, relation: str, key: str, limit: int | None = None
    ) -> list[tuple[Value, int]]:
        edges = [edge.properties for edge in self.edges if edge.type == relation]
        return rank_values(_values(key, edges), limit)

    def relationship_properties(
        self, start_id: str, relation: str, end_id: str
    ) -> list[dict[str, Any]]:
        found = self._between.get((start_id, relation, end_id), [])
        return [] if found == [{}] else sorted(found, key=_text)

    def _made_schema(self) -> Schema:
        keys: dict[str, Counter[str]] = defaultdict(Counter)
        kinds: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
        counts: Counter[tuple[str, str, str]] = Counter()
        sizes = Counter(label for node in self.nodes.values() for label in node.labels)
        for node in self.nodes.values():
            for label in node.labels:
                keys[label].update({key for key, _ in facts_of(node.properties)})
        for edge in self.edges:
            for start in self.nodes[edge.start].labels:
                for end in self.nodes[edge.end].labels:
                    kind = (start, edge.type, end)
                    counts[kind] += 1
                    kinds[kind].update({key for key, _ in facts_of(edge.properties)})
        return make_schema(
            sizes.items(),
            ((label, *item) for label, found in keys.items() for item in found.items()),
            ((*kind, count) for kind, count in counts.items()),
            ((*kind, *item) for kind, found in kinds.items() for item in found.items()),
        )


def _by_id(nodes: Iterable[Node]) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for node in nodes:
        if not node.id or is_literal(node.id):
            raise UserError(f"a node's id is a text without a quotation mark at first: {node.id!r}")
        if node.id in found:
            raise UserError(f"two nodes have the id {node.id!r}")
        found[node.id] = node
    return found


def _display_name(node: Node) -> str:
    names = (node.properties.get(key) for key in NAME_KEYS)
    return next((str(name) for name in names if name), node.id)


def _values(key: str, having: Iterable[Mapping[str, Any]]) -> Counter[str]:
    facts = (fact for properties in having for fact in facts_of(properties))
    return Counter(value_literal(value) for known, value in facts if known == key)


def _text(properties: Mapping[str, Any]) -> str:
    return dumps(dict(sorted(properties.items())))


def _checksum(of_triples: str, edges: Sequence[Edge]) -> str:
    digest = blake2b(of_triples.encode(), digest_size=16)
    for row in sorted((e.start, e.type, e.end, _text(e.properties)) for e in edges):
        digest.update(repr(row).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
