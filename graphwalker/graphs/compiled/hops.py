"""Hops on the node numbers of a compiled graph, through CVT nodes and over stored listings."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import compress, pairwise

import numpy as np

from graphwalker.graphs.base import FLATTENED, Direction
from graphwalker.graphs.cvt import CVTS_PER_RELATION, RELATIONS_PER_CVT
from graphwalker.graphs.format.layout import Array, Arrays
from graphwalker.graphs.format.sides import EdgeSide

ENDS = 8
"""Nodes stored behind a pair of relations; where there are fewer, they are all."""


class Listings:
    """The listings of one direction that were made when the graph was built.

    A listing is a run of entries in the order of their names: the numbers of a plain relation and
    of none, or those of the two halves of a flattened one (`near`, `far`, as seen from the node);
    a count; and of a flattened one with many CVT nodes between the first nodes behind them.
    """

    def __init__(self, layout: Arrays, direction: Direction) -> None:
        self.nodes, self._starts, self._near, self._far, self._counts, ends_starts, ends = (
            layout.array(f"{direction.value}_listed_{part}")
            for part in ("nodes", "starts", "near", "far", "counts", "ends_starts", "ends")
        )
        self._ends_starts, self._ends = ends_starts, ends

    def get(self, node: int) -> list[tuple[tuple[int, int], int]] | None:
        """Return the listing of a node, relations with counts; `None` where none is stored."""
        run = self._run(node)
        if run is None:
            return None
        return list(zip(self._pairs(run), self._counts[run].tolist(), strict=True))

    def first_ends(self, node: int, near: int, far: int) -> list[int]:
        """Get the first nodes behind a pair of relations; an empty list where none are stored."""
        run = self._run(node)
        listed = self._pairs(run) if run else []
        if run is None or (near, far) not in listed:
            return []
        entry = run.start + listed.index((near, far))
        return self._ends[self._ends_starts[entry] : self._ends_starts[entry + 1]].tolist()

    def _run(self, node: int) -> slice | None:
        """Return the entries of a node."""
        at = bisect_left(self.nodes, node)
        if at == len(self.nodes) or self.nodes[at] != node:
            return None
        return slice(self._starts[at], self._starts[at + 1])

    def _pairs(self, run: slice) -> list[tuple[int, int]]:
        # As lists: a memory view gives one number after the other, at three times the cost.
        return list(zip(self._near[run].tolist(), self._far[run].tolist(), strict=True))


MANY = 64
"""Destinations from which on numpy crosses faster than a loop."""
FEW_CVTS = 8
"""CVT nodes around a node below which no listing is stored."""
AT_ONCE = 1 << 16
"""Destinations of a hub in one piece: what they take in memory is bounded."""
RECENT = 1 << 9
"""Nodes whose nodes behind CVT nodes are remembered."""
NodesBehind = dict[str, list[int]]
"""By flattened relation, in no order, some of them more than once."""
UNSURE = ""
"""In place of a flattened relation of which a step could not tell what its halves are."""


class Hops:
    """The listing and the steps of `cvt`, exactly, without making an entity of every node passed.

    `relation_at` numbers the relations, in the order of their ids; `is_cvt` has a flag for each
    node. `listings` are those that the file holds, so that the CVT nodes of a hub are not walked.
    """

    def __init__(
        self,
        sides: Mapping[Direction, EdgeSide],
        is_cvt: memoryview,
        relation_ids: Sequence[str],
        relation_at: Mapping[str, int],
        listings: Mapping[Direction, Listings | None],
    ) -> None:
        self._sides, self._is_cvt, self._listings = sides, is_cvt, listings
        self._ids, self._at = relation_ids, relation_at
        self._pairs = {d: _Pairs(relation_ids, d) for d in Direction}
        self._names = {d: _Names(self._pairs[d], relation_ids) for d in Direction}
        self._halves: dict[Direction, dict[str, tuple[int, int]]] = {d: {} for d in Direction}
        self._behind = {d: dict[int, NodesBehind]() for d in Direction}
        """What a listing found behind the CVT nodes of nodes that were listed last: a step there is
        what comes next."""

    def list_relations(self, node: int, direction: Direction) -> list[tuple[str, int]]:
        """List relations, plain and through CVT nodes, each with its number of entities."""
        return self._list_relations(node, direction, self._listings[direction])

    def is_sound(self, node: int, direction: Direction) -> bool:
        """Return whether what is stored of a node is what the edges say."""
        listings = self._listings[direction]
        walked = self._list_relations(node, direction, None)
        stored = listings.get(node) if listings else None
        if listings is None or stored is None or self._with_names(stored, direction) != walked:
            return False
        for (near, far), _ in stored:
            ends = listings.first_ends(node, near, far)
            if ends and ends != self.cross(node, near, far, direction)[:ENDS]:
                return False
        return True

    def _with_names(
        self, stored: list[tuple[tuple[int, int], int]], direction: Direction
    ) -> list[tuple[str, int]]:
        names = self._names[direction]
        return [(names[pair], count) for pair, count in stored]

    def _list_relations(
        self, node: int, direction: Direction, listings: Listings | None
    ) -> list[tuple[str, int]]:
        side, ids, is_cvt = self._sides[direction], self._ids, self._is_cvt
        numbers, starts = side.around(node)
        to_cvts = side.to_cvts
        runs = zip(numbers, pairwise(starts), strict=True)
        plain = [(ids[number], end - start) for number, (start, end) in runs]
        mediated = [i for i, number in enumerate(numbers) if to_cvts[number]]
        if not mediated:
            return plain
        first, last = starts[mediated[0]], starts[mediated[-1] + 1]
        # The ends of all these relations, read at once where they are few.
        near = side.nodes[first:last].tolist() if last - first < MANY else []
        flags = [is_cvt[end] for end in near]
        around = flags.count(1)
        if near and not around:
            return plain
        # Fewer are walked in less time than a search for a stored listing takes.
        if listings is not None and not 0 < around < FEW_CVTS:
            stored = listings.get(node)
            if stored is not None:
                return self._with_names(stored, direction)
        pairs, behind, whole = self._pairs[direction], NodesBehind(), bool(near)
        for i in mediated:
            start, end = starts[i], starts[i + 1]
            if near:
                ends = near[start - first : end - first]
                cvts = [*compress(ends, flags[start - first : end - first])]
            else:
                ends = side.nodes[start : min(end, start + CVTS_PER_RELATION)].tolist()
                cvts = [end for end in ends if is_cvt[end]]
            if cvts:
                # Where all the ends looked at are CVT nodes, the relation itself leads nowhere: a
                # count of 0, which is not listed.
                relation, count = plain[i]
                plain[i] = relation, count - len(cvts) if len(cvts) < len(ends) else 0
                whole &= self._look_behind(node, cvts, side, pairs[numbers[i]], behind)
        if UNSURE in behind:
            del behind[UNSURE]
        if whole:
            self._remember(node, direction, behind)
        # A relation that is stored under the id `a..b` has its own count, and keeps it.
        listed = {pair: len({*others}) for pair, others in behind.items()} | dict(plain)
        return sorted([one for one in listed.items() if one[1]])

    def step(self, node: int, relation: str, direction: Direction, limit: int | None) -> list[int]:
        """Return the nodes one hop away over a plain or flattened relation, but CVT nodes."""
        side, number = self._sides[direction], self._at.get(relation)
        # First as a stored relation, whatever its id looks like: `a..b` may be one (Freebase
        # slices).
        start, end = side.run(node, number) if number is not None else (0, 0)
        if start < end and number is not None:
            # A flag of the relation, made when the graph was compiled: without it no end is a CVT
            # node, and the ends are one slice, without a look at each.
            if not side.to_cvts[number]:
                end = end if limit is None else min(end, start + limit)
                return side.nodes[start:end].tolist()
            return self._without_cvts(side, start, end, limit)
        behind = self._behind[direction].get(node)
        if behind is not None and relation in behind:
            return sorted({*behind[relation]})[:limit]
        pair = self._halves[direction].get(relation)
        if pair is None:
            pair = self._find_halves(relation, direction)
        near, far = pair
        if near < 0:
            return []
        listings, (start, end) = self._listings[direction], side.run(node, near)
        # Fewer CVT nodes than ends that are stored: nothing is stored behind them.
        if limit is not None and listings is not None and end - start > ENDS:
            stored = listings.first_ends(node, near, far)
            if limit <= len(stored) or 0 < len(stored) < ENDS:
                return stored[:limit]
        return self._cross_run(node, start, end, far, side)[:limit]

    def cross(self, node: int, near: int, far: int, direction: Direction) -> list[int]:
        """Return the nodes over one relation from the CVT nodes at the end of `near`, but not the
        node itself, ascending."""
        side = self._sides[direction]
        return self._cross_run(node, *side.run(node, near), far, side)

    def _cross_run(self, node: int, start: int, end: int, far: int, side: EdgeSide) -> list[int]:
        """Return the nodes over `far` from the CVT nodes among those destinations."""
        is_cvt = self._is_cvt
        if end - start >= MANY:
            return _far_ends(side, is_cvt, (start, end), far, node)
        found: set[int] = set()
        for cvt in side.nodes[start:end]:
            if is_cvt[cvt]:
                first, last = side.run(cvt, far)
                found.update(side.nodes[first:last])
        found.discard(node)
        return sorted([other for other in found if not is_cvt[other]])

    def _find_halves(self, relation: str, direction: Direction) -> tuple[int, int]:
        """Get the numbers of a flattened relation's halves, the nearer one first; -1 for none."""
        first, _, second = relation.partition(FLATTENED)
        pair = (first, second) if direction == Direction.OUT else (second, first)
        near, far = (self._at.get(half, -1) for half in pair)
        found = (near, far) if near >= 0 and far >= 0 else (-1, -1)
        # A model's own inventions are not remembered.
        if found[0] >= 0 or relation in self._at:
            self._halves[direction][relation] = found
        return found

    def _without_cvts(self, side: EdgeSide, start: int, end: int, limit: int | None) -> list[int]:
        """Return the first of these destinations that are no CVT nodes."""
        is_cvt = self._is_cvt
        if end - start < MANY:
            return [n for n in side.nodes[start:end].tolist() if not is_cvt[n]][:limit]
        flags, found, size = np.asarray(is_cvt), list[int](), MANY
        while start < end and (limit is None or len(found) < limit):
            ends = side.node_array[start : min(end, start + size)]
            found += ends[flags[ends] == 0].tolist()
            start, size = start + size, min(AT_ONCE, 8 * size)
        return found[:limit]

    def _look_behind(
        self,
        node: int,
        cvts: list[int],
        side: EdgeSide,
        pairs: Mapping[int, str],
        behind: NodesBehind,
    ) -> bool:
        """Add the nodes that lie one hop behind the CVT nodes; whether these are all."""
        is_cvt, whole = self._is_cvt, True
        for cvt in cvts:
            # GraphWalker's limit, by relation id: every backend cuts at the same relations.
            relations, others = side.edges(cvt, RELATIONS_PER_CVT)
            if len(others) >= RELATIONS_PER_CVT:
                whole = False
            for far, other in zip(relations, others, strict=True):
                if other != node and not is_cvt[other]:
                    pair = pairs[far]
                    if pair in behind:
                        behind[pair].append(other)
                    else:
                        behind[pair] = [other]
        return whole

    def _remember(self, node: int, direction: Direction, behind: NodesBehind) -> None:
        recent = self._behind[direction]
        if len(recent) >= RECENT:
            recent.clear()
        recent[node] = behind


class _Pairs(dict[int, dict[int, str]]):
    """The flattened relations of one direction, by the numbers of the nearer half and of the
    farther one."""

    def __init__(self, relation_ids: Sequence[str], direction: Direction) -> None:
        super().__init__()
        self._ids, self._direction = relation_ids, direction

    def __missing__(self, near: int) -> dict[int, str]:
        found = self[near] = _Behind(self._ids, near, self._direction)
        return found


class _Names(dict[tuple[int, int], str]):
    """What an entry of a stored listing is called, by its pair of relations."""

    def __init__(self, pairs: _Pairs, relation_ids: Sequence[str]) -> None:
        super().__init__()
        self._pairs, self._ids = pairs, relation_ids

    def __missing__(self, pair: tuple[int, int]) -> str:
        near, far = pair
        plain = far == len(self._ids)
        name = self[pair] = self._ids[near] if plain else self._pairs[near][far]
        return name


class _Behind(dict[int, str]):
    """Those with one nearer half."""

    def __init__(self, relation_ids: Sequence[str], near: int, direction: Direction) -> None:
        super().__init__()
        self._ids, self._near, self._is_out = relation_ids, near, direction == Direction.OUT

    def __missing__(self, far: int) -> str:
        near, far_id = self._ids[self._near], self._ids[far]
        first, second = (near, far_id) if self._is_out else (far_id, near)
        # A step splits at the first one.
        sure = FLATTENED not in first and FLATTENED not in near
        pair = self[far] = FLATTENED.join((first, second)) if sure else UNSURE
        return pair


def _far_ends(
    side: EdgeSide, is_cvt: memoryview, run: tuple[int, int], relation: int, but: int
) -> list[int]:
    """Return the nodes over `relation` from the CVT nodes in that run of `side.nodes`, ascending,
    each once; no CVT node among them, nor `but`."""
    flags = np.asarray(is_cvt)
    found: Array = np.zeros(0, dtype=np.int64)
    for first in range(run[0], run[1], AT_ONCE):
        ends = side.node_array[first : min(run[1], first + AT_ONCE)]
        cvts = ends[flags[ends] != 0]
        # Unique after each piece: memory holds the distinct ends, not all the paths to them.
        found = np.unique(np.concatenate((found, side.over(cvts.astype(np.int64), relation))))
    return found[(flags[found] == 0) & (found != but)].tolist()
