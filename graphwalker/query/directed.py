"""Relation paths made executable: every direction in which a path can be walked on a graph."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from graphwalker.graphs.base import FLATTENED, Direction, Entity, KnowledgeGraph, Step
from graphwalker.query.query import Branch, Hop, Query, parse_hop

FRONTIER_LIMIT = 20_000
"""Entities after which a way is given up: twice the largest hub of the real Freebase slice."""
LONGEST_PATH = 5
"""Hops of the longest path that is tried: without marks it has 32 ways."""


@dataclass(frozen=True, slots=True)
class Way:
    """A path in one choice of directions, and what it finds; `None` past `FRONTIER_LIMIT`."""

    query: Query
    answers: tuple[Entity, ...] | None


def chains(graph: KnowledgeGraph, topics: Sequence[Entity], path: Sequence[str]) -> list[Way]:
    """Return the path walked from each topic in every choice of directions that finds something;
    two relations beside one another may lead through a CVT node, and are one hop then.

    A hop with `~` before it goes in, and one beside it without that mark goes out: a path with any
    mark has one way. Of those without marks, the ways with more hops out come first.
    """
    found: list[Way] = []
    for topic, parts in product(topics if path else (), list(groupings(_readings(path)))):
        walked: list[_Walked] = [((), (topic,))]
        for readings in parts:
            walked = list(_longer(graph, walked, readings))
        found += [Way(Query((Branch(topic, hops),)), ends) for hops, ends in walked]
    return sorted(found, key=lambda way: sum(hop.direction == Direction.IN for hop in _hops(way)))


def conjunctions(graph: KnowledgeGraph, topics: Sequence[Entity], path: Sequence[str]) -> list[Way]:
    """Return the relations of the path each taken from a topic, in every choice of topics and
    directions in which they meet."""
    choices = [list(product(topics, readings)) for readings in _readings(path)]
    ends = {
        (topic.id, hop): _ends(graph, (topic,), hop)
        for choice in (choices if len(path) > 1 else ())
        for topic, hop in choice
    }
    found: list[Way] = []
    for taken in product(*choices) if len(path) > 1 else ():
        reached = [ends[topic.id, hop] or () for topic, hop in taken]
        shared = set[str].intersection(*({end.id for end in part} for part in reached))
        if shared and len(set(taken)) == len(taken):
            branches = tuple(Branch(topic, (hop,)) for topic, hop in taken)
            meet = tuple(end for end in reached[0] if end.id in shared)
            found.append(Way(Query(branches), meet))
    return found


def inverses(graph: KnowledgeGraph, way: Way) -> list[Way]:
    """Return the relations of the topic, in the other direction, that find all that a way of one
    hop finds and more: of a relation and its inverse a graph may hold only one at some entities."""
    topic, hops = way.query.branches[0].topic, _hops(way)
    if len(way.query.branches) != 1 or len(hops) != 1:
        return []
    direction = hops[0].direction.reverse
    known = {end.id for end in way.answers or ()}
    found: list[Way] = []
    for relation, count in graph.flat_relations(topic.id, direction):
        hop = Hop(relation, direction)
        ends = _ends(graph, (topic,), hop) if count > len(known) else None
        if ends and known < {end.id for end in ends}:
            found.append(Way(Query((Branch(topic, (hop,)),)), ends))
    return found


Readings = tuple[Hop, ...]
"""What one part of a path may be."""


def groupings(parts: Sequence[Readings]) -> Iterator[list[Readings]]:
    """Get the parts, and with any two that are beside one another as one hop through a CVT node."""
    if len(parts) < 2:
        yield list(parts)
        return
    yield from ([parts[0], *rest] for rest in groupings(parts[1:]))
    joined = tuple(
        _through(first, second)
        for first, second in product(*parts[:2])
        if first.direction is second.direction and FLATTENED not in first.relation + second.relation
    )
    yield from ([joined, *rest] for rest in groupings(parts[2:]) if joined)


def _through(first: Hop, second: Hop) -> Hop:
    out = first.direction is Direction.OUT
    near, far = (first, second) if out else (second, first)
    return Hop(f"{near.relation}{FLATTENED}{far.relation}", first.direction)


_Walked = tuple[tuple[Hop, ...], tuple[Entity, ...] | None]


def _longer(
    graph: KnowledgeGraph, walked: Sequence[_Walked], readings: Readings
) -> Iterator[_Walked]:
    for hops, frontier in walked:
        for hop in readings:
            ends = None if frontier is None else _ends(graph, frontier, hop)
            if ends is None or ends:
                yield (*hops, hop), ends


def _ends(graph: KnowledgeGraph, frontier: Sequence[Entity], hop: Hop) -> tuple[Entity, ...] | None:
    """Return what a hop finds from a frontier, by id; `None` for more than `FRONTIER_LIMIT`."""
    limit = FRONTIER_LIMIT + 1
    steps = [Step(here.id, hop.relation, hop.direction, limit) for here in frontier]
    found = {end.id: end for ends in graph.step_many(steps) for end in ends}
    if len(found) > FRONTIER_LIMIT:
        return None
    return tuple(sorted(found.values(), key=lambda end: end.id))


def _readings(path: Sequence[str]) -> list[Readings]:
    """Return the hops that each part of the path may be."""
    if any(text.startswith("~") for text in path):
        return [(parse_hop(text),) for text in path]
    return [(Hop(text), Hop(text, Direction.IN)) for text in path]


def _hops(way: Way) -> tuple[Hop, ...]:
    return way.query.branches[0].hops
