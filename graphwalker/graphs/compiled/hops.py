"""Hops on the node numbers of a compiled graph: what to list for a node, what lies one hop away."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any

import numpy as np

from graphwalker.graphs.base import FLATTENED, Direction
from graphwalker.graphs.compiled.listings import Listings
from graphwalker.graphs.cvt import CVTS_PER_RELATION, RELATIONS_PER_CVT
from graphwalker.graphs.format.arrays import EdgeSide

MANY = 64
"""Destinations from which on numpy crosses faster than a loop."""
AT_ONCE = 1 << 16
"""Destinations of a hub in one piece: what they take in memory is bounded."""

Array = np.ndarray[Any, Any]


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
        self._names: dict[Direction, dict[tuple[int, int], str]] = {d: {} for d in Direction}

    def listed(self, node: int, direction: Direction) -> list[tuple[str, int]]:
        """The relations to list, plain and through CVT nodes, each with its number of entities."""
        return self._listed(node, direction, self._listings[direction])

    def is_sound(self, node: int, direction: Direction) -> bool:
        """Whether what is stored of a node is what the edges say."""
        listings = self._listings[direction]
        walked = self._listed(node, direction, None)
        if listings is None or listings.get(node) != walked:
            return False
        for near, far in listings.pairs(node):
            ends = listings.first_ends(node, near, far)
            if ends and ends != self.cross(node, near, far, direction)[: listings.ends_limit]:
                return False
        return True

    def _listed(
        self, node: int, direction: Direction, listings: Listings | None
    ) -> list[tuple[str, int]]:
        side, ids = self._sides[direction], self._ids
        first, last = side.groups.span(node)
        numbers = side.relations[first:last].tolist()
        to_cvts = side.to_cvts
        mediated = [i for i, number in enumerate(numbers) if to_cvts[number]]
        if mediated and listings is not None:
            stored = listings.get(node)
            if stored is not None:
                return stored
        starts = side.starts.between(first, last + 1)
        plain = [
            (ids[number], end - start)
            for number, (start, end) in zip(numbers, pairwise(starts), strict=True)
        ]
        if not mediated:
            return plain
        listed = dict(plain)
        for i in mediated:
            relation = ids[numbers[i]]
            cvts, others = self._first_cvts(side, starts[i], starts[i + 1])
            # Where all the ends looked at are CVT nodes, the relation itself leads nowhere: a count
            # of 0, which is not listed.
            listed[relation] = listed[relation] - len(cvts) if others else 0
            for pair, count in self._pairs(node, numbers[i], cvts, direction):
                # A relation that is stored under the id `a..b` has its own count, and keeps it.
                listed.setdefault(pair, count)
        return sorted((relation, count) for relation, count in listed.items() if count)

    def step(self, node: int, relation: str, direction: Direction, limit: int | None) -> list[int]:
        """The nodes one hop away over a plain or a flattened relation, no CVT node among them."""
        side, number = self._sides[direction], self._at.get(relation)
        # First as a stored relation, whatever its id looks like: `a..b` may be one (Freebase
        # slices).
        start, end = side.run(node, number) if number is not None else (0, 0)
        if start < end and number is not None:
            # A flag of the relation, made when the graph was compiled: without it no end is a CVT
            # node, and the ends are one slice, without a look at each.
            if not side.to_cvts[number]:
                return side.nodes[
                    start : end if limit is None else min(end, start + limit)
                ].tolist()
            return self._without_cvts(side, start, end, limit)
        if FLATTENED not in relation:
            return []
        first, _, second = relation.partition(FLATTENED)
        near, far = (first, second) if direction == Direction.OUT else (second, first)
        near_number, far_number = self._at.get(near), self._at.get(far)
        if near_number is None or far_number is None:
            return []
        listings = self._listings[direction]
        if limit is not None and listings is not None:
            stored = listings.first_ends(node, near_number, far_number)
            if limit <= len(stored) or 0 < len(stored) < listings.ends_limit:
                return stored[:limit]
        return self.cross(node, near_number, far_number, direction)[:limit]

    def cross(self, node: int, near: int, number: int, direction: Direction) -> list[int]:
        """The nodes over one relation from the CVT nodes at the end of `near`, but not the node
        itself, ascending."""
        side, is_cvt = self._sides[direction], self._is_cvt
        start, end = side.run(node, near)
        if end - start >= MANY:
            return _far_ends(side, is_cvt, (start, end), number, node)
        found: set[int] = set()
        for cvt in side.nodes[start:end]:
            if is_cvt[cvt]:
                found.update(side.nodes[slice(*side.run(cvt, number))])
        found.discard(node)
        return sorted(other for other in found if not is_cvt[other])

    def _without_cvts(self, side: EdgeSide, start: int, end: int, limit: int | None) -> list[int]:
        """The first of these destinations that are no CVT nodes."""
        is_cvt = self._is_cvt
        if end - start < MANY:
            return list(islice((n for n in side.nodes[start:end] if not is_cvt[n]), limit))
        flags, found, size = np.asarray(is_cvt), list[int](), MANY
        while start < end and (limit is None or len(found) < limit):
            ends = np.asarray(side.nodes[start : min(end, start + size)])
            found += ends[flags[ends] == 0].tolist()
            start, size = start + size, min(AT_ONCE, 8 * size)
        return found[:limit]

    def _first_cvts(self, side: EdgeSide, start: int, end: int) -> tuple[list[int], int]:
        """The CVT nodes among the first of these destinations, and how many others are there."""
        ends = side.nodes[start : min(end, start + CVTS_PER_RELATION)].tolist()
        is_cvt = self._is_cvt
        cvts = [node for node in ends if is_cvt[node]]
        return cvts, len(ends) - len(cvts)

    def _pairs(
        self, node: int, near: int, cvts: list[int], direction: Direction
    ) -> Iterator[tuple[str, int]]:
        """What lies behind the CVT nodes, as flattened relations."""
        for far, others in self._behind(node, cvts, self._sides[direction]).items():
            if pair := self._pair(near, far, direction):
                yield pair, len(others)

    def _pair(self, near: int, far: int, direction: Direction) -> str:
        """`first..second`, or `""` where a step could not tell which is which."""
        names = self._names[direction]
        pair = names.get((near, far))
        if pair is None:
            pair = names[near, far] = self._flattened(near, far, direction)
        return pair

    def _flattened(self, near: int, far: int, direction: Direction) -> str:
        pair = (near, far) if direction == Direction.OUT else (far, near)
        first, second = self._ids[pair[0]], self._ids[pair[1]]
        # A step splits at the first one.
        sure = FLATTENED not in first and FLATTENED not in self._ids[near]
        return FLATTENED.join((first, second)) if sure else ""

    def _behind(self, node: int, cvts: list[int], side: EdgeSide) -> dict[int, set[int]]:
        """What lies one hop behind the CVT nodes: node numbers by relation number."""
        found: dict[int, set[int]] = {}
        is_cvt, nodes, starts = self._is_cvt, side.nodes, side.starts
        for cvt in cvts:
            first, last = side.groups.span(cvt)
            # GraphWalker's limit, by relation id: every backend cuts at the same relations.
            last = min(last, first + RELATIONS_PER_CVT)
            if first == last:
                continue
            others = nodes[starts[first] : starts[last]].tolist()
            relations = side.relations[first:last].tolist()
            # Most relations of a CVT node have one end, and then the two lists match as they are.
            if len(others) > len(relations):
                runs = zip(relations, pairwise(starts.between(first, last + 1)), strict=True)
                relations = [r for r, (start, end) in runs for _ in range(end - start)]
            for relation, other in zip(relations, others, strict=True):
                if other == node or is_cvt[other]:
                    continue
                if relation in found:
                    found[relation].add(other)
                else:
                    found[relation] = {other}
        return found


def _far_ends(
    side: EdgeSide, is_cvt: memoryview, run: tuple[int, int], relation: int, but: int
) -> list[int]:
    """The nodes over `relation` from the CVT nodes in that run of `side.nodes`, ascending, each
    once; no CVT node among them, nor `but`."""
    flags = np.asarray(is_cvt)
    found: Array = np.zeros(0, dtype=np.int64)
    for first in range(run[0], run[1], AT_ONCE):
        ends = np.asarray(side.nodes[first : min(run[1], first + AT_ONCE)])
        cvts = ends[flags[ends] != 0].astype(np.int64)
        # Unique after each piece: memory holds the distinct ends, not all the paths to them.
        found = np.unique(np.concatenate((found, _over(side, cvts, relation))))
    return found[(flags[found] == 0) & (found != but)].tolist()


def _over(side: EdgeSide, nodes: Array, relation: int) -> Array:
    """The destinations of all those nodes over one relation."""
    groups = _spans(side.groups.at(nodes), side.groups.at(nodes + 1))
    groups = groups[np.asarray(side.relations)[groups] == relation]
    places = _spans(side.starts.at(groups), side.starts.at(groups + 1))
    return np.asarray(side.nodes)[places].astype(np.int64)


def _spans(starts: Array, ends: Array) -> Array:
    """All numbers from each start up to, but without, its end."""
    sizes = ends - starts
    shifts: Array = starts - (sizes.cumsum() - sizes)
    return np.arange(int(sizes.sum())) + shifts.repeat(sizes)
