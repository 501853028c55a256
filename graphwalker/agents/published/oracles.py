"""Oracles of agents that ask for decisions: plans that give one decision after the other."""

from collections.abc import Generator, Sequence

from graphwalker.errors import PolicyError
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph
from graphwalker.oracle.plan import Move, OracleWorld, PlannedPolicy, View
from graphwalker.policies.base import Completion, Request
from graphwalker.protocols.base import FinalAnswer
from graphwalker.query.query import Branch, Hop, Query
from graphwalker.question import Question
from graphwalker.tools.base import Call, ShownTriple
from graphwalker.trajectory import Turn

DecisionTurn = Generator[Move, Turn, Turn]


class DecisionOracle(PlannedPolicy):
    """Plays a plan; where the budget is spent before it is over, it has no answer to give."""

    name = "oracle"

    def __init__(self, world: OracleWorld) -> None:
        super().__init__(world.graph, world.protocol)
        self._protocol = world.protocol
        self.settings = world.config

    def submit(self, request: Request) -> None:
        if request.turns and request.messages[-1].content.endswith(self._protocol.force()):
            given = Completion(self._protocol.render("", FinalAnswer(())))
            self._done.append((request.key, given))
            return
        super().submit(request)


def query_of(question: Question) -> Query:
    """Raises `PolicyError` for a question that does not say what it asks."""
    if question.query is None:
        raise PolicyError(f"{question.id} has no query: the oracle cannot play it")
    return question.query


def prefer_gold(question: Question, found: list[Entity]) -> list[Entity]:
    """The gold answers alone where all of them are among those found: a query made of a gold path
    finds more where the question has a condition that its path does not say."""
    gold = {answer.id for answer in question.answers}
    kept = [entity for entity in found if entity.id in gold]
    return kept if kept and len(kept) == len(gold) else found


def decide(view: View, form: str, **values: object) -> DecisionTurn:
    turn = yield "", Call(form, values)
    view.see(turn)
    return turn


def branches_with_tail(query: Query) -> list[Branch]:
    """Each branch with the tail behind it."""
    return [Branch(b.topic, (*b.hops, *query.tail)) for b in query.branches]


def ends_shown(triples: Sequence[ShownTriple], here: Entity, hop: Hop) -> list[Entity]:
    out = hop.direction is Direction.OUT
    return [
        (one.tail if out else one.head)
        for one in triples
        if one.relation == hop.relation and (one.head if out else one.tail).id == here.id
    ]


def ends_in_graph(graph: KnowledgeGraph, start: Entity, hops: Sequence[Hop]) -> list[Entity]:
    frontier = [start]
    for hop in hops:
        found = [
            end
            for here in frontier
            for end in graph.step(here.id, hop.relation, hop.direction, 200)
        ]
        frontier = list({end.id: end for end in found}.values())
    return frontier
