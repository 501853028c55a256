"""What a traversal plan can be made of: node types with their keys, edge types with their ends."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, Side, Step
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.properties import PropertyGraph
from graphwalker.ranking.bm25 import bm25_stems

VALUE, UNTYPED = "value", "entity"
"""The types of a literal, and of a node without one."""
LARGEST = 200_000
"""Nodes of a graph without a schema of its own that are read to make one."""
NAMED_ENDS = 3
"""Types of either end that a prompt names, the most frequent first."""


@dataclass(frozen=True, slots=True)
class EdgeType:
    """Which types it joins: each (start, end), most frequent first."""

    pairs: Mapping[tuple[str, str], int]

    def ends(self, standing: Iterable[str], direction: Direction) -> frozenset[str]:
        """The types that the edge leads to from any of those."""
        known = set(standing)
        out = direction is Direction.OUT
        return frozenset(
            (end if out else start) for start, end in self.pairs if (start if out else end) in known
        )

    def types(self, direction: Direction) -> list[str]:
        """The types that it leaves in that direction, most frequent first."""
        at = 0 if direction is Direction.OUT else 1
        counted: Counter[str] = Counter()
        for pair, count in self.pairs.items():
            counted[pair[at]] += count
        return sorted(counted, key=lambda one: (-counted[one], one))


@dataclass(frozen=True, slots=True)
class TraversalSchema:
    """Node types with their attribute keys; edge types."""

    nodes: Mapping[str, Sequence[str]]
    edges: Mapping[str, EdgeType]
    _near: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    def direction(self, standing: Iterable[str], edge: str, wanted: str = "") -> Direction | None:
        """Along the edge where it leaves one of those types, else against it (an edge type may be
        stored at one end only); `None` where neither is possible. `wanted`: `out` or `in`."""
        ways = [Direction(wanted)] if wanted else [Direction.OUT, Direction.IN]
        types = self.edges[edge]
        return next((way for way in ways if types.ends(standing, way)), None)

    def reachable(self, standing: Iterable[str], hops: int) -> frozenset[str]:
        """The types on any path of up to so many edges, whatever their direction."""
        if not self._near:
            near: dict[str, set[str]] = {}
            for edge in self.edges.values():
                for start, end in edge.pairs:
                    near.setdefault(start, set()).add(end)
                    near.setdefault(end, set()).add(start)
            self._near.update((one, frozenset(others)) for one, others in near.items())
        ring, seen = set(standing), set[str]()
        for _ in range(hops):
            ring = {other for one in ring for other in self._near.get(one, ())} - seen
            seen |= ring
        return frozenset(seen)

    def describe(self, question: str, most: int) -> str:
        """The schema for a prompt; of more than `most` edge types those that fit the question."""
        edges = sorted(self.edges)
        hidden = max(0, len(edges) - most)
        if hidden:
            edges = sorted(bm25_stems(question, "", tuple(edges))[:most])
        used = {t for e in edges for pair in self.edges[e].pairs for t in pair}
        nodes = [n for n in sorted(self.nodes) if not hidden or n in used]
        return "\n".join(
            [
                "Node types (attributes):",
                *(f"- {name} ({', '.join(self.nodes[name])})" for name in nodes),
                "Edge types (from -> to):",
                *(f"- {name}: {self._sides(name)}" for name in edges),
                *([f"({hidden} more edge types are not shown)"] if hidden else []),
            ]
        )

    def _sides(self, name: str) -> str:
        sides = [self.edges[name].types(way)[:NAMED_ENDS] for way in Direction]
        return " -> ".join(" | ".join(side) for side in sides)


def types_of(graph: KnowledgeGraph, entity: Entity) -> Sequence[str]:
    """The types of a node; never none."""
    if is_literal(entity.id):
        return (VALUE,)
    return graph.types(entity.id) or (UNTYPED,)


def traversal_schema(graph: KnowledgeGraph) -> TraversalSchema:
    """The schema of a property graph, else one read from every node, CVT nodes crossed.

    Raises `UserError` for a graph without types that is too large to be read.
    """
    if isinstance(graph, PropertyGraph):
        own = graph.schema()
        pairs: dict[str, dict[tuple[str, str], int]] = {}
        for row in own.relationships:
            pairs.setdefault(row.type, {})[row.start, row.end] = row.count
        nodes = {label.name: sorted(label.keys) for label in own.labels}
        return TraversalSchema(nodes, {name: EdgeType(found) for name, found in pairs.items()})
    if not 0 < graph.size <= LARGEST:
        raise UserError(
            f"graphrunner plans over node and edge types: give a property graph, or a graph of at "
            f"most {LARGEST:,} named nodes (this one lists {graph.size:,})"
        )
    return _read(graph)


def _read(graph: KnowledgeGraph) -> TraversalSchema:
    nodes: set[str] = set()
    edges: dict[str, Counter[tuple[str, str]]] = {}
    for number in range(graph.size):
        here = graph.entity_at(number)
        starts = types_of(graph, here)
        nodes.update(starts)
        (listed,) = graph.flat_relations_many([Side(here.id, Direction.OUT)])
        steps = [Step(here.id, relation, Direction.OUT) for relation, _ in listed]
        for step, ends in zip(steps, graph.step_many(steps), strict=True):
            counted = edges.setdefault(step.relation, Counter())
            for end in ends:
                counted.update((a, b) for a in starts for b in types_of(graph, end))
    nodes.update(end for pairs in edges.values() for pair in pairs for end in pair)
    found = {name: EdgeType(pairs) for name, pairs in edges.items() if pairs}
    return TraversalSchema(dict.fromkeys(nodes, ()), found)
