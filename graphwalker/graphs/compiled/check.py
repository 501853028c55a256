"""The check of a compiled graph: every byte, every order, and that it finds what it holds."""

import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from graphwalker.errors import GraphError
from graphwalker.graphs.base import Direction
from graphwalker.graphs.compiled.graph import CompiledGraph
from graphwalker.graphs.format.arrays import read_ids
from graphwalker.graphs.format.integers import read_integers
from graphwalker.graphs.format.layout import Layout
from graphwalker.graphs.format.offsets import read_offsets
from graphwalker.graphs.format.sides import EdgeSide, SideChunk, read_rows
from graphwalker.graphs.literals import is_literal

log = logging.getLogger(__name__)

AT_ONCE = 1 << 20
NODES_AT_ONCE = 1 << 16
LISTED = 2_000
"""Stored listings, evenly spread, that are made once more."""
LOOKED_UP = 20_000
"""Nodes, evenly spread, that are looked up by id and by name, and whose edges are followed back."""

Array = np.ndarray[Any, Any]


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
        "format_version": layout.version,
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
        nodes, rows = self._counts["nodes"], read_rows(self._layout)
        self._hold(0 <= rows.first <= rows.end <= nodes, "literals out of range")
        own = nodes - rows.gap
        ids = own if self._layout.has("literal_blocks") else nodes
        for name, count in (("id", ids), ("name", own), ("type_id", self._counts["types"])):
            self._offsets(f"{name}_ends", count, self._layout.section(name).bytes)
        self._offsets("type_starts", own, len(self._layout.array("type_items")))
        for name in ("id", "name"):
            items = read_integers(self._layout, f"{name}_bucket_items")
            buckets = len(read_offsets(self._layout, f"{name}_bucket_starts")) - 1
            self._offsets(f"{name}_bucket_starts", buckets, len(items))
            numbers = items.array(0, len(items))
            in_range = not len(items) or int(numbers.max()) < nodes
            self._hold(in_range, f"{name}_bucket_items out of range")
        read, before = read_ids(self._layout), ""
        for number in range(nodes):
            entity_id = read(number)
            self._hold(before < entity_id or not number, f"id {number} out of order")
            before = entity_id
        listed = read_integers(self._layout, "entities")
        self._hold(len(listed) == self._counts["entities"], "number of entities")
        rising = bool((np.diff(listed.array(0, len(listed))) > 0).all())
        self._hold(rising, "entities out of order")

    def side(self, direction: Direction) -> None:
        nodes, side = self._counts["nodes"], EdgeSide(self._layout, direction.value)
        groups = edges = 0
        for first in range(0, nodes, NODES_AT_ONCE):
            chunk = side.chunk(first, min(nodes, first + NODES_AT_ONCE))
            self._chunk(direction, side, chunk, groups, edges)
            groups, edges = int(chunk.groups[-1]), int(chunk.edges[-1])
        self._hold(groups == side.groups, f"end of {direction}_groups")
        self._hold(edges == len(side.nodes), f"end of {direction}_nodes")
        self._edges[direction] = edges
        if direction == Direction.OUT:
            counts = np.asarray(self._layout.array("relation_counts"))
            self._hold(edges == self._counts["triples"], "number of triples")
            self._hold(int(counts.sum()) == edges, "triples of the relations")
        else:
            self._hold(edges <= self._edges[Direction.OUT], "number of incoming edges")

    def _chunk(
        self, direction: Direction, side: EdgeSide, chunk: SideChunk, groups: int, edges: int
    ) -> None:
        """Some nodes whose groups and edges begin at those places."""
        rising = bool((np.diff(chunk.groups) >= 0).all()) and int(chunk.groups[0]) == groups
        self._hold(rising, f"{direction}_groups out of order")
        self._hold(int(chunk.edges[0]) == edges, f"{direction} edges out of order")
        inner = chunk.groups - groups
        begin = len(chunk.starts) == len(chunk.relations) + 1
        begin = begin and bool((chunk.starts[inner] == chunk.edges).all())
        self._hold(begin, f"{direction} groups do not begin where their node's edges do")
        self._hold(bool((np.diff(chunk.starts) > 0).all()), f"{direction} groups out of order")
        ends = side.nodes.array(edges, int(chunk.edges[-1]))
        relations = self._counts["relations"]
        self._ascends(f"{direction}_relations", chunk.relations, inner, relations)
        self._ascends(f"{direction}_nodes", ends, chunk.starts - edges, self._counts["nodes"])

    def _ascends(self, name: str, items: Array, starts: Array, limit: int) -> None:
        """Every run of items rises, and all of them are below the limit."""
        falls = np.flatnonzero(np.diff(items) <= 0) + 1
        self._hold(not len(falls[~np.isin(falls, starts)]), f"{name} out of order")
        self._hold(not len(items) or int(items.max()) < limit, f"{name} out of range")

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
            if not self._layout.has(f"{side}_listed_nodes"):
                continue
            nodes = np.asarray(self._layout.array(f"{side}_listed_nodes")).astype(np.int64)
            rising = bool((np.diff(nodes) > 0).all()) and int(nodes[-1]) < self._counts["nodes"]
            self._hold(rising, f"listings, {side}, out of order")
            for node in nodes[:: 1 + len(nodes) // LISTED].tolist():
                sound = graph.listing_is_sound(node, side)
                self._hold(sound, f"the listing, {side}, of node {node}")

    def _follow(self, graph: CompiledGraph, entity_id: str) -> None:
        """The first edge of each relation is there from its other end, too."""
        for direction in Direction:
            for relation, count in graph.relations(entity_id, direction):
                (other,) = graph.neighbors(entity_id, relation, direction, 1)
                back = (other.id, relation, entity_id, direction.reverse)
                both = is_literal(other.id) or graph.is_linked(*back)
                counted = count == graph.count(entity_id, relation, direction)
                edge = f"{entity_id} {relation} {other.id}"
                self._hold(both and counted, f"{edge} is known from one end only")

    def _offsets(self, name: str, count: int, end: int) -> None:
        offsets = read_offsets(self._layout, name)
        self._hold(len(offsets) == count + 1, f"length of {name}")
        for _, values in self._chunks(name, count):
            rising = np.diff(values)
            self._hold(bool((rising >= 0).all()), f"{name} out of order")
        self._hold(offsets[count] == end, f"end of {name}")

    def _chunks(self, name: str, count: int) -> Iterator[tuple[int, Array]]:
        """The offsets of things a to b with the end of the last one, chunk by chunk."""
        offsets = read_offsets(self._layout, name)
        for first in range(0, count, AT_ONCE):
            last = min(count, first + AT_ONCE)
            yield first, offsets.at(np.arange(first, last + 1))

    def _hold(self, sound: bool, what: str) -> None:
        if not sound:
            raise GraphError(f"{self._layout.path}: damaged graph file: {what}; build it again")
