"""Walks by tools that look in one direction: a look may show the triples at once, and CVT nodes are
walked where the tools show them, as the oracle does."""

from collections.abc import Iterator, Sequence

from graphwalker.agents.environment import Environment
from graphwalker.ceilings.explore import Explorer, Reached, ends_of
from graphwalker.graphs.base import Direction, Entity
from graphwalker.oracle.speakers import call_name
from graphwalker.oracle.steps import halves
from graphwalker.query.query import Hop
from graphwalker.question import Question
from graphwalker.tools.abilities import Directed, abilities_of
from graphwalker.tools.base import Call, Observation

Ends = dict[str, tuple[Entity, ...]]
"""By the id of the entity that they were reached from."""


class DirectedExplorer(Explorer):
    """One question in a fresh tool box whose speaker is `Directed`."""

    def __init__(self, environment: Environment, question: Question, speaker: Directed) -> None:
        super().__init__(environment, question)
        self._graph = environment.graph
        self._look = speaker
        self._seen: dict[tuple[str, Direction, str], Observation] = {}

    def follow(self, here: Reached, hops: Sequence[Hop], avoided: frozenset[str]) -> Reached:
        for hop in hops:
            here = self._followed(here, hop, avoided)
        return here

    def listings(self, here: Reached) -> Iterator[tuple[tuple[Hop, ...], Reached]]:
        """What the first entity shows on either side, each a call."""
        for entity in here.ends[:1] if here.calls < self._budget else ():
            for direction in Direction:
                seen = self._shown_of(entity, direction)
                for hop in _hops(seen, entity):
                    yield (hop,), here

    def take(self, here: Reached, hops: Sequence[Hop], avoided: frozenset[str]) -> Reached:
        found, calls, _ = self._step(here.ends, hops[0], here.calls)
        return _arrived(here, found, calls, True, avoided)

    def _followed(self, here: Reached, hop: Hop, avoided: frozenset[str]) -> Reached:
        steps = halves(self._graph, here.ends, hop) if self._look.walks_cvts else (hop,)
        found, calls, listed = self._step(here.ends, steps[0], here.calls)
        if len(steps) == 2:
            nodes = {node.id: node for ends in found.values() for node in ends}
            behind, calls, again = self._step(list(nodes.values()), steps[1], calls)
            listed = listed and again
            found = {
                start: tuple(e for n in ends for e in behind.get(n.id, ()) if e.id != start)
                for start, ends in found.items()
            }
        return _arrived(here, found, calls, listed, avoided)

    def _step(self, entities: Sequence[Entity], hop: Hop, calls: int) -> tuple[Ends, int, bool]:
        """Looks at entities until one shows the relation, then asks the others for it alone."""
        found: Ends = {}
        listed = False
        for entity in entities:
            if not listed:
                if calls == self._budget:
                    break
                calls += 1
                seen = self._shown_of(entity, hop.direction)
                listed = self._look.listed_as(hop) in _hops(seen, entity)
                if not listed:
                    continue
                if seen.triples and not seen.hidden:
                    found[entity.id] = tuple(ends_of(seen, [entity], (hop,)))
                    continue
            if calls == self._budget:
                break
            calls += 1
            seen = self._shown_of(entity, hop.direction, hop.relation)
            found[entity.id] = tuple(ends_of(seen, [entity], (hop,)))
        return found, calls, listed

    def _shown_of(self, entity: Entity, direction: Direction, relation: str = "") -> Observation:
        key = (entity.id, direction, relation)
        if key not in self._seen:
            self._seen[key] = self._box.call(self._call(entity, direction, relation))
        return self._seen[key]

    def _call(self, entity: Entity, direction: Direction, relation: str) -> Call:
        name = call_name(self._speaker, entity)
        if relation:
            return self._speaker.triples(name, relation, direction)
        return self._look.look(name, direction)


def explorer_for(environment: Environment, question: Question) -> Explorer:
    """The explorer of the environment's tools. Raises `UserError` where the oracle has none."""
    if directed := abilities_of(environment.speaker).directed:
        return DirectedExplorer(environment, question, directed)
    return Explorer(environment, question)


def _hops(seen: Observation, entity: Entity) -> tuple[Hop, ...]:
    listed = () if seen.error else seen.listed
    return tuple(hop for one in listed if one.entity_id == entity.id for hop in one.hops)


def _arrived(
    here: Reached, found: Ends, calls: int, listed: bool, avoided: frozenset[str]
) -> Reached:
    ends = {end.id: end for reached in found.values() for end in reached if end.id not in avoided}
    return Reached(tuple(ends.values()), calls, here.listed and listed, here.known)
