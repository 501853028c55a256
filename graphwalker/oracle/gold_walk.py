"""The oracle of agents that ask for decisions: one walk of the query, written in their forms."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from copy import copy
from typing import Any

from graphwalker.graphs.base import Entity, KnowledgeGraph
from graphwalker.graphs.names import fold
from graphwalker.oracle.plan import Move, Plan, PresetOracle, View
from graphwalker.oracle.walk import prefer_gold, query_of, shared
from graphwalker.policies.base import Request
from graphwalker.protocols.base import FinalAnswer
from graphwalker.query.query import Branch, Hop, Query
from graphwalker.question import Question
from graphwalker.tools.base import Call
from graphwalker.trajectory import Turn

EntitySearch = Generator[Move, Turn, list[Entity]]
"""Steps of an episode that find entities."""
NameSearch = Generator[Move, Turn, tuple[str, ...]]


class DecisionOracle(PresetOracle):
    """Decides by what each request is about (`decide`). Where the budget is spent before the
    answer is known, it has none to give."""

    def move(self, request: Request) -> Move:
        if request.turns and request.messages[-1].content.endswith(self._protocol.force()):
            return "", FinalAnswer(())
        return self.decide(request)

    def decide(self, request: Request) -> Move:
        """Return the decision that the request asks for."""
        return super().move(request)


class WalkOracle(DecisionOracle, ABC):
    """Walks the question's query, hop by hop: its subclass says how the agent looks along one.

    `question` and `view` are those of an episode, whose plan is a copy's.
    """

    question: Question
    view: View
    why = "That is the answer."

    def plan(self, key: str, question: Question) -> Plan:
        own = copy(self)
        own.question, own.view = question, View(self.graph, question.topic_entities)
        return own.play()

    def play(self) -> Plan:
        """Plan the walk, then the answer, however often it is asked for."""
        names = yield from self.names()
        while True:
            yield self.why, FinalAnswer(names)

    def names(self) -> NameSearch:
        """Find what to answer, under the names shown."""
        return self.shown_names((yield from self.walk()))

    def shown_names(self, found: list[Entity]) -> tuple[str, ...]:
        """Return the gold answers among those found, or all of them, as shown."""
        best = prefer_gold(self.question, found)
        return tuple(dict.fromkeys(self.view.name(entity) for entity in best))

    def walk(self) -> EntitySearch:
        """Follow each branch from its topic, then the tail from where all of them meet."""
        query = query_of(self.question)
        ends: list[list[Entity]] = []
        for left, branch in zip(range(len(query.branches))[::-1], query.branches, strict=True):
            start = yield from self.start(branch.topic)
            ends.append((yield from self._follow(start, branch.hops, not query.tail, not left)))
        return (yield from self._follow(shared(ends), query.tail, True, True))

    def start(self, topic: Entity) -> EntitySearch:
        """Find where a branch begins."""
        return [topic]
        yield  # an agent may have to look for it

    @abstractmethod
    def look(self, frontier: list[Entity], hop: Hop, last: bool, over: bool) -> EntitySearch:
        """Return where the hop leads from all of these. `last`: it leads to answers; `over`: after
        it nothing is left to be looked up."""

    def _follow(
        self, frontier: list[Entity], hops: Sequence[Hop], last: bool, over: bool
    ) -> EntitySearch:
        for left, hop in zip(range(len(hops))[::-1], hops, strict=True):
            at_end = last and not left
            found = yield from self.look(frontier, hop, at_end, at_end and over)
            frontier = list({end.id: end for end in found}.values())
        return frontier

    def fill(self, form: str, why: str = "", /, **values: Any) -> Generator[Move, Turn, Turn]:
        """Fill in a form, and see what came of it."""
        turn = yield why, Call(form, values)
        self.view.see(turn)
        return turn

    def ends(self, turn: Turn, frontier: Sequence[Entity], hop: Hop) -> list[Entity]:
        """Get the entities that the turn's triples show at the end of the hop from any of these."""
        return [end for here in frontier for end in self.view.triple_ends(turn, here, hop)]


def read_gold(question: Question, seen: str) -> tuple[str, ...]:
    """Get the gold text where all of it, or each of its parts, is to be read in what was seen."""
    gold = question.gold.texts()[0] if question.gold else ""
    known = fold(seen)
    right = fold(gold) in known or all(fold(part) in known for part in gold.split(", "))
    return (gold,) if gold and right else ()


def branches_with_tail(query: Query) -> list[Branch]:
    """Return each branch with the tail behind it."""
    return [Branch(b.topic, (*b.hops, *query.tail)) for b in query.branches]


def ends_in_graph(graph: KnowledgeGraph, start: Entity, hops: Sequence[Hop]) -> list[Entity]:
    """Return where the hops lead from an entity, at most 200 ends a step."""
    frontier = [start]
    for hop in hops:
        found = [
            end
            for here in frontier
            for end in graph.step(here.id, hop.relation, hop.direction, 200)
        ]
        frontier = list({end.id: end for end in found}.values())
    return frontier
