"""The compiled property graph: a compiled graph that also finds nodes by what they have."""

import json
from bisect import bisect_left
from collections import Counter
from typing import Any

from graphwalker.graphs.base import Direction, Entity, Triple
from graphwalker.graphs.compiled.graph import CompiledGraph
from graphwalker.graphs.format.arrays import Buckets, strings
from graphwalker.graphs.format.layout import Layout
from graphwalker.graphs.literals import is_literal, literal_name
from graphwalker.graphs.properties import (
    Label,
    Relationship,
    Schema,
    Value,
    value_key,
    value_literal,
)


class CompiledPropertyGraph(CompiledGraph):
    """A `PropertyGraph`; `open_graph` gives one for what was built from property-graph files."""

    def __init__(self, layout: Layout) -> None:
        super().__init__(layout)
        self._by_value = Buckets(layout, "value")
        self._heads = layout.array("edge_property_heads")
        self._kinds = layout.array("edge_property_relations")
        self._tails = layout.array("edge_property_tails")
        self._texts = strings(layout, "edge_property")
        self._schema = _schema(bytes(layout.array("schema")))

    def schema(self) -> Schema:
        return self._schema

    def properties(self, entity_id: str) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for relation, _ in self.relations(entity_id, Direction.OUT):
            ends = self.neighbors(entity_id, relation, Direction.OUT)
            values = [literal_name(end.id) for end in ends if is_literal(end.id)]
            if values:
                found[relation] = values
        return found

    def find(self, label: str, key: str, value: Value, limit: int | None = None) -> list[Entity]:
        literal = value_literal(value)
        nodes = dict.fromkeys(self._by_value.find_hash(value_key(key, literal)))
        found: list[Entity] = []
        for node in nodes:
            entity = self.node_at(node)
            if label and label not in self.types(entity.id):
                continue
            if self.linked(entity.id, key, literal, Direction.OUT):
                found.append(entity)
        return sorted(found, key=_by_id)[:limit]

    def values(self, label: str, key: str, limit: int | None = None) -> list[tuple[str, int]]:
        counted: Counter[str] = Counter()
        for entity in map(self.entity_at, range(self.size)):
            if not label or label in self.types(entity.id):
                ends = self.neighbors(entity.id, key, Direction.OUT)
                counted.update(literal_name(end.id) for end in ends if is_literal(end.id))
        return sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:limit]

    def relationship_properties(
        self, start_id: str, relation: str, end_id: str
    ) -> list[dict[str, Any]]:
        wanted = self._relationship_numbers(start_id, relation, end_id)
        at = bisect_left(range(len(self._heads)), wanted, key=self._edge)
        found: list[dict[str, Any]] = []
        while at < len(self._heads) and self._edge(at) == wanted:
            found.append(json.loads(self._texts(at)))
            at += 1
        return found

    def neighborhood(self, entity_id: str, hops: int = 1, limit: int = 100) -> list[Triple]:
        found: dict[Triple, None] = {}
        ring, seen = [entity_id], {entity_id}
        for _ in range(hops):
            outer: list[str] = []
            for one in ring:
                for direction in Direction:
                    for triple in self._around(one, direction, limit):
                        if len(found) >= limit:
                            return list(found)
                        found[triple] = None
                        other = triple.tail if direction is Direction.OUT else triple.head
                        if other.id not in seen and not is_literal(other.id):
                            seen.add(other.id)
                            outer.append(other.id)
            ring = outer
        return list(found)

    def _around(self, entity_id: str, direction: Direction, limit: int) -> list[Triple]:
        relations = [relation for relation, _ in self.relations(entity_id, direction)]
        return self.triples(entity_id, relations, direction, limit)

    def _edge(self, at: int) -> tuple[int, int, int]:
        return self._heads[at], self._kinds[at], self._tails[at]

    def _relationship_numbers(
        self, start_id: str, relation: str, end_id: str
    ) -> tuple[int, int, int]:
        kind = self.relation_number(relation)
        return self.node_number(start_id), kind, self.node_number(end_id)


def _schema(data: bytes) -> Schema:
    schema = json.loads(data)
    keys: dict[str, dict[str, int]] = {}
    for label, key, count in schema["keys"]:
        keys.setdefault(label, {})[key] = count
    labels = tuple(Label(name, count, keys.get(name, {})) for name, count in schema["labels"])
    return Schema(labels, tuple(Relationship(*row) for row in schema["relationships"]))


def _by_id(entity: Entity) -> bytes:
    return entity.id.encode()
