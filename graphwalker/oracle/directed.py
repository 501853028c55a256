"""Hops as the oracle takes them with tools that look in one direction: a look that may show the
triples at once, and CVT nodes walked where the tools show them."""

from collections.abc import Generator, Sequence
from typing import Any

from graphwalker.graphs.base import FLATTENED, Direction, Entity, KnowledgeGraph, Step
from graphwalker.oracle import thoughts
from graphwalker.oracle.pages import Do
from graphwalker.oracle.plan import View
from graphwalker.query.query import Hop
from graphwalker.trajectory import Turn

EndsByStart = Generator[Any, Turn, dict[str, list[Entity]]]
"""The ends that were shown, by the id of the entity that they were reached from."""


def halves(graph: KnowledgeGraph, entities: Sequence[Entity], hop: Hop) -> tuple[Hop, ...]:
    """The steps that a flattened hop takes through its CVT nodes; the hop alone where the graph
    stores the relation as it is."""
    first, flat, second = hop.relation.partition(FLATTENED)
    steps = [Step(entity.id, hop.relation, hop.direction, 1) for entity in entities]
    if not flat or any(graph.neighbors_many(steps)):
        return (hop,)
    taken = (first, second) if hop.direction is Direction.OUT else (second, first)
    return tuple(Hop(relation, hop.direction) for relation in taken)


def directed_hop(
    view: View,
    do: Do,
    frontier: Sequence[Entity],
    hop: Hop,
    phrase: str,
    why: str,
    rng: thoughts.Choice,
) -> EndsByStart:
    """What a hop leads to from each entity of the frontier; nothing where it was never listed."""
    directed = view.abilities.directed
    assert directed
    steps = halves(view.graph, frontier, hop) if directed.walks_cvts else (hop,)
    found = yield from _step(view, do, frontier, steps[0], phrase, why, rng)
    if len(steps) == 1:
        return found
    nodes = {node.id: node for ends in found.values() for node in ends}
    behind = yield from _step(view, do, list(nodes.values()), steps[1], phrase, "", rng)
    return {
        here: list(
            {
                end.id: end
                for node in ends
                for end in behind.get(node.id, ())
                if end.id != here  # a way through a CVT node never leads back
            }.values()
        )
        for here, ends in found.items()
    }


def _step(
    view: View,
    do: Do,
    frontier: Sequence[Entity],
    hop: Hop,
    phrase: str,
    why: str,
    rng: thoughts.Choice,
) -> EndsByStart:
    """Looks at entities until one shows the relation, then asks the others for it alone."""
    found: dict[str, list[Entity]] = {}
    directed, listed = view.abilities.directed, False
    sought = directed.listed_as(hop) if directed else hop
    for k, entity in enumerate(frontier):
        name = view.name(entity)
        if not listed:
            look = view.look(entity, hop.direction)
            turn = view.answered(look)
            if turn is None:
                first = thoughts.move_many(len(frontier), name, phrase, rng)
                one = thoughts.move(name, phrase, rng)
                turn = yield from do(why or (first if len(frontier) > 1 else one), look)
            why = ""
            listed = sought in _hops(turn, entity)
            if not listed:
                found[entity.id] = []
                continue
            if any(entity.id in (t.head.id, t.tail.id) for t in turn.triples) and not turn.hidden:
                found[entity.id] = view.shown_ends(turn, entity, hop, by_call=False)
                continue
        ask = view.ask(entity, hop.relation, hop.direction)
        turn = view.answered(ask)
        if turn is None:
            again = thoughts.move_many(len(frontier), name, phrase, rng)
            turn = yield from do(
                thoughts.choose(phrase, [hop.relation], rng) if k == 0 else again, ask
            )
        found[entity.id] = view.shown_ends(turn, entity, hop)
    return found


def _hops(turn: Turn, entity: Entity) -> set[Hop]:
    """The hops that the turn lists of the entity; those of an error are none."""
    if turn.error:
        return set()
    return {hop for one in turn.listed if one.entity_id == entity.id for hop in one.hops}
