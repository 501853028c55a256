"""Steps of the oracle: further pages, hops in one direction, values of a constraint."""

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any

from graphwalker.graphs.base import FLATTENED, Direction, Entity, KnowledgeGraph, Step
from graphwalker.graphs.literals import is_literal, literal_name
from graphwalker.oracle import thoughts
from graphwalker.oracle.plan import View
from graphwalker.query.constraint import Constraint, choose_candidates, filter_candidates
from graphwalker.query.query import Hop
from graphwalker.tools.base import Call
from graphwalker.trajectory import Turn

Do = Callable[[str, Call], Generator[Any, Turn, Turn]]
"""Takes one step of an episode with its thought, and gives the turn that came of it."""


def moving(
    view: View, frontier: Sequence[Entity], entity: Entity, phrase: str, rng: thoughts.Choice
) -> str:
    """The thought of continuing from one of the entities that a step found."""
    if len(frontier) > 1:
        return thoughts.move_many(len(frontier), view.name(entity), phrase, rng)
    return thoughts.move(view.name(entity), phrase, rng)


def more_relations(
    view: View, do: Do, turn: Turn, entity: Entity, relation: str, rng: thoughts.Choice
) -> Generator[Any, Turn, None]:
    """After `turn` listed the relations of an entity: page by page until that one is listed.
    Nothing where the tools have no pages, or the entity lacks the relation."""
    page, pages = 2, view.abilities.pages
    while pages and _is_cut(turn) and relation not in view.listed:
        if not view.has(entity, relation):
            break
        call = pages.relations_page(view.name(entity), page)
        turn = yield from do(thoughts.next_relations(rng), call)
        page += 1


def more_triples(
    view: View, do: Do, turn: Turn, entity: Entity, hop: Hop, rng: thoughts.Choice
) -> Generator[Any, Turn, list[Entity]]:
    """What the hop leads to from an entity: in `turn`, and on further pages where it was cut."""
    found, page, pages = view.found_ends(turn, [entity], hop), 2, view.abilities.pages
    count = len(view.ends_of([entity], hop)) if _is_cut(turn) else 0
    while pages and _is_cut(turn) and len(found) < count:
        call = pages.triples_page(view.name(entity), hop.relation, page)
        turn = yield from do(thoughts.next_triples(rng), call)
        found += view.found_ends(turn, [entity], hop)
        page += 1
    return found


def _is_cut(turn: Turn) -> bool:
    return turn.hidden > 0 and not turn.error


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
        if not listed:
            why = why or moving(view, frontier, entity, phrase, rng)
            turn = yield from do(why, view.look(entity, hop.direction))
            why = ""
            listed = sought in _hops(turn, entity)
            if not listed:
                found[entity.id] = []
                continue
            if any(entity.id in (t.head.id, t.tail.id) for t in turn.triples) and not turn.hidden:
                found[entity.id] = view.triple_ends(turn, entity, hop, by_call=False)
                continue
        next_one = moving(view, frontier, entity, phrase, rng) if k else ""
        why_this = next_one or view.why(frontier, hop, phrase, rng)
        turn = yield from do(why_this, view.ask(entity, hop.relation, hop.direction))
        found[entity.id] = view.triple_ends(turn, entity, hop)
    return found


def _hops(turn: Turn, entity: Entity) -> set[Hop]:
    """The hops that the turn lists of the entity; those of an error are none."""
    if turn.error:
        return set()
    return {hop for one in turn.listed if one.entity_id == entity.id for hop in one.hops}


def weigh(
    view: View,
    do: Do,
    candidates: Sequence[Entity],
    constraint: Constraint,
    phrase: str,
    rng: thoughts.Choice,
) -> Generator[Any, Turn, list[Entity]]:
    """The candidates that the constraint keeps by the values that the environment shows.

    The entity to compare with comes first. Relations are listed until the one that is needed
    stands in a list; where it never does, nothing is kept. Types are not shown: the oracle knows
    them by the graph, as a model knows that Spain is a country.
    """
    if constraint.kind == "type":
        return list(filter_candidates(view.graph, constraint, candidates))
    than = [constraint.than] if constraint.than else []
    why = thoughts.weigh(len(candidates), phrase, rng)
    if than:
        why = f"{why} {thoughts.weigh_than(view.name(than[0]), rng)}"
    values: dict[str, tuple[str, ...]] = {}
    for entity in (*than, *candidates):
        if entity.id in values:
            continue
        why = why or thoughts.weigh_next(view.name(entity), rng)
        if view.abilities.directed:
            hop = Hop(constraint.relation)
            found = yield from directed_hop(view, do, [entity], hop, phrase, why, rng)
            values[entity.id] = _texts(found.get(entity.id, ()))
            why = ""
            continue
        if constraint.relation not in view.listed:
            turn = yield from do(why, view.look(entity))
            yield from more_relations(view, do, turn, entity, constraint.relation, rng)
            why = view.why([entity], Hop(constraint.relation), phrase, rng)
        if constraint.relation not in view.listed:
            return []
        turn = yield from do(why, view.ask(entity, constraint.relation, Direction.OUT))
        values[entity.id] = _values(view, turn, entity, constraint)
        why = ""
    weighed = {candidate: values[candidate.id] for candidate in candidates}
    return list(choose_candidates(constraint, weighed, values[than[0].id] if than else ()))


def _values(view: View, turn: Turn, entity: Entity, constraint: Constraint) -> tuple[str, ...]:
    return _texts(view.found_ends(turn, [entity], Hop(constraint.relation)))


def _texts(ends: Iterable[Entity]) -> tuple[str, ...]:
    return tuple(literal_name(end.id) for end in ends if is_literal(end.id))
