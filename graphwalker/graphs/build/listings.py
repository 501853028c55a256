"""Listings of nodes with many CVT nodes around, made once, so that none is walked to open them."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from graphwalker.graphs.base import FLATTENED, Direction
from graphwalker.graphs.compiled.hops import LARGE, PLAIN, Hops
from graphwalker.graphs.format.layout import Arrays, LayoutWriter, typecode
from graphwalker.graphs.format.offsets import OffsetsWriter, write_ints
from graphwalker.graphs.format.sides import LARGE_NODE, EdgeSide

LEAST_CVTS = 8
"""CVT nodes around a node, on one side of it, from which on its listing is stored: walking fewer
takes some 30 µs."""
LEAST_CROSSED = 16
"""CVT nodes behind one relation from which on the first nodes behind them are stored."""
ENDS = 8
"""Nodes stored behind a pair of relations."""
NODES_AT_ONCE = 1 << 18

Array = np.ndarray[Any, Any]
ListedHop = tuple[int, int]
"""A relation, and the one behind the CVT nodes at its end, or `PLAIN`."""


def write_listings(
    writer: LayoutWriter, written: Arrays, is_cvt: Array, relation_ids: Sequence[str]
) -> dict[str, int]:
    """Write what `Listings` reads from the edges written before; how many there are of either
    side."""
    at = {relation: number for number, relation in enumerate(relation_ids)}
    sides = {d: EdgeSide(written, d.value) for d in Direction}
    none = dict.fromkeys(Direction)
    hops = Hops(sides, is_cvt.view(np.uint8).data, relation_ids, at, none)
    found: dict[str, int] = {}
    for direction in Direction:
        run = _Run(hops, sides[direction], direction, relation_ids, at)
        _write_large(writer, sides[direction], direction, len(is_cvt))
        for node in _heavy(sides[direction], is_cvt):
            run.add(node)
        run.write(writer)
        found[direction.value] = len(run.nodes)
    return found


class _Run:
    """The listings of one direction."""

    def __init__(
        self,
        hops: Hops,
        side: EdgeSide,
        direction: Direction,
        relation_ids: Sequence[str],
        at: dict[str, int],
    ) -> None:
        self._hops, self._side, self._direction = hops, side, direction
        self._ids, self._at = relation_ids, at
        self._labels: dict[str, ListedHop] = {}
        self.nodes: list[int] = []
        self._keys = _NumberList(np.uint64)
        self._counts = _NumberList(np.int64)
        self._sizes = _NumberList(np.int64)
        self._ends = _NumberList(np.int64)
        self._ends_sizes = _NumberList(np.int64)
        self._crossed = _NumberList(np.int64)
        self._entries = 0

    def add(self, node: int) -> None:
        listed = self._hops.list_relations(node, self._direction)
        labels = [self._label(name) for name, _ in listed]
        self.nodes.append(node)
        self._keys.add([near << 32 | far for near, far in labels])
        self._counts.add([count for _, count in listed])
        self._sizes.add([len(listed)])
        ends = [self._first_ends(node, *label) for label in labels]
        self._ends.add(list(chain(*ends)))
        self._ends_sizes.add([len(found) for found in ends if found])
        self._crossed.add([self._entries + at for at, found in enumerate(ends) if found])
        self._entries += len(listed)

    def write(self, writer: LayoutWriter) -> None:
        if not self.nodes:
            return
        name, counts = f"{self._direction.value}_listed", self._counts.array()
        keys, labels = np.unique(self._keys.array(), return_inverse=True)
        ends, (large,) = self._ends.array(), np.nonzero(counts >= LARGE)
        entries = typecode(self._entries)
        for part, code, values in (
            ("nodes", "I", np.array(self.nodes)),
            ("keys", "Q", keys),
            ("labels", typecode(len(keys)), labels),
            ("counts", "B", np.minimum(counts, LARGE)),
            ("large", entries, large),
            ("large_counts", typecode(int(counts.max(initial=0))), counts[large]),
            ("crossed", entries, self._crossed.array()),
            ("ends", "I", ends),
            ("ends_limit", "B", np.array([ENDS])),
        ):
            write_ints(writer.section(f"{name}_{part}", code), values)
        for part, sizes in (("starts", self._sizes), ("ends_starts", self._ends_sizes)):
            places = np.concatenate([[0], np.cumsum(sizes.array())])
            offsets = OffsetsWriter(writer, f"{name}_{part}", int(places[-1]))
            offsets.write(places)
            offsets.close()

    def _label(self, name: str) -> ListedHop:
        known = self._labels.get(name)
        if known is None:
            known = self._labels[name] = self._split(name)
        return known

    def _split(self, name: str) -> ListedHop:
        if name in self._at:
            return self._at[name], PLAIN
        first, _, second = name.partition(FLATTENED)
        pair = self._at[first], self._at[second]
        return pair if self._direction == Direction.OUT else (pair[1], pair[0])

    def _first_ends(self, node: int, near: int, far: int) -> list[int]:
        if far == PLAIN:
            return []
        start, end = self._side.run(node, near)
        if end - start < LEAST_CROSSED:
            return []
        return self._hops.cross(node, near, far, self._direction)[:ENDS]


class _NumberList:
    """Numbers, kept in arrays while more come."""

    def __init__(self, kind: type) -> None:
        self._kind, self._waiting = kind, list[int]()
        self._arrays: list[Array] = [np.zeros(0, dtype=kind)]

    def add(self, values: list[int]) -> None:
        self._waiting += values
        if len(self._waiting) >= NODES_AT_ONCE:
            self._close()

    def array(self) -> Array:
        self._close()
        self._arrays = [np.concatenate(self._arrays)]
        return self._arrays[0]

    def _close(self) -> None:
        self._arrays.append(np.array(self._waiting, dtype=self._kind))
        self._waiting = []


def _heavy(side: EdgeSide, is_cvt: Array) -> Iterator[int]:
    """The nodes with a listing worth storing, in order; CVT nodes are not listed themselves."""
    for first in range(0, len(is_cvt), NODES_AT_ONCE):
        nodes = np.arange(first, min(len(is_cvt), first + NODES_AT_ONCE) + 1)
        edges = side.edges_at(nodes)
        start, end = int(edges[0]), int(edges[-1])
        sums = np.zeros(end - start + 1, dtype=np.int64)
        for at in range(start, end, NODES_AT_ONCE):
            ends = side.nodes.array(at, min(end, at + NODES_AT_ONCE))
            sums[at - start + 1 : at - start + 1 + len(ends)] = is_cvt[ends]
        np.cumsum(sums, out=sums)
        around = np.diff(sums[edges - start])
        for index in np.flatnonzero((around >= LEAST_CVTS) & ~is_cvt[nodes[:-1]]):
            yield first + int(index)


def _write_large(writer: LayoutWriter, side: EdgeSide, direction: Direction, nodes: int) -> None:
    """Where the groups of nodes with very many edges start, so that nobody counts their bits."""
    large, spans, starts = list[int](), [0], [np.zeros(0, dtype=np.int64)]
    for first in range(0, nodes, NODES_AT_ONCE):
        edges = side.edges_at(np.arange(first, min(nodes, first + NODES_AT_ONCE) + 1))
        for node in (np.flatnonzero(np.diff(edges) >= LARGE_NODE) + first).tolist():
            starts.append(np.asarray(side.around(node)[1][:-1]))
            large.append(node)
            spans.append(spans[-1] + len(starts[-1]))
    if large:
        name = f"{direction.value}_large"
        write_ints(writer.section(name, "I"), np.array(large))
        write_ints(writer.section(f"{name}_spans", "Q"), np.array(spans))
        write_ints(writer.section(f"{name}_starts", "Q"), np.concatenate(starts))
