"""The check of a compiled graph: every byte, every order, and that it finds what it holds."""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from graphwalker.errors import GraphError
from graphwalker.graphs.base import Direction
from graphwalker.graphs.compiled.graph import CompiledGraph
from graphwalker.graphs.format.header import FORMAT_VERSION
from graphwalker.graphs.format.layout import Array, Layout
from graphwalker.graphs.format.nodes import EMPTY, Nodes
from graphwalker.graphs.format.sides import EdgeSide
from graphwalker.graphs.literals import is_literal

log = logging.getLogger(__name__)

AT_ONCE = 1 << 20
"""Numbers of an array that are checked in one piece."""
LISTED = 2_000
"""Stored listings, evenly spread, that are made once more."""
LOOKED_UP = 20_000
"""Nodes, evenly spread, that are looked up by id and by name, and whose edges are followed back."""


def check_graph(path: Path | str, progress: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Check a compiled graph from end to end; returns what was checked, and the seconds it took.

    Checksums of all sections; strings, groups, relations and edges in their order and in range;
    counts as the header tells them; a sample looked up by id, by name, and along its edges both
    ways. Raises `GraphError` naming the file and the first thing that is wrong.
    """
    say, started = progress or log.info, time.perf_counter()
    layout = Layout(path)
    say("checksums")
    layout.verify()
    check = _Check(layout)
    say("names and ids")
    check.strings()
    for side in Direction:
        say(f"edges, {side.value}")
        check.side(side)
    say("look-ups")
    graph = CompiledGraph(layout)
    looked_up = check.look_ups(graph)
    check.listings(graph)
    return {
        "path": str(layout.path),
        "checksum": layout.checksum,
        "format_version": FORMAT_VERSION,
        "bytes": len(layout.map),
        "sections": len(layout.section_names()),
        **layout.counts,
        "looked_up": looked_up,
        "seconds": round(time.perf_counter() - started, 3),
    }


class _Check:
    def __init__(self, layout: Layout) -> None:
        self._layout, self._counts = layout, layout.counts
        self._edges: dict[Direction, int] = {}

    def strings(self) -> None:
        nodes, records = self._counts["nodes"], Nodes(self._layout)
        rows = records.rows
        self._hold(0 <= rows.first <= rows.end <= nodes, "literals out of range")
        self._hold(rows.gap == self._counts["literals"], "number of literals")
        self._starts("record_starts", nodes - rows.gap, self._layout.section("records").bytes)
        for name in ("id", "name"):
            table = self._array(f"{name}_table")
            wrong = (table[1:] >= nodes) & (table[1:] != EMPTY)
            self._hold(not wrong.any(), f"{name}_table out of range")
        before = ""
        for number in range(nodes):
            entity_id = records.id(number)
            self._hold(before < entity_id or not number, f"id {number} out of order")
            before = entity_id
        entities = self._array("entities")
        self._hold(len(entities) == self._counts["entities"], "number of entities")
        self._hold(bool((entities[1:] > entities[:-1]).all()), "entities out of order")

    def side(self, direction: Direction) -> None:
        side, nodes = EdgeSide(self._layout, direction.value), self._counts["nodes"]
        edges = len(side.nodes)
        self._hold(len(side.relations) == edges, f"number of {direction}_relations")
        self._starts(f"{direction}_starts", nodes - side.rows.gap, edges)
        starts = self._array(f"{direction}_starts")
        for first in range(0, edges, AT_ONCE):
            # One more: the last of a piece is compared with the first of the next.
            places = np.arange(first, min(edges, first + AT_ONCE + 1))
            relations = side.relation_array[places].astype(np.int64)
            others = side.node_array[places].astype(np.int64)
            self._hold(
                int(relations.max()) < self._counts["relations"] and int(others.max()) < nodes,
                f"{direction} edges out of range",
            )
            begins = np.zeros(len(places), dtype=bool)
            low, high = np.searchsorted(starts, [first, first + len(places)])
            begins[starts[low:high].astype(np.int64) - first] = True
            step, other = np.diff(relations), np.diff(others)
            rising = (step > 0) | (step == 0) & (other > 0) | begins[1:]
            self._hold(bool(rising.all()), f"{direction} edges out of order")
        self._edges[direction] = edges
        if direction == Direction.OUT:
            counts = self._array("relation_counts")
            self._hold(edges == self._counts["triples"], "number of triples")
            self._hold(int(counts.sum()) == edges, "triples of the relations")
        else:
            self._hold(edges <= self._edges[Direction.OUT], "number of incoming edges")

    def look_ups(self, graph: CompiledGraph) -> int:
        nodes = self._counts["nodes"]
        numbers = np.unique(np.linspace(0, max(0, nodes - 1), min(nodes, LOOKED_UP)).astype(int))
        for number in numbers.tolist():
            entity = graph.node_at(number)
            found = graph.node_number(entity.id) == number
            self._hold(found, f"{entity.id} is not found by its id")
            if entity.name and not is_literal(entity.id):
                named = entity in graph.resolve(entity.name)
                self._hold(named, f"{entity.id} is not found by its name")
            self._follow(graph, entity.id)
        return len(numbers)

    def listings(self, graph: CompiledGraph) -> None:
        """Stored listings, evenly spread, are what a walk over the CVT nodes finds."""
        for side in Direction:
            nodes = self._array(f"{side}_listed_nodes").astype(np.int64)
            rising = bool((np.diff(nodes, append=self._counts["nodes"]) > 0).all())
            self._hold(rising, f"listings, {side}, out of order")
            for node in nodes[:: 1 + len(nodes) // LISTED].tolist():
                sound = graph.listing_is_sound(node, side)
                self._hold(sound, f"the listing, {side}, of node {node}")

    def _follow(self, graph: CompiledGraph, entity_id: str) -> None:
        """Check that the first edge of each relation is there from its other end, too."""
        for direction in Direction:
            for relation, count in graph.relations(entity_id, direction):
                (other,) = graph.neighbors(entity_id, relation, direction, 1)
                back = (other.id, relation, entity_id, direction.reverse)
                both = is_literal(other.id) or graph.is_linked(*back)
                counted = count == graph.count(entity_id, relation, direction)
                edge = f"{entity_id} {relation} {other.id}"
                self._hold(both and counted, f"{edge} is known from one end only")

    def _starts(self, name: str, count: int, end: int) -> None:
        """Places where things start that stand end to end, and where the last one ends."""
        starts = self._array(name)
        self._hold(len(starts) == count + 1, f"length of {name}")
        rising = int(starts[0]) == 0 and bool((starts[1:] >= starts[:-1]).all())
        self._hold(rising, f"{name} out of order")
        self._hold(int(starts[-1]) == end, f"end of {name}")

    def _array(self, name: str) -> Array:
        return np.asarray(self._layout.array(name))

    def _hold(self, sound: bool, what: str) -> None:
        if not sound:
            raise GraphError(f"{self._layout.path}: damaged graph file: {what}; build it again")
