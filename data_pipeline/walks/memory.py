"""What walks remember of a graph: steps taken lately, and which hops make sense from an entity."""

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from data_pipeline.seeds.seeds import Seeds
from data_pipeline.walks.plausibility import Plausibility, hop_over, listed_ends, reversed_hop
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, OverGraph, Side, Step
from graphwalker.graphs.cache.calls import AnsweringGraph, GraphCall, answer
from graphwalker.graphs.literals import is_literal
from graphwalker.query.query import Hop
from graphwalker.tools.listing import Lister

STEPS = 1 << 16
"""Steps of one generation; two generations are kept."""
PLACES = 1 << 16
"""Answers about an entity of which each kind is kept: of a large graph mostly hubs come again."""

ListingKey = tuple[str, str, Direction]
Known = tuple[int | None, list[Entity]]
"""The limit of the call, and what came."""


class RememberedGraph(AnsweringGraph, OverGraph):
    """Gives what `graph` gives. A step that was taken with the same limit, or came to its end
    below it, is not taken again: a walk is executed and proven over the steps that made it.

    The memory is bounded: its size depends on no number of walks. Safe among threads where `graph`
    is. The lists that it gives are its own: they are not to be changed.
    """

    def __init__(self, graph: KnowledgeGraph, size: int = STEPS) -> None:
        super().__init__(graph)
        self._size = size
        self._young: dict[ListingKey, Known] = {}
        self._old: dict[ListingKey, Known] = {}

    def answer(self, calls: Sequence[GraphCall]) -> list[Any]:
        return answer(self.graph, calls)

    def flat_relations_many(self, sides: Sequence[Side]) -> list[list[tuple[str, int]]]:
        return self.graph.flat_relations_many(sides)

    def step_many(self, steps: Sequence[Step]) -> list[list[Entity]]:
        return [self.step(*one) for one in steps]

    def step(
        self, entity_id: str, relation: str, direction: Direction, limit: int | None = None
    ) -> list[Entity]:
        """Return the ends of a hop, as the graph does."""
        key = entity_id, relation, direction
        known = self._young.get(key)
        if known is None and (known := self._old.get(key)):
            self._keep(key, known)
        limited, found = known or (0, [])
        # What was cut at a limit says enough for no larger one.
        enough = limited is None or len(found) < limited or (limit is not None and limit <= limited)
        if known is None or not enough:
            found = self.graph.step(entity_id, relation, direction, limit)
            self._keep(key, (limit, found))
        return found if limit is None or len(found) <= limit else found[:limit]

    def _keep(self, key: ListingKey, found: Known) -> None:
        if len(self._young) >= self._size:
            self._old, self._young = self._young, {}
        self._young[key] = found


class HopEnds(NamedTuple):
    """Where a hop leads from one entity: nowhere, where that are too many for a walk."""

    ends: list[Entity]
    ids: list[str]
    literal: bool

    def beyond(self, before: str, walked: set[str], literals: bool) -> list[Entity]:
        """Return the entities that a walk may take next; none over a hop that leads back to the
        entity `before`, or to values that are not wanted."""
        if before in self.ids or (self.literal and not literals):
            return []
        if walked.isdisjoint(self.ids):
            return self.ends
        return [entity for entity in self.ends if entity.id not in walked]


NOWHERE = HopEnds([], [], False)


class WalkedPlaces:
    """The entities that walks stand on. What the rule of plausibility says of one and what a step
    finds depend on no walk, and are cached. Safe among threads where `graph` is."""

    def __init__(
        self,
        graph: RememberedGraph,
        seeds: Seeds,
        degrees: tuple[int, int],
        relations: Lister,
        judge: Plausibility,
    ) -> None:
        """`degrees`: the fewest and the most entities that a hop of a walk leads to."""
        self._graph, self._relations, self._judge = graph, relations, judge
        self._least, self._most = degrees
        self.takes = cache(seeds.takes)
        self.allows, self.describes = cache(judge.allows), cache(judge.describes)
        self._follows = cache(judge.follows)
        self.spellings = cache(self._spellings)
        remembered = lru_cache(PLACES)
        self.hops, self.onward = remembered(self._hops), remembered(self._onward)
        self.into = remembered(self._into)
        self.way, self.passes = remembered(self._way), remembered(judge.between)

    def _spellings(self, hop: Hop) -> tuple[Hop, ...]:
        """Return the hop and its inverse."""
        inverse = self._judge.inverse(hop)
        return (hop, inverse) if inverse else (hop,)

    def _hops(self, entity_id: str) -> list[Hop]:
        """Get the hops that walks may take from there whose domain is what the entity is about."""
        hops = filter(self.takes, self.all_hops(entity_id))
        return self._judge.central(entity_id, list(hops))

    def _into(self, entity_id: str) -> list[Hop]:
        """Get the hops from there to what other branches may start from, which take them back."""
        takes = self.takes
        hops = [hop for hop in self.all_hops(entity_id) if takes(reversed_hop(hop))]
        return self._judge.central(entity_id, hops)

    def all_hops(self, entity_id: str) -> list[Hop]:
        """Return every hop that the entity lists."""
        listing = self._relations(entity_id)
        hops = [hop_over(relation, Direction.OUT) for relation in listing.out]
        return hops + [hop_over(relation, Direction.IN) for relation in listing.into]

    def _onward(
        self, entity_id: str, reached_by: Hop | None, is_end: bool, alone: bool
    ) -> list[Hop]:
        """Return the hops that make sense from there, behind the hop that leads there. `is_end`: as
        the last one of a path; `alone`: as all that the question asks."""
        allows, describes, follows = self.allows, self.describes, self._follows
        return [
            hop
            for hop in self.hops(entity_id)
            if allows(hop, alone)
            and (is_end or describes(hop))
            and (reached_by is None or follows(reached_by, hop))
        ]

    def _way(self, entity_id: str, hop: Hop) -> HopEnds:
        most = self._most
        # A hop leads to as many as are listed, or more: half of the hops are not looked at.
        if listed_ends(hop, self._relations(entity_id)) > most:
            return NOWHERE
        ends = self._graph.step(entity_id, hop.relation, hop.direction, most + 1)
        # GraphWalker Eq. 1: neither trivially unique nor excessively branching.
        if not self._least <= len(ends) <= most:
            return NOWHERE
        ids = [entity.id for entity in ends]
        return HopEnds(ends, ids, any(map(is_literal, ids)))
