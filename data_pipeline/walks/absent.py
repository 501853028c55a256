"""Walks whose last relation leads nowhere: what a question asks, and the graph does not hold."""

import random

from data_pipeline.walks.sampler import Walk, Walker, some_of
from graphwalker.answers.kinds import Absent
from graphwalker.graphs.base import Entity
from graphwalker.query.query import Branch, Hop, Query, execute

ABSENT = Absent.kind
"""The structure of these walks."""
ONE_HOP_SHARE = 0.8
"""Share of walks that look for a relation of their topic; the others look one hop further."""
OFTEN = 0.1
"""Share of the entities with one of the topic's relations that have the one that it lacks: people
would ask for it."""
TRIES = 4
"""Relations of an entity from which a missing one is sought."""


def sample_absent(walker: Walker, rng: random.Random, avoided: frozenset[str]) -> Walk | str:
    """Return a walk to a relation that entities of the kind often have and these lack, or the
    reason why this attempt found none."""
    if rng.random() < ONE_HOP_SHARE:
        start = walker.draw_start(rng, frozenset())
        if start is None:
            return "no_topic"
        branch, path, ends = Branch(start[0], ()), (start[0],), (start[0],)
    else:
        base = walker.sample("1-hop", rng, avoided)
        if isinstance(base, str):
            return base
        branch, path = base.query.branches[0], base.visited[0]
        if not walker.places.describes(branch.hops[0]):
            return "dead_end"
        ends = execute(walker.graph, base.query, walker.rules.max_degree).answers
    hop = _missing_hop(walker, path[-1], ends, rng, avoided)
    if hop is None:
        return "nothing_missing"
    return Walk(ABSENT, Query((Branch(branch.topic, (*branch.hops, hop)),)), (path,))


def _missing_hop(
    walker: Walker,
    entity: Entity,
    ends: tuple[Entity, ...],
    rng: random.Random,
    avoided: frozenset[str],
) -> Hop | None:
    places = walker.places
    known = {hop for end in ends for hop in places.all_hops(end.id)}
    own = places.hops(entity.id)
    for hop in some_of(rng, own, TRIES):
        missing = [
            other
            for other in walker.company.often_with(hop, OFTEN) or ()
            if walker.key(other) not in avoided
            and known.isdisjoint(places.spellings(other))
            and places.takes(other)
            and places.allows(other, len(ends) == 1)
        ]
        if missing:
            return rng.choice(missing)
    return None
