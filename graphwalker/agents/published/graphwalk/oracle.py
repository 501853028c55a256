"""GraphWalk's oracle: it executes a question's template on what it has seen."""

import json
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphwalker.agents.published.graphwalk.properties import AROUND, FIND, VALUES, graph_of
from graphwalker.answers.rows import row_texts
from graphwalker.graphs.properties import PropertyGraph
from graphwalker.graphs.property.memory import Edge, MemoryPropertyGraph, Node
from graphwalker.oracle.plan import OwnOracle, Plan, PresetOracle
from graphwalker.protocols.base import Calls, FinalAnswer
from graphwalker.protocols.functions import MOST_CALLS
from graphwalker.question import Question
from graphwalker.synthetic.patterns import Pattern, Values
from graphwalker.synthetic.templates import TEMPLATES, Template
from graphwalker.tools.base import Call
from graphwalker.trajectory import Turn

_BY_NAME = {template.name: template for template in TEMPLATES}
_Move = tuple[str, Call | Calls | FinalAnswer]
_ResultRows = list[dict[str, Any]]
_Steps = Generator[_Move, Turn, None]


class GraphWalkOracle(PresetOracle):
    """Plays the template that a question was made of. What a limit of the tools hides it does not
    see: it then answers with what it has."""

    def plan(self, key: str, question: Question) -> Plan:
        template = _BY_NAME[question.structure]
        graph = graph_of(self.graph, question)
        most = MOST_CALLS if self.settings.options.get("parallel", True) else 1
        view = _View(graph, question.annotations["values"], most)
        yield from _LOOKS[template.name](view)  # pyright: ignore[reportReturnType]
        yield "That is all I need.", _answer(template, view)


@dataclass(slots=True)
class _View:
    """What an episode has seen: nodes by key, relationships by their ends and type."""

    graph: PropertyGraph
    values: Values
    most_calls: int = MOST_CALLS
    """Calls of one message."""
    nodes: dict[str, Node] = field(default_factory=dict[str, Node])
    edges: dict[tuple[str, str, str], Edge] = field(
        default_factory=dict[tuple[str, str, str], Edge]
    )
    expanded: set[str] = field(default_factory=set[str])

    def text(self, name: str) -> str:
        return str(self.values[name])

    def see_node(self, label: str, properties: dict[str, Any]) -> None:
        key = str(properties["key"])
        self.nodes[key] = Node(key, (label,), properties)

    def see_around(self, label: str, rows: Iterable[dict[str, Any]]) -> None:
        for row in rows:
            self.see_node(row["label"], row["node"])
            here, there, kind = str(row["center"]), str(row["node"]["key"]), row["relationship"]
            self.nodes.setdefault(here, Node(here, (label,), {"key": here}))
            ends = (here, there) if kind["direction"] == "outgoing" else (there, here)
            edge = Edge(ends[0], kind["type"], ends[1], kind["properties"])
            self.edges[edge.start, edge.type, edge.end] = edge

    def starts(self, kind: str) -> list[str]:
        """The labels from which relationships of that type start."""
        return sorted({r.start for r in self.graph.schema().relationships if r.type == kind})

    def sweeping_property(self, label: str) -> str:
        """The first property that all nodes of the label have, their key at last."""
        (known,) = (one for one in self.graph.schema().labels if one.name == label)
        shared = [key for key, count in sorted(known.keys.items()) if count == known.nodes]
        return next((key for key in shared if key != "key"), "key")

    @property
    def hops(self) -> int:
        return int(self.values["hops"])

    def labels_within(self, label: str) -> list[str]:
        """Labels that relationships lead to from a label in `hops` steps, itself included."""
        found, ring = {label: None}, {label}
        for _ in range(self.hops):
            schema = self.graph.schema().relationships
            ring = {r.end for r in schema if r.start in ring} - found.keys()
            found.update(dict.fromkeys(sorted(ring)))
        return list(found)


def _answer(template: Template, view: _View) -> FinalAnswer:
    seen = MemoryPropertyGraph(view.nodes.values(), view.edges.values())
    rows = template.execute(Pattern.of(seen), view.values)
    return FinalAnswer(row_texts(rows[:1] if template.wanted == "one" else rows), "rows")


def _call_all(
    view: _View, why: str, calls: Sequence[Call]
) -> Generator[_Move, Turn, list[_ResultRows]]:
    """Results of the calls, as many in a message as it may hold; of a call that failed, none."""
    found: list[_ResultRows] = []
    for first in range(0, len(calls), view.most_calls):
        some = tuple(calls[first : first + view.most_calls])
        turn = yield why, some[0] if len(some) == 1 else Calls(some)
        shown = turn.observation.split("\n\n")
        found += map(_rows, shown)
    return found


def _rows(text: str) -> _ResultRows:
    try:
        value = json.JSONDecoder().raw_decode(text)[0]
    except ValueError:
        return []
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]


def _around(label: str, key: str, value: object) -> Call:
    return Call(AROUND, {"label": label, "property_name": key, "property_value": value})


def _sweep(view: _View, labels: Iterable[str]) -> _Steps:
    """See all nodes of the labels with all that they are joined to."""
    wanted = list(dict.fromkeys(labels))
    keys = {label: view.sweeping_property(label) for label in wanted}
    lists = [
        Call(VALUES, {"property_name": key, "entity_name": label, "entity_type": "node"})
        for label, key in keys.items()
    ]
    listed = yield from _call_all(view, "The values of a property lead to all of its nodes.", lists)
    calls = [
        _around(label, keys[label], row["values"])
        for label, rows in zip(wanted, listed, strict=True)
        for row in rows
    ]
    found = yield from _call_all(view, "Now what these nodes are joined to.", calls)
    for call, rows in zip(calls, found, strict=True):
        view.see_around(call.arguments["label"], rows)


def _find(view: _View) -> _Steps:
    about = {"property_name": view.text("property"), "property_value": view.values["value"]}
    call = Call(FIND, {"label": view.text("source"), **about})
    (rows,) = yield from _call_all(view, "One look is enough.", [call])
    for row in rows:
        view.see_node(view.text("source"), row)


def _ring(view: _View) -> _Steps:
    """See around every node on a way from the start that was not looked around yet."""
    start = view.text("key")
    ends = {start, *(edge.end for edge in view.edges.values() if edge.start in view.expanded)}
    wanted = sorted(ends - view.expanded)
    labels = {key: view.nodes[key].labels[0] if key in view.nodes else view.text("source")
              for key in wanted}  # fmt: skip
    calls = [_around(labels[key], "key", key) for key in wanted]
    found = yield from _call_all(view, "From here one step further.", calls)
    for key, rows in zip(wanted, found, strict=True):
        view.see_around(labels[key], rows)
    view.expanded.update(wanted)


def _from_node(view: _View) -> _Steps:
    for _ in range(view.hops):
        yield from _ring(view)


def _remote(view: _View) -> _Steps:
    """Ring after ring, until a node is found that will do."""
    for step in range(view.hops):
        yield from _ring(view)
        if step and _answer(_BY_NAME["remote_property"], view).names:
            return


def _relationship_negation(view: _View) -> _Steps:
    call = _around(view.text("source"), view.text("property"), view.values["value"])
    (rows,) = yield from _call_all(view, "Their relationships say it.", [call])
    view.see_around(view.text("source"), rows)
    # Where a node was seen as another's neighbour, all its properties are known; here they are
    # what was asked for.
    for row in rows:
        known = {"key": row["center"], view.text("property"): view.values["value"]}
        view.see_node(view.text("source"), {**view.nodes[row["center"]].properties, **known})


def _sweep_source(view: _View) -> _Steps:
    return _sweep(view, [view.text("source")])


def _sweep_starts(view: _View) -> _Steps:
    return _sweep(view, view.starts(view.text("relationship")))


_LOOKS: Mapping[str, Callable[[_View], _Steps]] = {
    "node_count": _sweep_source,
    "relationship_count": _sweep_starts,
    "most_relationships": _sweep_source,
    "node_by_property": _find,
    "relationship_by_property": _sweep_starts,
    "path_finding": lambda view: _sweep(view, [view.text("source"), view.text("middle")]),
    "variable_hop": lambda view: _sweep(view, view.labels_within(view.text("source"))),
    "path_from_node": _from_node,
    "remote_property": _remote,
    "intersection": _sweep_source,
    "negation": _sweep_source,
    "relationship_negation": _relationship_negation,
}


def _has_template(question: Question) -> bool:
    return question.structure in _BY_NAME and "values" in question.annotations


GRAPHWALK_ORACLE = OwnOracle(
    GraphWalkOracle, _has_template, "one of GraphWalk's templates (`graph synthetic`)"
)
