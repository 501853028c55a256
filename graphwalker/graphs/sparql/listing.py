"""Listings over SPARQL: the relations of an entity, CVT nodes crossed, in one request.

A request counts the relations and brings along what stands behind CVT nodes among the first
edges of a side. Sides with more edges than that (hubs) need a second one. What comes out is what
`flatten.flat_relations` gives on any other graph.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from graphwalker.errors import GraphError
from graphwalker.graphs.base import FLATTENED, Direction, Entity, Side, Step
from graphwalker.graphs.cvt import RELATIONS_PER_CVT
from graphwalker.graphs.sparql.answers import ResultRow
from graphwalker.graphs.sparql.batch import BranchBatch
from graphwalker.graphs.sparql.client import SparqlClient
from graphwalker.graphs.sparql.patterns import CVTS_LOOKED_AT, Patterns
from graphwalker.graphs.sparql.reading import RowReader, is_nameless
from graphwalker.graphs.sparql.terms import Vocabulary

EDGES = 1_000
"""Edges of a side among which CVT nodes are looked for right away."""
ORDERED = 10_000
"""Ends of one relation up to which "the first n" are those of the least ids; of more, any n."""
_SIDES = 8
"""Per request: each side may bring many rows."""
REMEMBERED = 4096
"""Sides whose listed relations are remembered."""


@dataclass(slots=True)
class _Look:
    """What is known about one side: its counts, and the rows behind CVT nodes by relation."""

    side: Side
    counts: dict[str, int]
    behind: dict[str, list[ResultRow]] = field(default_factory=dict[str, list[ResultRow]])


class EndpointLister:
    """Lists sides, in the vocabulary of its reader."""

    def __init__(
        self,
        client: SparqlClient,
        vocabulary: Vocabulary,
        patterns: Patterns,
        edges: int = EDGES,
        ordered: int = ORDERED,
    ) -> None:
        self._client, self._vocabulary, self._patterns = client, vocabulary, patterns
        self._edges, self._ordered = edges, ordered
        self._mediated: set[tuple[str, Direction]] = set()
        """Relations that lead to CVT nodes, as probes have shown."""
        self._read = RowReader(vocabulary)

    def flat_relations_many(self, sides: Sequence[Side]) -> list[list[tuple[str, int]]]:
        """`flatten.flat_relations_many` of sides that have an IRI."""
        return [
            listed
            for first in range(0, len(sides), _SIDES)
            for listed in self._some(sides[first : first + _SIDES])
        ]

    def _some(self, sides: Sequence[Side]) -> Iterator[list[tuple[str, int]]]:
        batch = BranchBatch(self._client)
        for entity_id, direction in sides:
            entity = batch.term(self._iri(entity_id))
            batch.add(self._patterns.relations(entity, direction))
            batch.add(self._patterns.behind(entity, direction, self._edges + 1))
        found = iter(batch.run())
        looks: list[_Look] = []
        for side in sides:
            counts = self._read.counts(next(found))
            looks.append(_Look(side, counts, self._read.by(next(found), "r")))
        self._look_again(looks)
        return map(self._listed, looks)

    def _look_again(self, looks: Sequence[_Look]) -> None:
        """Ask again where the first edges were not all, or more than may be looked at."""
        plain = self._without_cvts(looks)
        batch = BranchBatch(self._client)
        places: list[tuple[_Look, str, int]] = []
        for look in looks:
            entity, direction = batch.term(self._iri(look.side.entity_id)), look.side.direction
            partly = sum(look.counts.values()) > self._edges
            wanted = look.counts if partly else look.behind
            wanted = [r for r in wanted if look.counts.get(r, 0) and not self._vocabulary.hides(r)]
            large = [r for r in wanted if look.counts[r] > CVTS_LOOKED_AT]
            for relation in large:
                if (look.side, relation) in plain:
                    continue
                term = batch.term(self._iri(relation))
                in_order = look.counts[relation] <= self._ordered
                branch = self._patterns.behind_one(entity, direction, term, in_order)
                places.append((look, relation, batch.add(branch)))
            for some in self._portions(look, set(wanted) - set(large)) if partly else ():
                terms = " ".join(map(self._iri, some))
                branch = self._patterns.behind_some(entity, direction, terms)
                places.append((look, "", batch.add(branch)))
            if partly:
                look.behind = {}
        found = batch.run()
        for look, relation, place in places:
            rows = found[place]
            look.behind.update({relation: rows} if relation else self._read.by(rows, "r"))

    def _without_cvts(self, looks: Sequence[_Look]) -> set[tuple[Side, str]]:
        """The relations of hubs among whose ends a probe finds no CVT node. To put a million ends
        into order costs seconds, a probe a millisecond; that a relation leads to CVT nodes is
        remembered, and not asked again."""
        batch = BranchBatch(self._client)
        probes: dict[tuple[Side, str], int] = {}
        for look in looks:
            side = look.side
            entity = batch.term(self._iri(side.entity_id))
            for relation, count in look.counts.items():
                known = (relation, side.direction) in self._mediated
                if count <= CVTS_LOOKED_AT or known or self._vocabulary.hides(relation):
                    continue
                term = batch.term(self._iri(relation))
                branch = self._patterns.leads_to_cvts(entity, side.direction, term)
                probes[side, relation] = batch.add(branch)
        found = batch.run()
        self._mediated |= {(r, side.direction) for (side, r), at in probes.items() if found[at]}
        return {one for one, at in probes.items() if not found[at]}

    def _portions(self, look: _Look, relations: set[str]) -> Iterator[list[str]]:
        """Relations with few edges, put together as long as the edges are not many."""
        portion: list[str] = []
        edges = 0
        for relation in sorted(relations):
            edges += look.counts[relation]
            if portion and (edges > self._edges or len(portion) >= 200):
                yield portion
                portion, edges = [], look.counts[relation]
            portion.append(relation)
        if portion:
            yield portion

    def _listed(self, look: _Look) -> list[tuple[str, int]]:
        counts = {r: n for r, n in look.counts.items() if n and not self._vocabulary.hides(r)}
        listed: dict[str, int] = {}
        for relation, count in counts.items():
            by_cvt = self._read.by(look.behind.get(relation, ()), "c")
            by_cvt.pop("", None)
            if len(by_cvt) < min(count, CVTS_LOOKED_AT) or not by_cvt:
                listed[relation] = count - len(by_cvt)
            if FLATTENED not in relation:
                for pair, others in self._pairs(look.side, relation, by_cvt).items():
                    if pair not in counts:
                        listed[pair] = len(others)
        return sorted(listed.items())

    def _pairs(
        self, side: Side, near: str, by_cvt: dict[str, list[ResultRow]]
    ) -> dict[str, set[str]]:
        """What lies behind the CVT nodes at the end of `near`: ids of entities by `r1..r2`."""
        found: dict[str, set[str]] = {}
        for rows in by_cvt.values():
            by_relation = self._read.by(rows, "q")
            shown = sorted(q for q in by_relation if q and not self._vocabulary.hides(q))
            for far in shown[:RELATIONS_PER_CVT]:
                pair = (near, far) if side.direction == Direction.OUT else (far, near)
                if FLATTENED in pair[0]:
                    continue
                ends = self._read.entities(by_relation[far])
                others = {e.id for e in ends if e.id != side.entity_id and not is_nameless(e)}
                if others:
                    found.setdefault(FLATTENED.join(pair), set()).update(others)
        return found

    def _iri(self, node_id: str) -> str:
        iri = self._vocabulary.iri(node_id)
        assert iri is not None, node_id
        return iri


class CountedRelations:
    """The relations that the last listings showed, by side: one that was counted a moment ago and
    comes back without ends is a fault. Safe among threads."""

    def __init__(self) -> None:
        self._listed: dict[Side, dict[str, int]] = {}
        self._lock = threading.Lock()

    def add(self, listed: Mapping[Side, Sequence[tuple[str, int]]]) -> None:
        with self._lock:
            if len(self._listed) + len(listed) > REMEMBERED:
                self._listed.clear()
            for side, relations in listed.items():
                self._listed[side] = dict(relations)

    def count_of(self, step: Step) -> int | None:
        """How many ends the relation was listed with; `None` where it was not listed."""
        return self._listed.get(Side(step.entity_id, step.direction), {}).get(step.relation)

    def contradicted(self, steps: Sequence[Step], found: Sequence[list[Entity]]) -> list[Step]:
        """The steps that led nowhere though their relation was counted there."""
        return [
            step
            for step, ends in zip(steps, found, strict=True)
            if not ends and step.limit != 0 and self.count_of(step)
        ]

    def refuse(self, found: Mapping[Step, list[Entity]]) -> None:
        """Raises `GraphError` where a second look found nothing either."""
        for step, ends in found.items():
            if not ends:
                raise GraphError(
                    f"{step.relation} of {step.entity_id} was counted and has no end now: the "
                    "endpoint loses answers, or its graph was changed"
                )
