"""Listings of nodes with many CVT nodes around, made once, so that none is walked to open them."""

from collections.abc import Iterator, Sequence

import numpy as np

from graphwalker.graphs.base import FLATTENED, Direction
from graphwalker.graphs.compiled.hops import ENDS, Hops
from graphwalker.graphs.format.layout import Array, LayoutWriter, typecode
from graphwalker.graphs.format.sides import EdgeSide

LEAST_CVTS = 8
"""CVT nodes around a node, on one side of it, from which on its listing is stored: walking fewer
takes some 30 µs."""
LEAST_CROSSED = 16
"""CVT nodes behind one relation from which on the first nodes behind them are stored."""
NODES_AT_ONCE = 1 << 18


def write_listings(writer: LayoutWriter, is_cvt: Array, relation_ids: Sequence[str]) -> None:
    """Write what `Listings` reads, from the edges written before."""
    at = {relation: number for number, relation in enumerate(relation_ids)}
    sides = {d: EdgeSide(writer, d.value) for d in Direction}
    hops = Hops(sides, is_cvt.view(np.uint8).data, relation_ids, at, dict.fromkeys(Direction))
    for direction in Direction:
        run = _Run(writer, hops, sides[direction], direction, at)
        for node in _heavy(sides[direction], is_cvt):
            run.add(node)
        run.close()


class _Run:
    """The listings of one direction."""

    def __init__(
        self,
        writer: LayoutWriter,
        hops: Hops,
        side: EdgeSide,
        direction: Direction,
        at: dict[str, int],
    ) -> None:
        self._hops, self._side, self._direction, self._at = hops, side, direction, at
        name, relation = f"{direction.value}_listed", typecode(len(at))
        self._sections = [
            writer.section(f"{name}_{part}", code)
            for part, code in (
                ("nodes", "I"), ("starts", "Q"), ("near", relation), ("far", relation),
                ("counts", "I"), ("ends_starts", "Q"), ("ends", "I"),
            )
        ]  # fmt: skip
        self._waiting: list[list[int]] = [[] for _ in self._sections]
        self._entries = self._ends = 0

    def add(self, node: int) -> None:
        nodes, starts, near, far, counts, ends_starts, ends = self._waiting
        nodes.append(node)
        starts.append(self._entries)
        for name, count in self._hops.list_relations(node, self._direction):
            pair = self._split(name)
            near.append(pair[0])
            far.append(pair[1])
            counts.append(count)
            ends_starts.append(self._ends)
            found = self._first_ends(node, *pair)
            ends += found
            self._ends += len(found)
            self._entries += 1
        if len(near) >= NODES_AT_ONCE:
            self._write()

    def close(self) -> None:
        self._waiting[1].append(self._entries)
        self._waiting[5].append(self._ends)
        self._write()

    def _write(self) -> None:
        for section, values in zip(self._sections, self._waiting, strict=True):
            section.write_ints(np.array(values, dtype=np.int64))
            values.clear()

    def _split(self, name: str) -> tuple[int, int]:
        """Return the numbers of the nearer and farther half; of a plain one that of no relation."""
        if name in self._at:
            return self._at[name], len(self._at)
        first, _, second = name.partition(FLATTENED)
        pair = self._at[first], self._at[second]
        return pair if self._direction == Direction.OUT else (pair[1], pair[0])

    def _first_ends(self, node: int, near: int, far: int) -> list[int]:
        start, end = self._side.run(node, near)
        if far == len(self._at) or end - start < LEAST_CROSSED:
            return []
        return self._hops.cross(node, near, far, self._direction)[:ENDS]


def _heavy(side: EdgeSide, is_cvt: Array) -> Iterator[int]:
    """Get the nodes with a listing worth storing, in order; CVT nodes are not listed themselves."""
    for first in range(0, len(is_cvt), NODES_AT_ONCE):
        nodes = np.arange(first, min(len(is_cvt), first + NODES_AT_ONCE) + 1)
        edges = side.edges_at(nodes)
        start, end = int(edges[0]), int(edges[-1])
        sums = np.zeros(end - start + 1, dtype=np.int64)
        for at in range(start, end, NODES_AT_ONCE):
            last = min(end, at + NODES_AT_ONCE)
            sums[at - start + 1 : last - start + 1] = is_cvt[side.node_array[at:last]]
        np.cumsum(sums, out=sums)
        around = np.diff(sums[edges - start])
        for index in np.flatnonzero((around >= LEAST_CVTS) & ~is_cvt[nodes[:-1]]):
            yield first + int(index)
