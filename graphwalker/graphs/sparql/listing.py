"""Listings over SPARQL: the relations of an entity, CVT nodes crossed, in one request.

A request counts the relations and brings what stands behind CVT nodes among the first edges of a
side; a side with more edges needs a second one. The result is that of `cvt.flat_relations_many`.
A side with more than a thousand edges is a hub: probes of its relations tell what they lead to, and
counts are bounded. Its listing is remembered; a portion of it is counted again each time.
"""

import math
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

from graphwalker.errors import GraphError
from graphwalker.graphs.base import FLATTENED, AtLeast, Direction, Entity, Side, Step
from graphwalker.graphs.cvt import RELATIONS_PER_CVT
from graphwalker.graphs.sparql.answers import ResultRow, RowReader, count_in, is_nameless
from graphwalker.graphs.sparql.batch import BRANCHES, BranchBatch
from graphwalker.graphs.sparql.client import SparqlClient
from graphwalker.graphs.sparql.patterns import CVTS_LOOKED_AT, Patterns
from graphwalker.graphs.sparql.terms import Vocabulary

FIRST = 50
"""Edges of a side among which CVT nodes are looked for right away."""
EDGES = 1_000
"""Edges of a side that are all looked at; a side with more is a hub."""
COUNTED = 100_000
"""Edges of a side up to which counts are exact; of more, none is above `COUNTED_EACH`."""
COUNTED_EACH = 1_100
ORDERED = 2_000
"""Ends of one relation up to which "the first n" are those of the least ids; of more, any n."""
_SIDES = 8
"""Per request: each side may bring many rows."""
_SHAPES = (2, 6, 13, 24, BRANCHES)
"""Branches of one kind in a request about a hub, filled up: few texts, each planned once."""
_NONE = "<urn:graphwalker:none>"
Chain = tuple[str, ...]
"""One relation, or two around a CVT node."""
Countable = tuple[Sequence[Chain], Callable[[str, Chain], str]]
"""What is to be counted around an entity, and how the branch for each is written."""
REMEMBERED = 4096
"""Sides whose listed relations are remembered."""
PORTION, FEW = 2, 12
"""Counts of a kind in one request about a hub, unless all are few: of six in one text Virtuoso
7.2.5 planned some so that they took ten times as long. Of a known hub one portion is counted again
at each listing, the next one each time."""
Portion = Sequence[tuple[int, Countable]]
"""What is counted in one request, each with the number of its kind."""


class ListedSide(NamedTuple):
    """The relations of a side with their counts, and those `a..b` among them that are stored."""

    relations: list[tuple[str, int]]
    stored: frozenset[str]


@dataclass(slots=True)
class _Look:
    """What is known about one side: its counts, and the rows behind CVT nodes by relation."""

    side: Side
    counts: dict[str, int]
    behind: dict[str, list[ResultRow]] = field(default_factory=dict[str, list[ResultRow]])
    hub: list[tuple[str, int]] | None = None
    """The listing of a hub."""


@dataclass(slots=True)
class _Hub:
    """What is remembered of a hub: its listing, its relations with their counts, and by kind what
    was counted, in portions."""

    listing: list[tuple[str, int]]
    counts: Mapping[str, int]
    known: Sequence[Mapping[Chain, int]]
    portions: Sequence[Portion]
    turn: int = 0


@dataclass(frozen=True, slots=True)
class _Mediation:
    """A relation that leads to CVT nodes, and no other nodes where it is `pure`; relations behind
    them, to entities and to literals."""

    pure: bool
    entities: tuple[str, ...]
    literals: tuple[str, ...]

    def ends(self, literals: bool) -> tuple[str, ...]:
        return self.literals if literals else self.entities


class EndpointLister:
    """Lists sides, in the vocabulary of its reader."""

    def __init__(
        self, client: SparqlClient, vocabulary: Vocabulary, patterns: Patterns, edges: int = EDGES
    ) -> None:
        self._client, self._vocabulary, self._patterns = client, vocabulary, patterns
        self._iri = vocabulary.known_iri
        self._edges, self._first = edges, min(edges, FIRST)
        self._known: dict[tuple[str, Direction], _Mediation | None] = {}
        """Relations of hubs; `None` for one that leads to no CVT nodes."""
        self._hubs: dict[Side, _Hub] = {}
        self._read = RowReader(vocabulary)

    def flat_relations_many(self, sides: Sequence[Side]) -> list[ListedSide]:
        """`cvt.flat_relations_many` of sides that have an IRI."""
        return [
            listed
            for first in range(0, len(sides), _SIDES)
            for listed in self._some(sides[first : first + _SIDES])
        ]

    def _some(self, sides: Sequence[Side]) -> Iterator[ListedSide]:
        again = {
            side: self._list_again(side, hub) for side in sides if (hub := self._hubs.get(side))
        }
        known = {side: listed for side, listed in again.items() if listed is not None}
        looks = self._look([side for side in sides if side not in known])
        few = [look for look in looks if sum(look.counts.values()) <= self._first]
        large = [look for look in looks if look not in few]
        hubs = [look for look in large if sum(look.counts.values()) > self._edges]
        self._look_again([look for look in large if look not in hubs])
        for look in hubs:
            self._look_at_hub(look)
        for look in looks:
            relations = self._list_relations(look) if look.hub is None else look.hub
            known[look.side] = _listed_side(relations, look.counts)
        return (known[side] for side in sides)

    def _look(self, sides: Sequence[Side]) -> list[_Look]:
        batch = BranchBatch(self._client)
        for side in sides:
            entity = batch.term(self._iri(side.entity_id))
            batch.add(self._patterns.relations(entity, side.direction, COUNTED + 1))
            batch.add(self._patterns.behind(entity, side.direction, self._first + 1))
        found = iter(batch.run())
        return [
            _Look(side, self._read.counts(next(found)), self._read.by(next(found), "r"))
            for side in sides
        ]

    def _look_again(self, looks: Sequence[_Look]) -> None:
        """Ask for all edges, where the first ones were not all."""
        batch = BranchBatch(self._client)
        for look in looks:
            entity = batch.term(self._iri(look.side.entity_id))
            batch.add(self._patterns.behind(entity, look.side.direction, self._edges + 1))
        for look, rows in zip(looks, batch.run(), strict=True):
            look.behind = self._read.by(rows, "r")

    def _look_at_hub(self, look: _Look) -> None:
        """List a hub from what its relations are known to lead to."""
        side, large = look.side, sum(look.counts.values()) > COUNTED
        if large:
            look.counts = self._bounded_counts(side)
        counts = {r: n for r, n in look.counts.items() if n and not self._vocabulary.hides(r)}
        for relation in counts:
            if (relation, side.direction) not in self._known:
                self._known[relation, side.direction] = self._learn(relation, side.direction)
        hub = self._list_hub(side, counts, large)
        look.hub = hub.listing
        if len(self._hubs) >= REMEMBERED:
            self._hubs.clear()
        self._hubs[side] = hub

    def _list_again(self, side: Side, hub: _Hub) -> ListedSide | None:
        """Return the listing of a known hub; `None` where a count differs: it is listed anew."""
        portion = hub.portions[hub.turn % len(hub.portions)]
        hub.turn += 1
        found = self._counts(side, *(countable for _, countable in portion))
        for (kind, _), counted in zip(portion, found, strict=True):
            if any(count != hub.known[kind][chain] for chain, count in counted.items()):
                self._hubs.pop(side, None)
                return None
        return _listed_side(hub.listing, hub.counts)

    def _find_mediated(self, side: Side, relations: Iterable[str]) -> dict[str, _Mediation]:
        """Return those of the relations that lead to CVT nodes; a stored `a..b` is left alone."""
        known = {r: self._known[r, side.direction] for r in relations if FLATTENED not in r}
        return {r: mediated for r, mediated in known.items() if mediated}

    def _list_hub(self, side: Side, counts: Mapping[str, int], large: bool) -> _Hub:
        """Return a hub whose relations are known, with what stands behind its CVT nodes counted."""
        mediated, direction = self._find_mediated(side, counts), side.direction
        patterns, most = self._patterns, COUNTED_EACH if large else COUNTED + 1
        plain: Countable = (
            [(r,) for r in counts if r not in mediated or not mediated[r].pure],
            lambda e, c: patterns.count_up_to(e, c[0], direction, most),
        )
        across: list[Countable] = [
            (
                [(r,) for r, relation in mediated.items() if not relation.pure],
                lambda e, c: patterns.cvts(e, c[0], direction),
            ),
            *self._pairs_by_kind(side, mediated),
        ]
        found: list[dict[Chain, int]] = [{} for _ in across]
        for portion in _portions(across):
            counted = self._counts(side, *(countable for _, countable in portion))
            for (kind, _), of_kind in zip(portion, counted, strict=True):
                found[kind].update(of_kind)
        cvts, *behind = found
        listed = {r: n for r, n in counts.items() if r not in mediated}
        for (relation,), count in cvts.items():
            if count < min(counts[relation], CVTS_LOOKED_AT):
                listed[relation] = counts[relation] - count
        total: Counter[Chain] = Counter()
        for of_kind in behind:
            total.update(of_kind)
        for (near, far), count in total.items():
            pair = (near, far) if direction == Direction.OUT else (far, near)
            bounded = counts[near] > CVTS_LOOKED_AT
            if count and FLATTENED not in pair[0]:
                listed.setdefault(FLATTENED.join(pair), AtLeast(count) if bounded else count)
        relations = sorted((r, n) for r, n in listed.items() if n)
        known: list[dict[Chain, int]] = [{c: counts[c[0]] for c in plain[0]}, *found]
        kinds = [
            ([chain for chain in chains if count[chain]], branch)
            for (chains, branch), count in zip((plain, *across), known, strict=True)
        ]
        return _Hub(relations, counts, known, _portions(kinds))

    def _pairs_by_kind(self, side: Side, mediated: Mapping[str, _Mediation]) -> Iterator[Countable]:
        """Pairs to be counted: how many entities, or literals, stand behind the CVT nodes."""
        for pure, literals in product((True, False), repeat=2):
            some = [
                (near, far)
                for near, relation in mediated.items()
                for far in relation.ends(literals)
                if relation.pure == pure
            ]

            def branch(e: str, pair: Chain, p: bool = pure, x: bool = literals) -> str:
                return self._patterns.pairs(e, pair[0], pair[1], side.direction, p, x)

            yield some, branch

    def _bounded_counts(self, side: Side) -> dict[str, int]:
        """Get the relations of a side with very many edges, each counted up to `COUNTED_EACH`."""
        batch, direction = BranchBatch(self._client), side.direction
        entity = batch.term(self._iri(side.entity_id))
        batch.add(self._patterns.relation_ids(entity, direction))
        relations = [(self._read.id(row, "r"),) for row in batch.run()[0]]

        def branch(entity: str, chain: Chain) -> str:
            return self._patterns.count_up_to(entity, chain[0], direction, COUNTED_EACH)

        (found,) = self._counts(side, (relations, branch))
        return _bound_counts({r: n for (r,), n in found.items()})

    def _learn(self, relation: str, direction: Direction) -> _Mediation | None:
        """Probe a relation for CVT nodes, wherever they are: once for each relation of a store, in
        a request of its own. Of a dozen probes in one text Virtuoso 7.2.5 plans some so that they
        read all of the graph: 10 s on three million triples, against 5 ms each."""
        batch, patterns = BranchBatch(self._client), self._patterns
        term = batch.term(self._iri(relation))
        for branch in (patterns.probe_count, patterns.probe_cvt_count, patterns.probe_relations):
            batch.add(branch(term, direction))
        *counted, far = batch.run()
        looked, nameless = (sum(count_in(row, "n") for row in rows) for rows in counted)
        kinds = {(self._read.id(row, "q"), bool(count_in(row, "l"))) for row in far}
        if not nameless:
            return None
        return _Mediation(
            pure=nameless == looked,
            entities=tuple(sorted(q for q, literal in kinds if not literal)),
            literals=tuple(sorted(q for q, literal in kinds if literal)),
        )

    def _counts(self, side: Side, *kinds: Countable) -> list[dict[Chain, int]]:
        """Return what each kind's branches count around the entity, by one or two relations."""
        batch = BranchBatch(self._client)
        entity = batch.term(self._iri(side.entity_id))
        places: list[dict[Chain, int]] = []
        for chains, branch in kinds:
            of_kind: dict[Chain, int] = {}
            for first in range(0, len(chains), BRANCHES):
                some = chains[first : first + BRANCHES]
                filled = _fill_up([tuple(map(self._iri, chain)) for chain in some])
                added = [batch.add(branch(entity, tuple(map(batch.term, one)))) for one in filled]
                of_kind.update(zip(some, added, strict=False))
            places.append(of_kind)
        found = [sum(count_in(row, "n") for row in rows) for rows in batch.run()]
        return [{chain: found[place] for chain, place in of_kind.items()} for of_kind in places]

    def _list_relations(self, look: _Look) -> list[tuple[str, int]]:
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
        """Tell what lies behind the CVT nodes at the end of `near`: ids of entities by `r1..r2`."""
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


def _listed_side(relations: list[tuple[str, int]], counts: Mapping[str, int]) -> ListedSide:
    return ListedSide(
        relations, frozenset(r for r, _ in relations if FLATTENED in r and r in counts)
    )


def _bound_counts(counts: Mapping[str, int]) -> dict[str, int]:
    return {r: AtLeast(COUNTED_EACH) if n >= COUNTED_EACH else n for r, n in counts.items()}


def _portions(kinds: Sequence[Countable]) -> list[Portion]:
    """Yield all in one where that is little, else some of a kind: few texts, each planned once."""
    if sum(len(chains) for chains, _ in kinds) <= FEW:
        return [list(enumerate(kinds))]
    return [
        [(kind, (chains[turn::turns], branch))]
        for kind, (chains, branch) in enumerate(kinds)
        for turns in (math.ceil(len(chains) / PORTION),)
        for turn in range(turns)
    ]


def _fill_up(some: Sequence[Chain]) -> Iterator[Chain]:
    """Fill up to the next shape's number with relations that no graph has."""
    yield from some
    wanted = next(shape for shape in _SHAPES if shape >= len(some))
    yield from [(_NONE,) * len(some[0])] * (wanted - len(some))


class CountedRelations:
    """The relations that the last listings showed, by side: one that was counted a moment ago and
    comes back without ends is a fault. Safe among threads."""

    def __init__(self) -> None:
        self._list_relations: dict[Side, tuple[dict[str, int], frozenset[str]]] = {}
        self._lock = threading.Lock()

    def add(self, listed: Mapping[Side, ListedSide]) -> None:
        with self._lock:
            if len(self._list_relations) + len(listed) > REMEMBERED:
                self._list_relations.clear()
            for side, (relations, stored) in listed.items():
                self._list_relations[side] = dict(relations), stored

    def count_of(self, step: Step) -> int | None:
        """Return how many ends the relation was listed with; `None` where it was not listed."""
        known = self._list_relations.get(Side(step.entity_id, step.direction))
        return known[0].get(step.relation) if known else None

    def is_stored(self, step: Step) -> bool | None:
        """Return whether a listed `a..b` is one relation of the graph; `None` if not listed."""
        known = self._list_relations.get(Side(step.entity_id, step.direction))
        return step.relation in known[1] if known and step.relation in known[0] else None

    def find_contradictions(
        self, steps: Sequence[Step], found: Sequence[list[Entity]]
    ) -> list[Step]:
        """Return the steps that led nowhere though their relation was counted there."""
        return [
            step
            for step, ends in zip(steps, found, strict=True)
            if not ends and step.limit != 0 and self.count_of(step)
        ]

    def refuse(self, found: Mapping[Step, list[Entity]]) -> None:
        """Raise `GraphError` where a second look found nothing either."""
        for step, ends in found.items():
            if not ends:
                raise GraphError(
                    f"{step.relation} of {step.entity_id} was counted and has no end now: the "
                    "endpoint loses answers, or its graph was changed"
                )
