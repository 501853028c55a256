"""Hops on the node numbers of a compiled graph: what to list for a node, what lies one hop away."""

from collections.abc import Mapping, Sequence
from itertools import islice, pairwise

from graphwalker.graphs.arrays import Side
from graphwalker.graphs.base import FLATTENED, Direction
from graphwalker.graphs.flatten import CVTS_PER_RELATION, RELATIONS_PER_CVT


class Hops:
    """`flatten`'s listing and steps, exactly, without making an entity of every node passed.

    `relation_at` numbers the relations, in the order of their ids; `is_cvt` has a flag for each
    node.
    """

    def __init__(
        self,
        sides: Mapping[Direction, Side],
        is_cvt: memoryview,
        relation_ids: Sequence[str],
        relation_at: Mapping[str, int],
    ) -> None:
        self._sides, self._is_cvt = sides, is_cvt
        self._ids, self._at = relation_ids, relation_at

    def listed(self, node: int, direction: Direction) -> list[tuple[str, int]]:
        """The relations to list, plain and through CVT nodes, each with its number of entities."""
        side, ids = self._sides[direction], self._ids
        first, last = side.groups.span(node)
        numbers = side.relations[first:last].tolist()
        runs = list(pairwise(side.starts.between(first, last + 1)))
        to_cvts = side.to_cvts
        mediated = [i for i, number in enumerate(numbers) if to_cvts[number]]
        plain = [
            (ids[number], end - start) for number, (start, end) in zip(numbers, runs, strict=True)
        ]
        if not mediated:
            return plain
        listed = dict(plain)
        for i in mediated:
            relation = ids[numbers[i]]
            cvts, others = self._first_cvts(side, *runs[i])
            listed[relation] = listed[relation] - len(cvts) if others else 0
            if FLATTENED not in relation:
                for pair, count in self._pairs(node, relation, cvts, direction):
                    listed.setdefault(pair, count)
        return sorted((relation, count) for relation, count in listed.items() if count)

    def step(self, node: int, relation: str, direction: Direction, limit: int | None) -> list[int]:
        """The nodes one hop away over a plain or a flattened relation, no CVT node among them."""
        side, number = self._sides[direction], self._at.get(relation)
        start, end = side.run(node, number) if number is not None else (0, 0)
        if start < end and number is not None:
            if not side.to_cvts[number]:
                return side.nodes[
                    start : end if limit is None else min(end, start + limit)
                ].tolist()
            is_cvt = self._is_cvt
            return list(islice((n for n in side.nodes[start:end] if not is_cvt[n]), limit))
        if FLATTENED not in relation:
            return []
        first, _, second = relation.partition(FLATTENED)
        near, far = (first, second) if direction is Direction.OUT else (second, first)
        return self.cross(node, near, far, direction)[:limit]

    def cross(self, node: int, near: str, far: str, direction: Direction) -> list[int]:
        """The nodes over `far` from the CVT nodes at the end of `near`, but not the node itself."""
        near_number, number = self._at.get(near), self._at.get(far)
        if near_number is None or number is None:
            return []
        side, is_cvt = self._sides[direction], self._is_cvt
        found: set[int] = set()
        for cvt in side.nodes[slice(*side.run(node, near_number))]:
            if is_cvt[cvt]:
                found.update(side.nodes[slice(*side.run(cvt, number))])
        found.discard(node)
        return sorted(other for other in found if not is_cvt[other])

    def _first_cvts(self, side: Side, start: int, end: int) -> tuple[list[int], int]:
        """The CVT nodes among the first of these destinations, and how many others are there."""
        ends = side.nodes[start : min(end, start + CVTS_PER_RELATION)].tolist()
        is_cvt = self._is_cvt
        cvts = [node for node in ends if is_cvt[node]]
        return cvts, len(ends) - len(cvts)

    def _pairs(
        self, node: int, near: str, cvts: list[int], direction: Direction
    ) -> list[tuple[str, int]]:
        """What lies behind the CVT nodes, as flattened relations."""
        pairs: list[tuple[str, int]] = []
        for number, others in self._behind(node, cvts, self._sides[direction]).items():
            far = self._ids[number]
            pair = (near, far) if direction is Direction.OUT else (far, near)
            if FLATTENED not in pair[0]:  # a step splits at the first one
                pairs.append((FLATTENED.join(pair), len(others)))
        return pairs

    def _behind(self, node: int, cvts: list[int], side: Side) -> dict[int, set[int]]:
        """What lies one hop behind the CVT nodes: node numbers by relation number."""
        found: dict[int, set[int]] = {}
        is_cvt, nodes, between = self._is_cvt, side.nodes, side.starts.between
        for cvt in cvts:
            first, last = side.groups.span(cvt)
            last = min(last, first + RELATIONS_PER_CVT)
            if first == last:
                continue
            ends = between(first, last + 1)
            others = nodes[ends[0] : ends[-1]].tolist()
            relations = side.relations[first:last].tolist()
            if len(others) > len(relations):
                runs = zip(relations, pairwise(ends), strict=True)
                relations = [r for r, (start, end) in runs for _ in range(end - start)]
            for relation, other in zip(relations, others, strict=True):
                if other != node and not is_cvt[other]:
                    found.setdefault(relation, set()).add(other)
        return found
