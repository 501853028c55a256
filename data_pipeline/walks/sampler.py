"""Constrained random walks: each becomes the executable query of one question.

A walk grows hop by hop, and with it what its query finds: a hop is taken only where all entities
reached so far have it and it leads to few enough, so that most walks can be asked about.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import islice
from typing import Any, TypeVar

from data_pipeline.seeds.seeds import Seeds
from data_pipeline.walks.memory import RememberedGraph, WalkedPlaces
from data_pipeline.walks.plausibility import Plausibility, reversed_hop
from graphwalker.graphs.base import Entity, KnowledgeGraph
from graphwalker.graphs.literals import is_literal
from graphwalker.query.query import Branch, Hop, Query
from graphwalker.tools.listing import Lister, lister
from graphwalker.tools.settings import WalkerSettings

T = TypeVar("T")

STRUCTURES: dict[str, tuple[tuple[int, ...], int]] = {
    "1-hop": ((1,), 0),
    "2-hop": ((2,), 0),
    "3-hop": ((3,), 0),
    "4-hop": ((4,), 0),
    "5-hop": ((5,), 0),
    "2I": ((1, 1), 0),
    "3I": ((1, 1, 1), 0),
    "PI": ((2, 1), 0),
    "IP": ((1, 1), 1),
}
"""Hops of each branch and of the shared tail (GraphWalker Figure 3)."""

HOP_TRIES = 12
"""Relations tried at an entity before the walk is given up there."""
TOPICS = 12
"""Entities that a walk tries to start from."""
TOPIC_TRIES = 200
LOOKS = 16
"""Entities at which hops are chosen, for one topic."""
ENDS = 2
"""Entities that one hop leads to from which a walk tries to continue."""
FIRSTS = 3
"""First branches from one topic for which a second one is sought."""
BACKWARD_LIMIT = 100
"""Entities considered as the second topic of a conjunction, of one relation."""
SECOND_TOPICS = 1 << 13
"""Hops to an entity whose second topics are remembered: conjunctions meet in hubs."""


@dataclass(frozen=True, slots=True)
class WalkRules:
    """What a walk may do. `usable_topic` keeps held-out entities apart; `takes_type` says of a last
    hop whether a question about it can name a type; `key` is what a hop is counted by."""

    min_degree: int = 1
    max_degree: int = 5
    literals: bool = False
    max_answers: int = 5
    max_frontier: int = 5
    max_calls: int = 0
    """Calls that an agent may make to find the answers; 0 where that is not known."""
    usable_topic: Callable[[str], bool] = lambda _: True
    takes_type: Callable[[Hop, str], bool] = lambda _, __: True
    key: Callable[[Hop], str] = lambda hop: hop.relation


@dataclass(frozen=True, slots=True)
class Walk:
    """A sampled query, and the entities that the walk stood on: branch by branch, tail last."""

    structure: str
    query: Query
    visited: tuple[tuple[Entity, ...], ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "structure": self.structure,
            "query": self.query.to_json(),
            "visited": [[{"id": e.id, "name": e.name} for e in path] for path in self.visited],
        }

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> "Walk":
        return cls(
            record["structure"],
            Query.from_json(record["query"]),
            tuple(tuple(Entity(e["id"], e["name"]) for e in p) for p in record["visited"]),
        )


@dataclass(frozen=True, slots=True)
class _Path:
    """What was walked, and what its query finds after each hop."""

    entities: tuple[Entity, ...]
    frontiers: tuple[dict[str, Entity], ...]
    hops: tuple[Hop, ...] = ()

    def over(self, hop: Hop, target: Entity, reached: dict[str, Entity]) -> "_Path":
        return _Path((*self.entities, target), (*self.frontiers, reached), (*self.hops, hop))


@dataclass(slots=True)
class _Search:
    """What a path is sampled for, and how much of the search is left."""

    rng: random.Random
    avoided: frozenset[str]
    """Keys of the hops that it must not take."""
    is_part: bool = False
    """Whether its end is where branches meet, not the answers."""
    alone: bool = False
    """Whether it is a question of one hop."""
    first: tuple[Hop, ...] = ()
    """The ways to write its first hop, where that is given."""
    reached_by: Hop | None = None
    """The hop that leads to its start, where one does."""
    known: frozenset[str] = frozenset()
    """Entities that it must not lead to."""
    looks: int = field(default=LOOKS)


class Walker:
    """Samples walks on one graph. Holds nothing but caches: a walk depends on its `rng` and on the
    hops that it is to avoid, on nothing else."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        seeds: Seeds,
        rules: WalkRules,
        relations: Lister | None = None,
        plausibility: Plausibility | None = None,
    ) -> None:
        """`relations` names what an agent would be shown; by default, all of an entity's."""
        self.graph = graph if isinstance(graph, RememberedGraph) else RememberedGraph(graph)
        self.seeds = seeds
        self.rules = rules
        degrees = rules.min_degree, rules.max_degree
        self.listed = relations or lister(graph, WalkerSettings())
        self._judge = plausibility or Plausibility.off(self.listed)
        self.company = self._judge.company
        self.places = WalkedPlaces(self.graph, seeds, degrees, self.listed, self._judge)
        self.key = cache(rules.key)
        self._topics = lru_cache(SECOND_TOPICS)(self._topics_behind)

    def sample(
        self, structure: str, rng: random.Random, avoided: frozenset[str] = frozenset()
    ) -> Walk | str:
        """Return a walk of the structure, or the reason why this attempt found none. It takes no
        hop whose key is among the `avoided` ones."""
        (length, *others), tail = STRUCTURES[structure]
        reason = "dead_end"
        for _ in range(TOPICS):
            start = self.draw_start(rng, avoided)
            if start is None:
                return "no_topic"
            search = _Search(rng, avoided, bool(others), structure == "1-hop", first=start[1])
            path = _Path((start[0],), ({start[0].id: start[0]},))
            for first in islice(self._paths(path, length, search), FIRSTS if others else 1):
                if not others:
                    query = Query((Branch(first.entities[0], first.hops),))
                    return Walk(structure, query, (first.entities,))
                walk = self._join(structure, first, len(others), tail, search)
                if isinstance(walk, Walk):
                    return walk
                reason = walk
        return reason

    def draw_start(
        self, rng: random.Random, avoided: frozenset[str]
    ) -> tuple[Entity, tuple[Hop, ...]] | None:
        """Return an entity to start from, and the ways to write the first hop where drawn."""
        return self.seeds.draw_start(rng, self.rules.usable_topic, TOPIC_TRIES, avoided)

    def _join(
        self, structure: str, first: _Path, others: int, tail: int, search: _Search
    ) -> Walk | str:
        """Return the walk whose first branch this is, or why there is none."""
        meet, found = first.entities[-1], first.frontiers[-1]
        paths, branches = [first.entities], [Branch(first.entities[0], first.hops)]
        known = {entity.id for entity in first.entities}
        for _ in range(others):
            second = self._backward(meet, first.hops[-1], search, known)
            if second is None:
                return "no_second_topic"
            topic, hop, ends = second
            known.add(topic.id)
            found = {one: entity for one, entity in found.items() if one in ends}
            paths.append((topic, meet))
            branches.append(Branch(topic, (hop,)))
        if not tail:
            return Walk(structure, Query(tuple(branches)), tuple(paths))
        if len(found) > self.rules.max_frontier:
            return "frontier_too_wide"
        onward = _Search(
            search.rng, search.avoided, reached_by=first.hops[-1], known=frozenset(known)
        )
        last = next(self._paths(_Path((meet,), (found,)), tail, onward), None)
        if last is None:
            return "dead_end"
        return Walk(structure, Query(tuple(branches), last.hops), (*paths, last.entities))

    def _paths(self, path: _Path, left: int, search: _Search) -> Iterator[_Path]:
        """Yield the paths that this one grows to by so many more hops, in random order."""
        search.looks -= 1
        rng = search.rng
        for hop in some_of(rng, self._onward(path, left == 1, search), HOP_TRIES):
            targets = self._targets(path, hop, left == 1, search)
            reached = self._reach(path, hop, left, search) if targets else None
            if reached is None:
                continue
            if left == 1:
                yield path.over(hop, rng.choice(targets), reached)
                continue
            for target in some_of(rng, targets, ENDS):
                if search.looks and self.places.passes(target.id, hop):
                    longer = path.over(hop, target, reached)
                    yield from self._paths(longer, left - 1, search)

    def _onward(self, path: _Path, is_end: bool, search: _Search) -> list[Hop]:
        """Return the hops that may follow those of the path."""
        reached_by = path.hops[-1] if path.hops else search.reached_by
        hops = self.places.onward(path.entities[-1].id, reached_by, is_end, search.alone)
        if search.first and not path.hops:
            hops = [hop for hop in hops if hop in search.first]
        if search.avoided:
            hops = [hop for hop in hops if self.key(hop) not in search.avoided]
        if not (path.hops and hops and self._judge.forbids_repeats):
            return hops
        taken = {spelled for hop in path.hops for spelled in self.places.spellings(hop)}
        return [hop for hop in hops if hop not in taken]

    def _targets(self, path: _Path, hop: Hop, is_end: bool, search: _Search) -> list[Entity]:
        """Get the entities that the hop leads to where the path ends; none where it leads back."""
        entities = path.entities
        before = entities[-2].id if path.hops else ""
        literals = self.rules.literals and is_end and not search.is_part
        walked = {*search.known, *(entity.id for entity in entities)}
        return self.places.way(entities[-1].id, hop).beyond(before, walked, literals)

    def _reach(self, path: _Path, hop: Hop, left: int, search: _Search) -> dict[str, Entity] | None:
        """Return what the query finds over one more hop; `None` where that may not be asked: an
        entity lacks the hop, that are too many entities or calls, or fewer hops find the same."""
        rules, is_end = self.rules, left == 1
        most = rules.max_frontier
        if is_end:
            most = max(most, rules.max_degree) if search.is_part else rules.max_answers
        found: dict[str, Entity] = {}
        for entity_id in path.frontiers[-1]:
            ends = self._step(entity_id, hop, most + 1)
            found.update((end.id, end) for end in ends)
            if len(found) > most or not ends:
                return None
        if path.entities[0].id in found and not search.reached_by:
            return None
        if not is_end:
            return found if self._is_affordable((*path.frontiers, found), left - 2) else None
        if search.is_part:  # a branch to one entity alone would make the other one needless
            return found if len(found) > 1 else None
        same = any(found.keys() == frontier.keys() for frontier in path.frontiers)
        return None if same else found

    def _is_affordable(self, frontiers: Sequence[dict[str, Entity]], left: int) -> bool:
        """Return whether the calls for the hops from these frontiers, and for so many more, are
        allowed: one look at the relations for each hop, and one at the triples of each entity."""
        calls = sum(map(len, frontiers)) + len(frontiers) + 2 * left
        return not self.rules.max_calls or calls <= self.rules.max_calls

    def _backward(
        self, meet: Entity, other: Hop, search: _Search, known: set[str]
    ) -> tuple[Entity, Hop, frozenset[str]] | None:
        """Return a second topic, the hop that leads from it to where the branches meet, and all
        that it leads to; the `other` branch leads there by that hop."""
        most = self.rules.max_degree
        for hop in some_of(search.rng, self.places.into(meet.id), HOP_TRIES):
            back = reversed_hop(hop)
            if self.key(back) in search.avoided:
                continue
            if not (self.places.allows(back) and self._judge.meets(other, back)):
                continue
            topics = [entity for entity in self._topics(meet.id, hop) if entity.id not in known]
            if not topics:
                continue
            topic = search.rng.choice(topics)
            ends = self._step(topic.id, back, most + 1)
            if not max(2, self.rules.min_degree) <= len(ends) <= most:
                continue
            if self._judge.central(topic.id, [back]):
                return topic, back, frozenset(end.id for end in ends)
        return None

    def _topics_behind(self, entity_id: str, hop: Hop) -> list[Entity]:
        """Return the entities at the end of the hop that a question may start from."""
        usable, ends = self.rules.usable_topic, self._step(entity_id, hop, BACKWARD_LIMIT)
        return [end for end in ends if not is_literal(end.id) and usable(end.id)]

    def _step(self, entity_id: str, hop: Hop, limit: int) -> list[Entity]:
        return self.graph.step(entity_id, hop.relation, hop.direction, limit)


def some_of(rng: random.Random, items: Sequence[T], most: int) -> list[T]:
    """Return at most so many of the items, in random order."""
    return rng.sample(items, min(most, len(items)))


def walk_rng(seed: int, structure: str, index: int, purpose: str = "walk") -> random.Random:
    """Return the generator of one attempt: the same on any machine, for any number of workers."""
    return random.Random(f"{seed}/{structure}/{index}/{purpose}")
