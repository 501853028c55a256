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
from graphwalker.graphs.format.arrays import raw_ids
from graphwalker.graphs.format.layout import Layout
from graphwalker.graphs.format.offsets import read_offsets
from graphwalker.graphs.literals import is_literal

log = logging.getLogger(__name__)

AT_ONCE = 1 << 20
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
        nodes = self._counts["nodes"]
        for name, count in (("id", nodes), ("name", nodes), ("type_id", self._counts["types"])):
            self._offsets(f"{name}_ends", count, self._layout.section(name).bytes)
        self._offsets("type_starts", nodes, len(self._layout.array("type_items")))
        for name in ("id", "name"):
            items = np.asarray(self._layout.array(f"{name}_bucket_items"))
            buckets = len(read_offsets(self._layout, f"{name}_bucket_starts")) - 1
            self._offsets(f"{name}_bucket_starts", buckets, len(items))
            in_range = not len(items) or int(items.max()) < nodes
            self._hold(in_range, f"{name}_bucket_items out of range")
        read, before = raw_ids(self._layout), b""
        for number in range(nodes):
            entity_id = read(number)
            self._hold(before < entity_id or not number, f"id {number} out of order")
            before = entity_id
        entities = np.asarray(self._layout.array("entities")).astype(np.int64)
        self._hold(len(entities) == self._counts["entities"], "number of entities")
        self._hold(bool((np.diff(entities) > 0).all()), "entities out of order")

    def side(self, side: Direction) -> None:
        nodes, groups = self._counts["nodes"], len(self._layout.array(f"{side}_relations"))
        edges = len(self._layout.array(f"{side}_nodes"))
        self._edges[side] = edges
        self._offsets(f"{side}_groups", nodes, groups)
        self._offsets(f"{side}_starts", groups, edges, distinct=True)
        self._ascend_within(f"{side}_groups", nodes, f"{side}_relations", self._counts["relations"])
        self._ascend_within(f"{side}_starts", groups, f"{side}_nodes", nodes)
        if side == Direction.OUT:
            counts = np.asarray(self._layout.array("relation_counts"))
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
                both = is_literal(other.id) or graph.linked(*back)
                counted = count == graph.count(entity_id, relation, direction)
                edge = f"{entity_id} {relation} {other.id}"
                self._hold(both and counted, f"{edge} is known from one end only")

    def _offsets(self, name: str, count: int, end: int, distinct: bool = False) -> None:
        offsets = read_offsets(self._layout, name)
        self._hold(len(offsets) == count + 1, f"length of {name}")
        for _, values in self._chunks(name, count):
            rising = np.diff(values)
            self._hold(bool((rising >= distinct).all()), f"{name} out of order")
        self._hold(offsets[count] == end, f"end of {name}")

    def _ascend_within(self, runs: str, count: int, items: str, limit: int) -> None:
        """Every run of items rises, and all of them are below the limit."""
        listed = self._layout.array(items)
        for _, ends in self._chunks(runs, count):
            for start in range(int(ends[0]), int(ends[-1]), AT_ONCE):
                end = min(int(ends[-1]), start + AT_ONCE + 1)
                part = np.asarray(listed[start:end]).astype(np.int64)
                falls = np.nonzero(np.diff(part) <= 0)[0] + start + 1
                inner = falls[~np.isin(falls, ends)]
                self._hold(not len(inner), f"{items} out of order")
                self._hold(not len(part) or int(part.max()) < limit, f"{items} out of range")

    def _chunks(self, name: str, count: int) -> Iterator[tuple[int, Array]]:
        """The offsets of things a to b with the end of the last one, chunk by chunk."""
        offsets = read_offsets(self._layout, name)
        for first in range(0, count, AT_ONCE):
            last = min(count, first + AT_ONCE)
            yield first, offsets.at(np.arange(first, last + 1))

    def _hold(self, sound: bool, what: str) -> None:
        if not sound:
            raise GraphError(f"{self._layout.path}: damaged graph file: {what}; build it again")
