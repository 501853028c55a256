"""The compiled property graph, which also finds nodes by what they have, and opening of either."""

import json
from bisect import bisect_left
from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import Any

from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.compiled.graph import CompiledGraph, decoding
from graphwalker.graphs.format.layout import Layout
from graphwalker.graphs.format.nodes import HashTable
from graphwalker.graphs.format.texts import TextBlocks
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.properties import (
    PropertyGraph,
    Schema,
    Value,
    facts_of,
    make_schema,
    rank_values,
    value_key,
    value_literal,
)


class CompiledPropertyGraph(CompiledGraph, PropertyGraph):
    """A `PropertyGraph`; `open_graph` gives one for what was built from property-graph files."""

    @decoding
    def __init__(self, layout: Layout) -> None:
        super().__init__(layout)
        self._by_value = HashTable(layout, "value")
        self._heads = layout.array("edge_property_heads")
        self._kinds = layout.array("edge_property_relations")
        self._tails = layout.array("edge_property_tails")
        self._texts = TextBlocks(layout, "edge_property")

    @decoding
    def schema(self) -> Schema:
        return self._schema

    @cached_property
    def _schema(self) -> Schema:
        stored = json.loads(bytes(self._layout.array("schema")))
        kind_keys = json.loads(bytes(self._layout.array("relationship_keys")))
        tables = (stored["labels"], stored["keys"], stored["relationships"], kind_keys)
        return make_schema(*([tuple(row) for row in table] for table in tables))

    @decoding
    def find(self, label: str, key: str, value: Value, limit: int | None = None) -> list[Entity]:
        literal = value_literal(value)
        nodes = dict.fromkeys(self._by_value.find_hash(value_key(key, literal)))
        found: list[Entity] = []
        for node in nodes:
            entity = self.node_at(node)
            if label and label not in self.types(entity.id):
                continue
            if self.is_linked(entity.id, key, literal, Direction.OUT):
                found.append(entity)
        return sorted(found, key=lambda end: end.id)[:limit]

    @decoding
    def values(self, label: str, key: str, limit: int | None = None) -> list[tuple[Value, int]]:
        found: Counter[str] = Counter()
        for entity in map(self.entity_at, range(self.size)):
            if not label or label in self.types(entity.id):
                ends = self.neighbors(entity.id, key, Direction.OUT)
                found.update(end.id for end in ends if is_literal(end.id))
        return rank_values(found, limit)

    @decoding
    def relationship_values(
        self, relation: str, key: str, limit: int | None = None
    ) -> list[tuple[Value, int]]:
        kind, found = self.relation_number(relation), Counter[str]()
        for at in range(len(self._kinds)):
            if self._kinds[at] == kind:
                facts = facts_of(json.loads(self._texts[at]))
                found.update(value_literal(value) for known, value in facts if known == key)
        return rank_values(found, limit)

    @decoding
    def relationship_properties(
        self, start_id: str, relation: str, end_id: str
    ) -> list[dict[str, Any]]:
        wanted = self._relationship_numbers(start_id, relation, end_id)
        at = bisect_left(range(len(self._heads)), wanted, key=self._edge)
        found: list[dict[str, Any]] = []
        while at < len(self._heads) and self._edge(at) == wanted:
            found.append(json.loads(self._texts[at]))
            at += 1
        return found

    def _edge(self, at: int) -> tuple[int, int, int]:
        return self._heads[at], self._kinds[at], self._tails[at]

    def _relationship_numbers(
        self, start_id: str, relation: str, end_id: str
    ) -> tuple[int, int, int]:
        kind = self.relation_number(relation)
        return self.node_number(start_id), kind, self.node_number(end_id)


def open_compiled(path: Path | str) -> CompiledGraph:
    """Open what `build_graph` wrote; `path` is its folder or the file inside.

    Built from property-graph files, it is a `PropertyGraph`, too. Raises `UserError` for a file
    that is missing, foreign or of a newer format, `GraphError` for one that is damaged.
    """
    layout = Layout(path)
    if layout.has("schema"):
        return CompiledPropertyGraph(layout)
    return CompiledGraph(layout)
