"""Traversal plans: read from what a model wrote, and verified before anything runs."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from graphwalker.agents.published.graphrunner.schema import VALUE, TraversalSchema
from graphwalker.graphs.base import Direction
from graphwalker.tools.namebook import quote

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


@dataclass(frozen=True, slots=True)
class FindNode:
    """Nodes of a type that fit a hint."""

    hint: str
    node_type: str


@dataclass(frozen=True, slots=True)
class FetchByEdge:
    """The neighbours by one edge type; `direction` is `out`, `in`, or `""`: whichever fits."""

    edge: str
    direction: str = ""


@dataclass(frozen=True, slots=True)
class FetchByType:
    """The nearest nodes of a type, by whatever path."""

    node_type: str


@dataclass(frozen=True, slots=True)
class FindCommon:
    """The nodes that all of these lead to: (`$k` for step k, or a hint; edge type; direction or
    `""`)."""

    sources: tuple[tuple[str, str, str], ...]


PlanStep = FindNode | FetchByEdge | FetchByType | FindCommon


@dataclass(frozen=True, slots=True)
class PlanFault:
    """Why a plan cannot be executed: the step (from 1), as written, and the reason."""

    step: int
    written: str
    kind: str
    reason: str

    def __str__(self) -> str:
        return f"step {self.step} {self.written}: {self.reason}"


def read_plan(steps: Sequence[Any]) -> tuple[PlanStep, ...] | PlanFault:
    """The steps of a plan in JSON, or the first that has no known action or not its arguments."""
    if not steps:
        return PlanFault(1, "", "empty", "the plan has no step")
    if len(steps) > MOST_STEPS:
        return PlanFault(MOST_STEPS + 1, "", "too_long", f"at most {MOST_STEPS} steps")
    read: list[PlanStep] = []
    for number, raw in enumerate(steps, start=1):
        found = _read_step(number, raw)
        if isinstance(found, PlanFault):
            return found
        read.append(found)
    return tuple(read)


def verify(plan: Sequence[PlanStep], schema: TraversalSchema) -> PlanFault | None:
    """The first step that the graph's structure does not allow, `None` for a plan that it does.

    Types flow through the plan: a step stands on the types that the one before it leads to.
    """
    standing: list[frozenset[str]] = []
    for number, step in enumerate(plan, start=1):
        found = _types_after(step, standing, schema)
        if isinstance(found, tuple):
            return PlanFault(number, describe_step(step), *found)
        standing.append(found)
    return None


@cache
def shipped_plans() -> Sequence[tuple[str, str, list[Any]]]:
    text = Path(__file__).with_name("examples.toml").read_text(encoding="utf-8")
    return [
        (p["question"], p["thought"], json.loads(p["steps"])) for p in tomllib.loads(text)["plan"]
    ]


def examples_of(schema: TraversalSchema) -> str:
    """The shipped plans that this graph could execute, each behind its question."""
    return "\n".join(
        f"Example question: {question}\n{json.dumps({'thought': thought, 'plan': steps})}"
        for question, thought, steps in shipped_plans()
        if steps[0]["node_type"] in schema.nodes and _is_sound(steps, schema)
    )


def _is_sound(steps: Sequence[Any], schema: TraversalSchema) -> bool:
    plan = read_plan(steps)
    return not isinstance(plan, PlanFault) and verify(plan, schema) is None


def standing_types(plan: Sequence[PlanStep], schema: TraversalSchema) -> list[frozenset[str]]:
    """The types that each step of a verified plan leads to."""
    standing: list[frozenset[str]] = []
    for step in plan:
        found = _types_after(step, standing, schema)
        if isinstance(found, tuple):
            raise ValueError(f"not verified: {found[1]}")
        standing.append(found)
    return standing


def describe_step(step: PlanStep) -> str:
    """The step in a few words, for people and for a model that plans again."""
    match step:
        case FindNode(hint, node_type):
            return f"{FIND}({quote(hint[:100])}, {node_type[:100]})"
        case FetchByEdge(edge, direction):
            return f"{FETCH}(edge {edge[:100]}{', ' + direction if direction else ''})"
        case FetchByType(node_type):
            return f"{FETCH}(node {node_type[:100]})"
        case FindCommon(sources):
            pairs = ", ".join(f"({quote(n[:60])}, {e[:60]})" for n, e, _ in sources[:5])
            return f"{COMMON}({pairs})"


def source_step(node: str) -> int:
    """The number in `$3`, 0 for a hint."""
    return int(node[1:]) if node[:1] == "$" and node[1:].isascii() and node[1:].isdigit() else 0


def to_json(step: PlanStep) -> dict[str, Any]:
    """The step as a model writes it."""
    match step:
        case FindNode(hint, node_type):
            return {"action": FIND, "node_finding_hint": hint, "node_type": node_type}
        case FetchByEdge(edge, direction):
            way = {"direction": direction} if direction else {}
            return {"action": FETCH, "targeted_edge_type": edge, **way}
        case FetchByType(node_type):
            return {"action": FETCH, "targeted_node_type": node_type}
        case FindCommon(sources):
            nodes = [[node, edge, *([way] if way else [])] for node, edge, way in sources]
            return {"action": COMMON, "nodes": nodes}


def _read_step(number: int, raw: Any) -> PlanStep | PlanFault:
    if not isinstance(raw, Mapping):
        return PlanFault(number, str(raw)[:100], "form", "a step is a JSON object with an action")
    fields = dict(cast("Mapping[str, Any]", raw))
    action = fields.pop("action", None)
    nested = fields.pop("arguments", None)
    if isinstance(nested, Mapping):
        fields = {**cast("Mapping[str, Any]", nested), **fields}
    shown = f"{str(action)[:60]}({', '.join(map(str, fields))[:100]})"
    if not isinstance(action, str) or action not in ACTIONS:
        names = ", ".join(ACTIONS)
        return PlanFault(number, shown, "unknown_action", f"there is no such action; use {names}")
    found = _step_of(str(action), fields)
    reason = f"write {ACTIONS[str(action)]}"
    return found or PlanFault(number, shown, "form", reason)


def _step_of(action: str, fields: Mapping[str, Any]) -> PlanStep | None:
    keys = set(fields)
    texts = all(isinstance(v, str) and v.strip() for k, v in fields.items() if k != "nodes")
    if action == FIND and keys == {"node_finding_hint", "node_type"} and texts:
        return FindNode(fields["node_finding_hint"].strip(), fields["node_type"])
    if action == FETCH and keys == {"targeted_node_type"} and texts:
        return FetchByType(fields["targeted_node_type"])
    if action == FETCH and "targeted_edge_type" in keys <= {"targeted_edge_type", "direction"}:
        direction = fields.get("direction", "")
        if texts and direction in ("", *Direction):
            return FetchByEdge(fields["targeted_edge_type"], direction)
    if action == COMMON and keys == {"nodes"} and isinstance(fields["nodes"], list):
        sources = [_source(one) for one in cast("list[Any]", fields["nodes"])]
        if len(sources) > 1 and None not in sources:
            return FindCommon(tuple(one for one in sources if one is not None))
    return None


def _source(raw: Any) -> tuple[str, str, str] | None:
    """`["$1", "edge type"]`, or with the direction behind."""
    if not isinstance(raw, list | tuple) or len(cast("list[Any]", raw)) not in (2, 3):
        return None
    texts = list(cast("list[Any]", raw))
    if not all(isinstance(text, str) and text.strip() for text in texts):
        return None
    node, edge, direction = (*texts, "")[:3]
    return (node.strip(), edge, direction) if direction in ("", *Direction) else None


def _types_after(
    step: PlanStep, standing: Sequence[frozenset[str]], schema: TraversalSchema
) -> frozenset[str] | tuple[str, str]:
    """The types that a step leads to, or the kind and reason of its fault."""
    match step:
        case FindNode(_, node_type):
            # A value is found along an edge, never by a hint.
            if node_type not in schema.nodes or node_type == VALUE:
                return _unknown("node type", node_type, [n for n in schema.nodes if n != VALUE])
            return frozenset([node_type])
        case _ if not standing and not isinstance(step, FindCommon):
            return "first_step", f"nothing was found yet: the first step is {FIND}"
        case FetchByEdge(edge, direction):
            return _along(standing[-1], edge, direction, schema)
        case FetchByType(node_type):
            if node_type not in schema.nodes:
                return _unknown("node type", node_type, list(schema.nodes))
            if node_type not in schema.reachable(standing[-1], RINGS):
                here = _some(standing[-1])
                return "unreachable", f"no path of {RINGS} edges from {here} to {node_type}"
            return frozenset([node_type])
        case FindCommon(sources):
            if not standing:
                return "first_step", f"nothing was found yet: the first step is {FIND}"
            return _shared(sources, standing, schema)


def _along(
    standing: frozenset[str], edge: str, wanted: str, schema: TraversalSchema
) -> frozenset[str] | tuple[str, str]:
    if edge not in schema.edges:
        return _unknown("edge type", edge, list(schema.edges))
    direction = schema.direction(standing, edge, wanted)
    if direction is None:
        ends = " -> ".join(_some(schema.edges[edge].types(way)) for way in Direction)
        return "infeasible", f"{edge} ({ends}) does not leave {_some(standing)}"
    return schema.edges[edge].ends(standing, direction)


def _shared(
    sources: Sequence[tuple[str, str, str]],
    standing: Sequence[frozenset[str]],
    schema: TraversalSchema,
) -> frozenset[str] | tuple[str, str]:
    common: frozenset[str] | None = None
    for node, edge, wanted in sources:
        number = source_step(node)
        if node.startswith("$") and not 1 <= number <= len(standing):
            return "unknown_step", f"{node[:20]} is no earlier step"
        if edge not in schema.edges:
            return _unknown("edge type", edge, list(schema.edges))
        here = standing[number - 1] if number else hint_types(edge, schema)
        ends = _along(here, edge, wanted, schema)
        if isinstance(ends, tuple):
            return ends
        common = ends if common is None else common & ends
    if not common:
        return "infeasible", "these edges lead to no common node type"
    return common


def hint_types(edge: str, schema: TraversalSchema) -> frozenset[str]:
    """The types among which a hint is looked for: those that the edge leaves."""
    return frozenset(schema.edges[edge].types(Direction.OUT))


def _unknown(what: str, name: str, known: Sequence[str]) -> tuple[str, str]:
    import difflib

    near = difflib.get_close_matches(name[:200], known, n=3, cutoff=0.5) or sorted(known)[:5]
    kind = f"unknown_{what.replace(' ', '_')}"
    return kind, f"there is no {what} {quote(name[:100])}; nearest are {', '.join(near)}"


def _some(types: Sequence[str] | frozenset[str]) -> str:
    listed = sorted(types) if isinstance(types, frozenset) else list(types)
    return " | ".join(listed[:3]) + (" | ..." if len(listed) > 3 else "")
