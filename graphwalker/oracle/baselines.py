"""Baselines without a model: what choosing a listed relation by a fixed rule is worth.

An agent that does not beat them has learned nothing from its questions. Each asks for the relations
of the first topic entity, takes one of those shown, and answers with every entity that it shows, on
all pages that the turn budget has room for.
"""

import random
from collections.abc import Generator

from graphwalker.graphs.base import Entity, KnowledgeGraph
from graphwalker.oracle.plan import WALKER, Move, Plan, PlannedPolicy
from graphwalker.oracle.speakers import Speaker, call_name
from graphwalker.protocols.base import ActionProtocol, FinalAnswer
from graphwalker.query.query import Hop
from graphwalker.question import Question
from graphwalker.tools.base import abilities_of
from graphwalker.trajectory import Turn


class FirstRelation(PlannedPolicy):
    """Takes the relation that the ranker lists first; answers with all that it shows."""

    name = "first-relation"

    def __init__(
        self,
        graph: KnowledgeGraph,
        protocol: ActionProtocol,
        speaker: Speaker | None = WALKER,
        max_turns: int = 10,
    ) -> None:
        super().__init__(graph, protocol, speaker)
        self._most_pages = max(1, max_turns - 2)  # besides the list of relations and the answer

    def choose(self, key: str, hops: tuple[Hop, ...]) -> Hop:
        """One of the hops listed, in the order shown; there is at least one."""
        return hops[0]

    def plan(self, key: str, question: Question) -> Plan:
        if not question.topic_entities:
            yield "", FinalAnswer(())
            return
        topic = question.topic_entities[0]
        turn = yield "", self.speaker.relations(call_name(self.speaker, topic))
        hops = tuple(hop for listed in turn.listed for hop in listed.hops)
        if not hops:
            yield "", FinalAnswer(())
            return
        names = yield from self._ask(topic, self.choose(key, hops))
        yield "", FinalAnswer(tuple(dict.fromkeys(names)))

    def _ask(self, topic: Entity, hop: Hop) -> Generator[Move, Turn, list[str]]:
        named = call_name(self.speaker, topic)
        turn = yield "", self.speaker.triples(named, hop.relation, hop.direction)
        names = _ends(turn, topic)
        if pages := abilities_of(self.speaker).pages:
            for page in range(2, self._most_pages + 1):
                if turn.error or not turn.hidden:
                    break
                call = pages.triples_page(topic.name, hop.relation, page)
                turn = yield "", call
                names += _ends(turn, topic)
        return names


def _ends(turn: Turn, topic: Entity) -> list[str]:
    ends = [end for triple in turn.triples for end in (triple.head, triple.tail)]
    return [end.name for end in ends if end.id != topic.id]


class LinearRelation(FirstRelation):
    """The same where the ranker is a trained one, a linear model of question words and relations:
    what those words alone are worth."""

    name = "linear"


class RandomRelation(FirstRelation):
    """Takes any listed relation, drawn by the episode's key."""

    name = "random-relation"

    def choose(self, key: str, hops: tuple[Hop, ...]) -> Hop:
        return random.Random(key).choice(hops)


BASELINES: dict[str, type[FirstRelation]] = {
    policy.name: policy for policy in (FirstRelation, LinearRelation, RandomRelation)
}
