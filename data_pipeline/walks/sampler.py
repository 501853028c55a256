"""Constrained random walks: each becomes the executable query of one question."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
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
WAYS = 2
"""Hops from an entity that are followed until one leads on."""
TOPICS = 5
"""Entities that a walk tries to start from."""
TOPIC_TRIES = 200
BACKWARD_LIMIT = 100
"""Entities considered as the second topic of a conjunction, of one relation."""
SECOND_TOPICS = 1 << 13
"""Hops to an entity whose second topics are remembered: conjunctions meet in hubs."""


@dataclass(frozen=True, slots=True)
class WalkRules:
    """What a walk may do. `usable_topic` keeps held-out entities apart; `takes_type` says of a last
    hop whether a question about it can name a type."""

    min_degree: int = 1
    max_degree: int = 5
    literals: bool = False
    usable_topic: Callable[[str], bool] = lambda _: True
    takes_type: Callable[[Hop, str], bool] = lambda _, __: True


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


class Walker:
    """Samples walks on one graph. Holds nothing but a cache: a walk depends on its `rng` alone."""

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
        self._topics = lru_cache(SECOND_TOPICS)(self._topics_behind)

    def sample(self, structure: str, rng: random.Random) -> Walk | str:
        """A walk of the structure, or the reason why this attempt found none."""
        (_, *others), tail_length = STRUCTURES[structure]
        first = self._first(structure, rng)
        if isinstance(first, str):
            return first
        if others and not self._branching(first):
            return "trivial_branch"
        paths, branches = [first.entities], [Branch(first.entities[0], first.hops)]
        seen = {entity.id for entity in first.entities}
        for _ in others:
            found = self._backward(first.entities[-1], first.hops[-1], rng, seen)
            if found is None:
                return "no_second_topic"
            second, hop = found
            seen.add(second.id)
            paths.append((second, first.entities[-1]))
            branches.append(Branch(second, (hop,)))
        if not tail_length:
            return Walk(structure, Query(tuple(branches)), tuple(paths))
        aim = _Aim(tail_length, frozenset(seen), reached_by=first.hops[-1])
        tail = self._path(first.entities[-1], aim, rng)
        if tail is None:
            return "dead_end"
        return Walk(structure, Query(tuple(branches), tail.hops), (*paths, tail.entities))

    def _first(self, structure: str, rng: random.Random) -> "_Path | str":
        """The first branch, from one of a few topics, or why there is none."""
        (length, *others), tail_length = STRUCTURES[structure]
        for _ in range(TOPICS):
            start = self.seeds.draw_start(rng, self.rules.usable_topic, TOPIC_TRIES)
            if start is None:
                return "no_topic"
            aim = _Aim(
                length,
                ends_in_answers=not tail_length,
                # A branch that leads to one entity alone would make the other branch needless.
                least=2 if others and length == 1 else 1,
                alone=structure == "1-hop",
                first=start[1],
            )
            if found := self._path(start[0], aim, rng):
                return found
        return "dead_end"

    def _path(self, start: Entity, aim: "_Aim", rng: random.Random) -> "_Path | None":
        """A path from there, of as many hops as wanted."""
        entities, hops = [start], list[Hop]()
        if not self._lengthen(entities, hops, aim, rng):
            return None
        return _Path(tuple(entities), tuple(hops))

    def _lengthen(
        self, entities: list[Entity], hops: list[Hop], aim: "_Aim", rng: random.Random
    ) -> bool:
        """Give the path as many more hops as it lacks. Where it ends blindly, a few other ways are
        tried; where all do, it is left as it was."""
        is_end = len(hops) + 1 == aim.length
        places, here = self.places, entities[-1].id
        reached_by = hops[-1] if hops else aim.reached_by
        onward = self.hops_not_walked(hops, places.onward(here, reached_by, is_end, aim.alone))
        if aim.first and not hops:
            onward = [hop for hop in onward if hop in aim.first]
        if not onward:  # most entities that a walk looks at lead nowhere
            return False
        before = entities[-2].id if hops else ""
        avoid = {*aim.avoid, *(entity.id for entity in entities)}
        literals = self.rules.literals and is_end and aim.ends_in_answers
        ways = 0
        for hop in some_of(rng, onward, HOP_TRIES):
            way = places.way(here, hop)
            targets = way.beyond(before, avoid, literals)
            if len(way.ends) < aim.least or not targets:
                continue
            target = rng.choice(targets)
            if not (is_end or places.passes(target.id, hop)):
                continue
            entities.append(target)
            hops.append(hop)
            if is_end or self._lengthen(entities, hops, aim, rng):
                return True
            entities.pop()
            hops.pop()
            ways += 1
            if ways == WAYS:
                return False
        return False

    def hops_not_walked(self, taken: Sequence[Hop], hops: list[Hop]) -> list[Hop]:
        """The hops that a path of these hops may take: none twice, where the rule forbids that."""
        if not (taken and hops and self._judge.forbids_repeats):
            return hops
        known = {spelled for hop in taken for spelled in self.places.spellings(hop)}
        return [hop for hop in hops if hop not in known]

    def _backward(
        self, meet: Entity, other: Hop, rng: random.Random, seen: set[str]
    ) -> tuple[Entity, Hop] | None:
        """A second topic and the hop that leads from it to where the branches meet; the `other`
        branch leads there by that hop."""
        for hop in some_of(rng, self.places.into(meet.id), HOP_TRIES):
            back = reversed_hop(hop)
            if not (self.places.allows(back) and self._judge.meets(other, back)):
                continue
            topics = [entity for entity in self._topics(meet.id, hop) if entity.id not in seen]
            if not topics:
                continue
            topic = rng.choice(topics)
            degree = len(self._step(topic.id, back, self.rules.max_degree + 1))
            if not max(2, self.rules.min_degree) <= degree <= self.rules.max_degree:
                continue
            if self._judge.central(topic.id, [back]):
                return topic, back
        return None

    def _topics_behind(self, entity_id: str, hop: Hop) -> list[Entity]:
        """The entities at the end of the hop that a question may start from."""
        usable, ends = self.rules.usable_topic, self._step(entity_id, hop, BACKWARD_LIMIT)
        return [end for end in ends if not is_literal(end.id) and usable(end.id)]

    def _branching(self, path: "_Path") -> bool:
        """Whether the branch can lead to several entities: else the other branch adds nothing."""
        return any(
            len(self._step(entity.id, hop, self.rules.max_degree + 1)) > 1
            for entity, hop in zip(path.entities, path.hops, strict=False)
        )

    def _step(self, entity_id: str, hop: Hop, limit: int) -> list[Entity]:
        return self.graph.step(entity_id, hop.relation, hop.direction, limit)


@dataclass(frozen=True, slots=True)
class _Aim:
    """What a path is sampled for."""

    length: int
    avoid: frozenset[str] = frozenset()
    """Entities that it must not lead to."""
    ends_in_answers: bool = True
    least: int = 1
    """Fewest entities that each of its hops leads to."""
    reached_by: Hop | None = None
    """The hop that leads to its start, where one does."""
    alone: bool = False
    """Whether it is a question of one hop."""
    first: tuple[Hop, ...] = ()
    """The ways to write its first hop, where that is given."""


@dataclass(frozen=True, slots=True)
class _Path:
    entities: tuple[Entity, ...]
    hops: tuple[Hop, ...]


def some_of(rng: random.Random, items: Sequence[T], most: int) -> list[T]:
    """At most so many of the items, in random order."""
    return rng.sample(items, min(most, len(items)))


def walk_rng(seed: int, structure: str, index: int, purpose: str = "walk") -> random.Random:
    """The generator of one attempt: the same on any machine, for any number of workers."""
    return random.Random(f"{seed}/{structure}/{index}/{purpose}")
