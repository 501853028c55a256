"""The edges of a compiled graph as seen from one end, and listings of nodes around CVT nodes."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from graphwalker.errors import GraphError
from graphwalker.graphs.base import FLATTENED, Direction
from graphwalker.graphs.compiled.hops import ENDS, Hops
from graphwalker.graphs.format.layout import Array, LayoutWriter, typecode
from graphwalker.graphs.format.nodes import Rows
from graphwalker.graphs.format.sides import EdgeSide

_ROWS_AT_ONCE = 1 << 20


def write_side(
    writer: LayoutWriter,
    side: str,
    chunks: Iterable[list[Array]],
    is_cvt: Array,
    rows: Rows,
    relations: int,
    most_edges: int,
) -> Array:
    """Write the arrays of one side from chunks of (node, relation, other), sorted so; returns how
    many edges each relation has.

    Repeated edges are dropped. `is_cvt` has a flag for each node; `most_edges` bounds the edges;
    `rows` are those of the nodes.
    """
    starts = _Starts(writer, f"{side}_starts", typecode(most_edges))
    # One more: the listings use it for no relation.
    relation_section = writer.section(f"{side}_relations", typecode(relations))
    node_section = writer.section(f"{side}_nodes", "I")
    to_cvts, counts = np.zeros(relations, dtype=bool), np.zeros(relations, dtype=np.int64)
    last = np.full((3, 1), -1)
    for chunk in chunks:
        edges = np.stack(chunk).astype(np.int64)
        new, last = _new_edges(last, edges), edges[:, -1:]
        node, relation, other = edges[:, new]
        starts.add(rows.of(node))
        relation_section.write_ints(relation)
        node_section.write_ints(other)
        counts += np.bincount(relation, minlength=relations)
        to_cvts[relation[is_cvt[other]]] = True
    starts.fill(len(is_cvt) - rows.gap + 1)
    writer.write(f"{side}_to_cvts", "B", to_cvts)
    return counts


def _new_edges(last: Array, edges: Array) -> Array:
    """Get which edges are not those before them. Raises `GraphError` if the rows are unsorted."""
    step: Array = np.diff(edges, axis=1, prepend=last)
    same_node = step[0] == 0
    same_run = same_node & (step[1] == 0)
    falls = (step[0] < 0) | same_node & (step[1] < 0) | same_run & (step[2] < 0)
    if falls.any():
        raise GraphError("the sorter gave rows out of order")
    return ~same_run | (step[2] != 0)


class _Starts:
    """Where the edges of each row start: rows come in ascending order, one for each edge."""

    def __init__(self, writer: LayoutWriter, name: str, code: str) -> None:
        self._section = writer.section(name, code)
        self._next = self._edges = 0

    def add(self, rows: Array) -> None:
        if len(rows):
            self.fill(int(rows[-1]) + 1, rows)
            self._edges += len(rows)

    def fill(self, end: int, rows: Array | None = None) -> None:
        """Write the starts up to that row, the edges being those of `rows`."""
        rows = np.zeros(0, dtype=np.int64) if rows is None else rows
        for first in range(self._next, end, _ROWS_AT_ONCE):
            wanted = np.arange(first, min(end, first + _ROWS_AT_ONCE))
            self._section.write_ints(self._edges + np.searchsorted(rows, wanted))
        self._next = max(self._next, end)


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
