"""Constrained random walks: each becomes the executable query of one question."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from data_pipeline.seeds.seeds import Seeds
from data_pipeline.walks.memory import RememberedGraph
from data_pipeline.walks.plausibility import Plausibility
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph
from graphwalker.graphs.literals import is_literal
from graphwalker.query.query import Branch, Hop, Query
from graphwalker.tools.listing import Lister, lister
from graphwalker.tools.settings import WalkerSettings

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
TOPIC_TRIES = 200
LISTINGS = 1 << 13
"""Entities whose hops are remembered: mostly hubs come again."""
BACKWARD_LIMIT = 100
"""Entities considered as the second topic of a conjunction, of one relation."""


@dataclass(frozen=True, slots=True)
class WalkRules:
    """What a walk may do. `usable_topic` keeps held-out entities apart."""

    min_degree: int = 1
    max_degree: int = 5
    literals: bool = False
    usable_topic: Callable[[str], bool] = lambda _: True


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
        self.plausibility = plausibility
        self.graph = graph if isinstance(graph, RememberedGraph) else RememberedGraph(graph)
        self.seeds = seeds
        self.rules = rules
        self._relations = relations or lister(graph, WalkerSettings())
        self._allowed = {d: _Allowed(seeds, d) for d in Direction}
        self._hops = lru_cache(maxsize=LISTINGS)(self._list_hops)
        self._usable = lru_cache(maxsize=LISTINGS)(self._list_usable)

    def sample(self, structure: str, rng: random.Random) -> Walk | str:
        """A walk of the structure, or the reason why this attempt found none."""
        (length, *others), tail_length = STRUCTURES[structure]
        topic = self.seeds.draw(rng, self.rules.usable_topic, TOPIC_TRIES)
        if topic is None:
            return "no_topic"
        # A branch that leads to one entity alone would make the other branch needless.
        least = 2 if others and length == 1 else 1
        first = self._forward(topic, length, rng, set(), not tail_length, least)
        if first is None:
            return "dead_end"
        if others and not self._branching(first):
            return "trivial_branch"
        paths, branches = [first.entities], [Branch(topic, first.hops)]
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
        tail = self._forward(
            first.entities[-1], tail_length, rng, seen, True, reached_by=first.hops[-1]
        )
        if tail is None:
            return "dead_end"
        return Walk(structure, Query(tuple(branches), tail.hops), (*paths, tail.entities))

    def _forward(
        self,
        start: Entity,
        length: int,
        rng: random.Random,
        seen: set[str],
        final: bool,
        least: int = 1,
        reached_by: Hop | None = None,
    ) -> "_Path | None":
        """A path of that many hops; `reached_by`: what leads to its start, where anything does."""
        path = _Path((start,), ())
        avoid = seen | {start.id}
        for k in range(length):
            taken = self._one_hop(path, rng, avoid, (k == length - 1, final), least, reached_by)
            if taken is None:
                return None
            hop, entity = taken
            reached_by = hop
            path = _Path((*path.entities, entity), (*path.hops, hop))
            avoid.add(entity.id)
        return path

    def _one_hop(
        self,
        path: "_Path",
        rng: random.Random,
        avoid: set[str],
        ending: tuple[bool, bool],
        least: int,
        reached_by: Hop | None,
    ) -> tuple[Hop, Entity] | None:
        here = path.entities[-1]
        before = path.entities[-2].id if len(path.entities) > 1 else ""
        (is_end, is_answer), judge = ending, self.plausibility
        for hop in self._some_hops(here, reached_by, rng):
            if judge and not is_end and not judge.describes(hop):
                continue
            found = self._step(here.id, hop, self.rules.max_degree + 1)
            # GraphWalker Eq. 1: neither trivially unique nor excessively branching.
            if not max(least, self.rules.min_degree) <= len(found) <= self.rules.max_degree:
                continue
            if any(entity.id == before for entity in found):
                continue  # this hop undoes the one before
            if not self._kind_allowed(found, is_end and is_answer):
                continue
            targets = [entity for entity in found if entity.id not in avoid]
            if not targets:
                continue
            target = targets[rng.randrange(len(targets))]
            if is_end or not judge or judge.between(target.id, hop):
                return hop, target
        return None

    def _backward(
        self, meet: Entity, other: Hop, rng: random.Random, seen: set[str]
    ) -> tuple[Entity, Hop] | None:
        """A second topic and the hop that leads from it to where the branches meet; the `other`
        branch leads there by that hop."""
        judge = self.plausibility
        hops = self._hops(meet.id)
        for hop in rng.sample(hops, min(HOP_TRIES, len(hops))):
            back = Hop(hop.relation, hop.direction.reverse)
            if judge and not (judge.allows(back) and judge.meets(other, back)):
                continue
            topics = [
                entity
                for entity in self._step(meet.id, hop, BACKWARD_LIMIT)
                if entity.id not in seen
                and not is_literal(entity.id)
                and self.rules.usable_topic(entity.id)
            ]
            if not topics:
                continue
            topic = topics[rng.randrange(len(topics))]
            degree = len(self._step(topic.id, back, self.rules.max_degree + 1))
            if not max(2, self.rules.min_degree) <= degree <= self.rules.max_degree:
                continue
            if not judge or judge.central(topic.id, [back]):
                return topic, back
        return None

    def _branching(self, path: "_Path") -> bool:
        """Whether the branch can lead to several entities: else the other branch adds nothing."""
        return any(
            len(self._step(entity.id, hop, self.rules.max_degree + 1)) > 1
            for entity, hop in zip(path.entities, path.hops, strict=False)
        )

    def _some_hops(self, entity: Entity, reached_by: Hop | None, rng: random.Random) -> list[Hop]:
        """Hops to try at an entity, in random order."""
        judge, hops = self.plausibility, self._usable(entity.id)
        if judge and reached_by:
            hops = [hop for hop in hops if judge.follows(reached_by, hop)]
        return rng.sample(hops, min(HOP_TRIES, len(hops)))

    def _list_usable(self, entity_id: str) -> list[Hop]:
        return [
            hop
            for hop in self._hops(entity_id)
            if not self.plausibility or self.plausibility.allows(hop)
        ]

    def _list_hops(self, entity_id: str) -> list[Hop]:
        listed = self._relations(entity_id)
        outgoing, incoming = self._allowed[Direction.OUT], self._allowed[Direction.IN]
        hops = [hop for r in listed.out if (hop := outgoing[r])]
        hops += [hop for r in listed.into if (hop := incoming[r])]
        return self.plausibility.central(entity_id, hops) if self.plausibility else hops

    def _step(self, entity_id: str, hop: Hop, limit: int) -> list[Entity]:
        return self.graph.step(entity_id, hop.relation, hop.direction, limit)

    def _kind_allowed(self, found: list[Entity], last: bool) -> bool:
        if not any(is_literal(entity.id) for entity in found):
            return True
        return last and self.rules.literals


class _Allowed(dict[str, Hop | None]):
    """The hop over each relation in one direction; `None` where walks may not take it."""

    def __init__(self, seeds: Seeds, direction: Direction) -> None:
        super().__init__()
        self._seeds, self._direction = seeds, direction

    def __missing__(self, relation: str) -> Hop | None:
        allowed = self._seeds.allows(relation)
        hop = self[relation] = Hop(relation, self._direction) if allowed else None
        return hop


@dataclass(frozen=True, slots=True)
class _Path:
    entities: tuple[Entity, ...]
    hops: tuple[Hop, ...]


def sample_walk(
    graph: KnowledgeGraph, structure: str, rng: random.Random, rules: WalkRules | None = None
) -> Walk | str:
    """One walk from any entity of the graph, or the reason why this attempt found none."""
    return Walker(graph, Seeds(graph), rules or WalkRules()).sample(structure, rng)


def walk_rng(seed: int, structure: str, index: int, purpose: str = "walk") -> random.Random:
    """The generator of one attempt: the same on any machine, for any number of workers."""
    return random.Random(f"{seed}/{structure}/{index}/{purpose}")
