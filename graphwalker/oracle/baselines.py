"""Baselines without a model: what choosing a listed relation by a fixed rule is worth.

An agent that does not beat them has learned nothing from its questions. Each asks for the relations
of the first topic entity, takes one of those shown, and answers with every entity that it shows.
"""

import random
from abc import abstractmethod

from graphwalker.oracle.plan import Plan, PlannedPolicy
from graphwalker.protocols.base import FinalAnswer
from graphwalker.query.query import Hop
from graphwalker.question import Question


class OneRelation(PlannedPolicy):
    """Takes one relation of the first topic entity; answers with all that it shows."""

    @abstractmethod
    def choose(self, key: str, hops: tuple[Hop, ...]) -> Hop:
        """One of the hops listed, in the order shown; there is at least one."""

    def plan(self, key: str, question: Question) -> Plan:
        if not question.topic_entities:
            yield "", FinalAnswer(())
            return
        topic = question.topic_entities[0]
        turn = yield "", self.speaker.relations(topic.name)
        hops = tuple(hop for listed in turn.listed for hop in listed.hops)
        if not hops:
            yield "", FinalAnswer(())
            return
        hop = self.choose(key, hops)
        turn = yield "", self.speaker.triples(topic.name, hop.relation, hop.direction)
        ends = [end for triple in turn.triples for end in (triple.head, triple.tail)]
        names = dict.fromkeys(end.name for end in ends if end.id != topic.id)
        yield "", FinalAnswer(tuple(names))


class FirstRelation(OneRelation):
    """Takes the relation that the ranker lists first."""

    name = "first-relation"

    def choose(self, key: str, hops: tuple[Hop, ...]) -> Hop:
        return hops[0]


class RandomRelation(OneRelation):
    """Takes any listed relation, drawn by the episode's key."""

    name = "random-relation"

    def choose(self, key: str, hops: tuple[Hop, ...]) -> Hop:
        return random.Random(key).choice(hops)


BASELINES: dict[str, type[OneRelation]] = {
    policy.name: policy for policy in (FirstRelation, RandomRelation)
}
