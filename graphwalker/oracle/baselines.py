"""Baselines without a model: what choosing a listed relation by a fixed rule is worth.

An agent that does not beat them has learned nothing from its questions. Each asks for the relations
of the first topic entity, takes one of those shown, and answers with every entity that it shows, on
all pages that the turn budget has room for.
"""

import random
from collections.abc import Generator, Iterable, Sequence

from graphwalker.graphs.base import Entity, KnowledgeGraph
from graphwalker.oracle.plan import WALKER, Move, Plan, PlannedPolicy
from graphwalker.oracle.speakers import Speaker, call_name
from graphwalker.protocols.base import ActionProtocol, FinalAnswer
from graphwalker.query.query import Hop
from graphwalker.question import Question
from graphwalker.ranking.bm25 import bm25_stems
from graphwalker.ranking.words import mask_entity, stems
from graphwalker.tools.base import abilities_of
from graphwalker.trajectory import Turn


class FirstRelation(PlannedPolicy):
    """Takes the relation that the ranker lists first; answers with all that it shows."""

    name = "first-relation"
    asks_for_a_shared_word = False
    """Whether it takes the relation that is nearest by the stems of words, and gives no answer, but
    the nearest relations, where none has a word of the question: for people who ask, and never in
    an evaluation."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        protocol: ActionProtocol,
        speaker: Speaker | None = WALKER,
        max_turns: int = 10,
    ) -> None:
        super().__init__(graph, protocol, speaker)
        self._most_pages = max(1, max_turns - 2)  # besides the list of relations and the answer

    def for_people(self) -> "FirstRelation":
        """Return the same policy as people meet it, who are told where it only guesses."""
        own = FirstRelation(self.graph, self._protocol, self.speaker, self._most_pages + 2)
        own.asks_for_a_shared_word = True
        return own

    def choose(self, key: str, hops: tuple[Hop, ...]) -> Hop:
        """Return one of the hops listed, in the order shown; there is at least one."""
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
        relations = tuple(dict.fromkeys(hop.relation for hop in hops))
        nearest: Sequence[str] = ()
        if self.asks_for_a_shared_word:
            nearest = bm25_stems(question.text, topic.name, relations)
        if nearest and not _share_a_word(question.text, topic.name, relations):
            near = ", ".join(nearest[:NEAREST])
            thought = (
                f"No relation of {topic.name} has a word of the question. The nearest: {near}."
            )
            yield thought, FinalAnswer(())
            return
        if nearest:
            hops = tuple(sorted(hops, key=lambda hop: nearest.index(hop.relation)))
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


NEAREST = 5
"""Relations that are named where none is taken."""
_NOT_SHARED = frozenset(
    stems(
        "a an and any are at be been by did do does for from had has have his her how in is it its "
        "many much name named of on or that the their there this to was were what when where which "
        "who whom whose why with"
    )
)


def _share_a_word(question: str, entity: str, relations: Iterable[str]) -> bool:
    """Return whether a word of a relation stands in the question, perhaps in a longer one."""
    given = {word for word in mask_entity(question, entity)[0] if word not in _NOT_SHARED}
    listed = {word for relation in relations for word in stems(relation)} - _NOT_SHARED
    return any(a == b or _within(a, b) or _within(b, a) for a in given for b in listed)


def _within(part: str, word: str) -> bool:
    return (len(part) > 3 or not part.isascii()) and part in word


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
