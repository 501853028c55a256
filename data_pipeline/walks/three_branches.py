"""Walks of three branches that meet (3I), searched so that no branch is needless."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from data_pipeline.walks.sampler import Walk, Walker
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.literals import is_literal
from graphwalker.query.query import Branch, Hop, Query, execute
from graphwalker.tools.listing import Lister

TOPICS_PER_HOP = 20
"""Entities considered as the topic of another branch, of one relation of the meeting entity."""
MOST_BRANCHES = 60
"""Branches to the meeting entity that are compared with each other."""


@dataclass(frozen=True, slots=True)
class _Found:
    branch: Branch
    ends: frozenset[str]


def sample_three(walker: Walker, relations: Lister, rng: random.Random) -> Walk | str:
    """A walk whose every two branches share an entity that the third one lacks, or the reason why
    this attempt found none. Drawing branches blindly finds one in thousands of attempts."""
    base = walker.sample("1-hop", rng)
    if isinstance(base, str):
        return base
    first, meet = base.query.branches[0], base.visited[0][-1]
    ends = _ids(execute(walker.graph, base.query, walker.rules.max_degree).answers)
    if len(ends) < 3:
        return "trivial_branch"
    seen = {first.topic.id, meet.id}
    near = [found for found in _branches(walker, relations, meet, rng) if _apart(found.ends, ends)]
    for one, two in combinations(near[:MOST_BRANCHES], 2):
        topics = {one.branch.topic.id, two.branch.topic.id}
        if len(topics) < 2 or topics & seen:
            continue
        if _needed(ends, one.ends, two.ends):
            branches = (first, one.branch, two.branch)
            return Walk("3I", Query(branches), tuple((b.topic, meet) for b in branches))
    return "no_second_topic"


def _branches(
    walker: Walker, relations: Lister, meet: Entity, rng: random.Random
) -> Iterator[_Found]:
    """Every branch of one hop that leads to the meeting entity among a few, in random order."""
    listing, rules = relations(meet.id), walker.rules
    sides = ((Direction.OUT, listing.out), (Direction.IN, listing.into))
    hops = [Hop(r, d) for d, side in sides for r in sorted(side) if walker.seeds.allows(r)]
    for hop in rng.sample(hops, len(hops)):
        topics = walker.graph.step(meet.id, hop.relation, hop.direction, TOPICS_PER_HOP)
        for topic in rng.sample(topics, len(topics)):
            if is_literal(topic.id) or not rules.usable_topic(topic.id):
                continue
            back = Hop(hop.relation, hop.direction.reverse)
            most = rules.max_degree + 1
            found = walker.graph.step(topic.id, back.relation, back.direction, most)
            if max(2, rules.min_degree) < len(found) < most:
                yield _Found(Branch(topic, (back,)), _ids(found))


def _apart(one: frozenset[str], two: frozenset[str]) -> bool:
    """Whether both share more than the meeting entity, and neither holds the other."""
    return len(one & two) > 1 and not one <= two and not two <= one


def _needed(*ends: frozenset[str]) -> bool:
    """Whether leaving out any of the three would give more answers."""
    met = frozenset.intersection(*ends)
    return all(len(one & two) > len(met) for one, two in combinations(ends, 2))


def _ids(entities: tuple[Entity, ...] | list[Entity]) -> frozenset[str]:
    return frozenset(entity.id for entity in entities)
