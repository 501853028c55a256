"""Steps of a constraint: the value of every candidate is looked up, then the fitting are kept."""

from collections.abc import Generator, Iterable, Sequence
from typing import Any

from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.literals import is_literal, literal_name
from graphwalker.oracle import thoughts
from graphwalker.oracle.directed import directed_hop
from graphwalker.oracle.pages import Do, more_relations
from graphwalker.oracle.plan import View
from graphwalker.query.constraint import Constraint, chosen, kept
from graphwalker.query.query import Hop
from graphwalker.trajectory import Turn


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
        return list(kept(view.graph, constraint, candidates))
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
            why = thoughts.choose(phrase, [constraint.relation], rng)
        if constraint.relation not in view.listed:
            return []
        turn = yield from do(why, view.ask(entity, constraint.relation, Direction.OUT))
        values[entity.id] = _values(view, turn, entity, constraint)
        why = ""
    weighed = {candidate: values[candidate.id] for candidate in candidates}
    return list(chosen(constraint, weighed, values[than[0].id] if than else ()))


def _values(view: View, turn: Turn, entity: Entity, constraint: Constraint) -> tuple[str, ...]:
    return _texts(view.found(turn, [entity], Hop(constraint.relation)))


def _texts(ends: Iterable[Entity]) -> tuple[str, ...]:
    return tuple(literal_name(end.id) for end in ends if is_literal(end.id))
