"""What the templates ask of a property graph, executed in Python: the meaning of their Cypher.

The tests execute the Cypher itself, with an engine of another make, and compare.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from graphwalker.answers.rows import AnswerRow
from graphwalker.graphs.property.memory import Edge, MemoryPropertyGraph, Node


@dataclass(frozen=True, slots=True)
class Pattern:
    """A graph with its relationships by where they start."""

    graph: MemoryPropertyGraph
    out: dict[str, list[Edge]]

    @classmethod
    def of(cls, graph: MemoryPropertyGraph) -> "Pattern":
        out: dict[str, list[Edge]] = {node: [] for node in graph.nodes}
        for edge in graph.edges:
            out[edge.start].append(edge)
        return cls(graph, out)

    def nodes_with_label(self, label: str) -> list[Node]:
        return [node for node in self.graph.nodes.values() if label in node.labels]

    def ends(self, node: str, label: str = "") -> list[str]:
        """Return where the relationships lead that start at the node."""
        return [edge.end for edge in self.out[node] if not label or self.has(edge.end, label)]

    def has(self, node: str, label: str) -> bool:
        return label in self.graph.nodes[node].labels

    def trails(self, start: str, least: int, most: int) -> Iterator[tuple[Edge, ...]]:
        """Ways of so many steps that use no relationship twice, as `-[*least..most]->` does."""
        ways: list[tuple[Edge, ...]] = [()]
        for length in range(1, most + 1):
            ways = [
                (*way, edge)
                for way in ways
                for edge in self.out[way[-1].end if way else start]
                if edge not in way
            ]
            if length >= least:
                yield from ways


Values = dict[str, str | int | float | bool]
Execute = Callable[[Pattern, Values], list[AnswerRow]]


def node_count(p: Pattern, v: Values) -> list[AnswerRow]:
    found = sum(bool(p.ends(a.id, str(v["target"]))) for a in p.nodes_with_label(str(v["source"])))
    return [{"count": found}] if found else []


def relationship_count(p: Pattern, v: Values) -> list[AnswerRow]:
    found = sum(edge.type == v["relationship"] for edge in p.graph.edges)
    return [{"count": found}] if found else []


def most_relationships(p: Pattern, v: Values) -> list[AnswerRow]:
    """Return every node of the highest count."""
    counts = Counter(
        node.id
        for node in p.nodes_with_label(str(v["source"]))
        for edge in p.out[node.id]
        if edge.type == v["relationship"]
    )
    most = max(counts.values(), default=0)
    return [{"node_key": key, "rel_count": n} for key, n in counts.items() if n == most]


def node_by_property(p: Pattern, v: Values) -> list[AnswerRow]:
    nodes = p.nodes_with_label(str(v["source"]))
    return _keys(n.id for n in nodes if n.properties.get(str(v["property"])) == v["value"])


def relationship_by_property(p: Pattern, v: Values) -> list[AnswerRow]:
    return [
        {"source_key": edge.start, "target_key": edge.end, **edge.properties}
        for edge in p.graph.edges
        if edge.type == v["relationship"] and edge.properties.get(str(v["property"])) == v["value"]
    ]


def path_finding(p: Pattern, v: Values) -> list[AnswerRow]:
    source, middle, target = (str(v[name]) for name in ("source", "middle", "target"))
    return _pairs(
        (a.id, c)
        for a in p.nodes_with_label(source)
        for b in p.ends(a.id, middle)
        for c in p.ends(b, target)
    )


def variable_hop(p: Pattern, v: Values) -> list[AnswerRow]:
    return _pairs(
        (a.id, way[-1].end)
        for a in p.nodes_with_label(str(v["source"]))
        for way in p.trails(a.id, 1, int(v["hops"]))
        if p.has(way[-1].end, str(v["target"]))
        # The step after the path is part of the same pattern: no relationship stands in it twice.
        and any(edge not in way for edge in p.out[way[-1].end])
    )


def from_node(p: Pattern, v: Values) -> list[AnswerRow]:
    ways = p.trails(str(v["key"]), 1, int(v["hops"]))
    ends = dict.fromkeys(way[-1].end for way in ways if p.has(way[-1].end, str(v["target"])))
    return [{"target_node_key": end} for end in ends]


def remote_property(p: Pattern, v: Values) -> list[AnswerRow]:
    near, key = set(p.ends(str(v["key"]))), str(v["property"])
    ways = p.trails(str(v["key"]), 2, int(v["hops"]))
    ends = {way[-1].end for way in ways if p.has(way[-1].end, str(v["target"]))} - near
    values = {p.graph.nodes[end].properties.get(key) for end in ends}
    return [{"value": value} for value in sorted(values - {None}, key=str)]


def intersection(p: Pattern, v: Values) -> list[AnswerRow]:
    one, other = str(v["first"]), str(v["second"])
    nodes = p.nodes_with_label(str(v["source"]))
    return _keys(n.id for n in nodes if p.ends(n.id, one) and p.ends(n.id, other))


def negation(p: Pattern, v: Values) -> list[AnswerRow]:
    one, other = str(v["first"]), str(v["second"])
    nodes = p.nodes_with_label(str(v["source"]))
    return _keys(n.id for n in nodes if p.ends(n.id, one) and not p.ends(n.id, other))


def relationship_negation(p: Pattern, v: Values) -> list[AnswerRow]:
    key, unwanted = str(v["relationship_property"]), v["unwanted"]
    return _keys(
        node.id
        for node in p.nodes_with_label(str(v["source"]))
        if node.properties.get(str(v["property"])) == v["value"]
        for edge in p.out[node.id]
        if edge.type == v["relationship"]
        and p.has(edge.end, str(v["target"]))
        and edge.properties.get(key) not in (None, unwanted)  # of a missing value `<>` says nothing
    )


def _keys(keys: Iterator[str]) -> list[AnswerRow]:
    return [{"node_key": key} for key in dict.fromkeys(keys)]


def _pairs(pairs: Iterator[tuple[str, str]]) -> list[AnswerRow]:
    return [{"source_node_key": a, "target_node_key": b} for a, b in dict.fromkeys(pairs)]
