"""Traversal plans: the schema they are made of, read from what a model wrote, and verified."""

import difflib
import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, cast

from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, Side, Step
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.properties import PropertyGraph
from graphwalker.ranking.bm25 import bm25_stems
from graphwalker.tools.namebook import quote

VALUE, UNTYPED = "value", "entity"
"""The types of a literal, and of a node without one."""
LARGEST = 200_000
"""Nodes of a graph without a schema of its own that are read to make one."""
NAMED_ENDS = 3
"""Types of either end that a prompt names, the most frequent first."""


@dataclass(frozen=True)
class TraversalSchema:
    """Node types with their attribute keys; edge types with the (start, end) types that each
    joins, and how often."""

    nodes: Mapping[str, Sequence[str]]
    edges: Mapping[str, Mapping[tuple[str, str], int]]

    def ends(self, edge: str, standing: Iterable[str], direction: Direction) -> frozenset[str]:
        """Return the types that the edge leads to from any of those."""
        known, out = set(standing), direction is Direction.OUT
        return frozenset(
            (end if out else start)
            for start, end in self.edges[edge]
            if (start if out else end) in known
        )

    def types(self, edge: str, direction: Direction) -> list[str]:
        """Return the types that the edge leaves in that direction, most frequent first."""
        counted: Counter[str] = Counter()
        for pair, count in self.edges[edge].items():
            counted[pair[direction is Direction.IN]] += count
        return sorted(counted, key=lambda one: (-counted[one], one))

    def direction(self, standing: Iterable[str], edge: str, wanted: str = "") -> Direction | None:
        """Along the edge where it leaves one of those types, else against it (an edge type may be
        stored at one end only); `None` where neither is possible. `wanted`: `out` or `in`."""
        ways = [Direction(wanted)] if wanted else [Direction.OUT, Direction.IN]
        return next((way for way in ways if self.ends(edge, standing, way)), None)

    @cached_property
    def _near(self) -> dict[str, set[str]]:
        near: dict[str, set[str]] = {}
        for start, end in (pair for pairs in self.edges.values() for pair in pairs):
            near.setdefault(start, set()).add(end)
            near.setdefault(end, set()).add(start)
        return near

    def reachable(self, standing: Iterable[str]) -> set[str]:
        """Return the types on any path of up to `RINGS` edges, whatever their direction."""
        ring, seen = set(standing), set[str]()
        for _ in range(RINGS):
            ring = {other for one in ring for other in self._near.get(one, ())} - seen
            seen |= ring
        return seen

    def describe(self, question: str, most: int) -> str:
        """Return the schema for a prompt; of over `most` edge types those that fit best."""
        edges = sorted(self.edges)
        hidden = max(0, len(edges) - most)
        if hidden:
            edges = sorted(bm25_stems(question, "", tuple(edges))[:most])
        used = {t for e in edges for pair in self.edges[e] for t in pair}
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
        sides = [self.types(name, way)[:NAMED_ENDS] for way in Direction]
        return " -> ".join(" | ".join(side) for side in sides)


def types_of(graph: KnowledgeGraph, entity: Entity) -> Sequence[str]:
    """Return the types of a node; never none."""
    if is_literal(entity.id):
        return (VALUE,)
    return graph.types(entity.id) or (UNTYPED,)


def traversal_schema(graph: KnowledgeGraph) -> TraversalSchema:
    """Return the schema of a property graph, else one read from every node, CVT nodes crossed.

    Raises `UserError` for a graph without types that is too large to be read.
    """
    if isinstance(graph, PropertyGraph):
        own = graph.schema()
        pairs: dict[str, dict[tuple[str, str], int]] = {}
        for row in own.relationships:
            pairs.setdefault(row.type, {})[row.start, row.end] = row.count
        keys = {label.name: sorted(label.keys) for label in own.labels}
        return TraversalSchema(keys, pairs)
    if not 0 < graph.size <= LARGEST:
        raise UserError(
            f"graphrunner plans over node and edge types: give a property graph, or a graph of at "
            f"most {LARGEST:,} named nodes (this one lists {graph.size:,})"
        )
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
    found = {name: pairs for name, pairs in edges.items() if pairs}
    return TraversalSchema(dict.fromkeys(nodes, ()), found)


FIND, FETCH, COMMON = "Find_Node", "Fetch_Neighbors", "Find_Common_Nodes"
ACTIONS: Mapping[str, str] = {
    FIND: '{"action": "Find_Node", "node_finding_hint": "text", "node_type": "type"}',
    FETCH: '{"action": "Fetch_Neighbors", "targeted_edge_type": "type"} or '
    '{"action": "Fetch_Neighbors", "targeted_node_type": "type"}',
    COMMON: '{"action": "Find_Common_Nodes", "nodes": [["$1", "edge type"], ["$2", "edge type"]]}',
}
MOST_STEPS = 20
RINGS = 4
"""Hops within which a node type is looked for; unbounded in the paper, which on a connected graph
means every node of the type."""


PlanStep = Mapping[str, Any]
"""A step as a model writes it, once its form is known to be right: `action` and its arguments. A
node of `nodes` is `$k` for step k, or a hint; the direction of an edge is `out`, `in`, or left out:
whichever fits."""
_ARGUMENTS: Mapping[str, Sequence[set[str]]] = {
    FIND: [{"node_finding_hint", "node_type"}],
    FETCH: [{"targeted_node_type"}, {"targeted_edge_type"}, {"targeted_edge_type", "direction"}],
    COMMON: [{"nodes"}],
}


class PlanFault(Exception):
    """Why a plan cannot be executed: its kind and reason, the step (from 1), as written."""

    def __init__(self, kind: str, reason: str, step: int = 1, written: str = "") -> None:
        super().__init__(kind, reason)
        self.kind, self.reason, self.step, self.written = kind, reason, step, written

    def __str__(self) -> str:
        return f"step {self.step} {self.written}: {self.reason}"


def read_plan(steps: Sequence[Any]) -> tuple[PlanStep, ...]:
    """Return the steps of a plan in JSON. Raises `PlanFault` at the first that has no known action
    or not its arguments."""
    if not steps:
        raise PlanFault("empty", "the plan has no step")
    if len(steps) > MOST_STEPS:
        raise PlanFault("too_long", f"at most {MOST_STEPS} steps", MOST_STEPS + 1)
    return tuple(_read_step(number, raw) for number, raw in enumerate(steps, start=1))


def types_of_steps(plan: Sequence[PlanStep], schema: TraversalSchema) -> list[frozenset[str]]:
    """Return the types that each step leads to: a step stands on those of the one before it.

    Raises `PlanFault` at the first step that the graph's structure does not allow.
    """
    standing: list[frozenset[str]] = []
    for number, step in enumerate(plan, start=1):
        try:
            standing.append(_types_after(step, standing, schema))
        except PlanFault as fault:
            raise PlanFault(fault.kind, fault.reason, number, describe_step(step)) from None
    return standing


@cache
def shipped_plans() -> Sequence[tuple[str, str, list[Any]]]:
    """Return the example plans: question, thought, steps in JSON."""
    text = Path(__file__).with_name("examples.toml").read_text(encoding="utf-8")
    plans = tomllib.loads(text)["plan"]
    return [(plan["question"], plan["thought"], json.loads(plan["steps"])) for plan in plans]


def examples_of(schema: TraversalSchema) -> str:
    """Return the shipped plans that this graph could execute, each behind its question."""
    return "\n".join(
        f"Example question: {question}\n{json.dumps({'thought': thought, 'plan': steps})}"
        for question, thought, steps in shipped_plans()
        if steps[0]["node_type"] in schema.nodes and _is_sound(steps, schema)
    )


def _is_sound(steps: Sequence[Any], schema: TraversalSchema) -> bool:
    try:
        types_of_steps(read_plan(steps), schema)
    except PlanFault:
        return False
    return True


def describe_step(step: PlanStep) -> str:
    """Return the step in a few words, for people and for a model that plans again."""
    match step:
        case {"node_finding_hint": hint, "node_type": node_type}:
            return f"{FIND}({quote(hint[:100])}, {node_type[:100]})"
        case {"targeted_edge_type": edge}:
            way = f", {step['direction']}" if "direction" in step else ""
            return f"{FETCH}(edge {edge[:100]}{way})"
        case {"targeted_node_type": node_type}:
            return f"{FETCH}(node {node_type[:100]})"
        case _:
            pairs = ", ".join(f"({quote(n[:60])}, {e[:60]})" for n, e, *_ in step["nodes"][:5])
            return f"{COMMON}({pairs})"


def source_step(node: str) -> int:
    """Return the number in `$3`, 0 for a hint."""
    return int(node[1:]) if node[:1] == "$" and node[1:].isascii() and node[1:].isdigit() else 0


def _read_step(number: int, raw: Any) -> PlanStep:
    if not isinstance(raw, Mapping):
        form = "a step is a JSON object with an action"
        raise PlanFault("form", form, number, str(raw)[:100])
    fields = dict(cast("Mapping[str, Any]", raw))
    action = fields.pop("action", None)
    nested = fields.pop("arguments", None)
    if isinstance(nested, Mapping):
        fields = {**cast("Mapping[str, Any]", nested), **fields}
    # A null is an argument that is left out: the other of two is given.
    fields = {key: value for key, value in fields.items() if value is not None}
    shown = f"{str(action)[:60]}({', '.join(map(str, fields))[:100]})"
    if not isinstance(action, str) or action not in ACTIONS:
        reason = f"there is no such action; use {', '.join(ACTIONS)}"
        raise PlanFault("unknown_action", reason, number, shown)
    if not _is_formed(action, fields):
        raise PlanFault("form", f"write {ACTIONS[action]}", number, shown)
    if action == FIND:
        fields["node_finding_hint"] = fields["node_finding_hint"].strip()
    if action == COMMON:
        fields["nodes"] = [(node.strip(), *edge) for node, *edge in fields["nodes"]]
    return {"action": action, **fields}


def _is_formed(action: str, fields: Mapping[str, Any]) -> bool:
    """Return whether the arguments are those of the action: texts, or `["$1", "edge type"]`, with
    the direction behind or without."""
    if fields.keys() not in _ARGUMENTS[action]:
        return False
    if action != COMMON:
        return _are_texts([*fields.values()]) and fields.get("direction", "in") in [*Direction]
    nodes: Any = fields["nodes"]
    return isinstance(nodes, list) and len(nodes) > 1 and all(map(_is_source, nodes))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _is_source(raw: Any) -> bool:
    known = isinstance(raw, list | tuple) and len(raw) in (2, 3) and _are_texts([*raw])  # pyright: ignore[reportUnknownArgumentType]
    return known and (len(raw) == 2 or raw[2] in [*Direction])  # pyright: ignore[reportUnknownArgumentType]


def _are_texts(values: Sequence[Any]) -> bool:
    return all(isinstance(value, str) and value.strip() for value in values)


def _types_after(
    step: PlanStep, standing: Sequence[frozenset[str]], schema: TraversalSchema
) -> frozenset[str]:
    if not standing and step["action"] != FIND:
        raise PlanFault("first_step", f"nothing was found yet: the first step is {FIND}")
    match step:
        case {"node_type": node_type}:
            # A value is found along an edge, never by a hint.
            _require_known("node type", node_type, [n for n in schema.nodes if n != VALUE])
            return frozenset([node_type])
        case {"targeted_edge_type": edge}:
            return _along(standing[-1], schema, edge, step.get("direction", ""))
        case {"targeted_node_type": node_type}:
            _require_known("node type", node_type, list(schema.nodes))
            if node_type not in schema.reachable(standing[-1]):
                reason = f"no path of {RINGS} edges from {_some(standing[-1])} to {node_type}"
                raise PlanFault("unreachable", reason)
            return frozenset([node_type])
        case _:
            return _common_schema_types(step["nodes"], standing, schema)


def _along(
    standing: frozenset[str], schema: TraversalSchema, edge: str, wanted: str = ""
) -> frozenset[str]:
    _require_known("edge type", edge, list(schema.edges))
    direction = schema.direction(standing, edge, wanted)
    if direction is None:
        ends = " -> ".join(_some(schema.types(edge, way)) for way in Direction)
        raise PlanFault("infeasible", f"{edge} ({ends}) does not leave {_some(standing)}")
    return schema.ends(edge, standing, direction)


def _common_schema_types(
    sources: Sequence[Sequence[str]], standing: Sequence[frozenset[str]], schema: TraversalSchema
) -> frozenset[str]:
    ends: list[frozenset[str]] = []
    for node, edge, *way in sources:
        number = source_step(node)
        if node.startswith("$") and not 1 <= number <= len(standing):
            raise PlanFault("unknown_step", f"{node[:20]} is no earlier step")
        _require_known("edge type", edge, list(schema.edges))
        here = standing[number - 1] if number else hint_types(edge, schema)
        ends.append(_along(here, schema, edge, *way))
    common = ends[0].intersection(*ends[1:])
    if not common:
        raise PlanFault("infeasible", "these edges lead to no common node type")
    return common


def hint_types(edge: str, schema: TraversalSchema) -> frozenset[str]:
    """Return the types among which a hint is looked for: those that the edge leaves."""
    return frozenset(schema.types(edge, Direction.OUT))


def _require_known(what: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        near = difflib.get_close_matches(name[:200], known, n=3, cutoff=0.5) or sorted(known)[:5]
        reason = f"there is no {what} {quote(name[:100])}; nearest are {', '.join(near)}"
        raise PlanFault(f"unknown_{what.replace(' ', '_')}", reason)


def _some(types: Sequence[str] | frozenset[str]) -> str:
    listed = sorted(types) if isinstance(types, frozenset) else types
    return " | ".join(listed[:3]) + (" | ..." if len(listed) > 3 else "")
