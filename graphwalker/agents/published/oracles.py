"""Oracles of agents that ask for decisions: plans that give one decision after the other."""

from collections.abc import Generator

from graphwalker.errors import PolicyError
from graphwalker.graphs.base import Entity
from graphwalker.oracle.plan import Move, OracleWorld, PlannedPolicy
from graphwalker.policies.base import Completion, Request
from graphwalker.protocols.base import FinalAnswer
from graphwalker.query.query import Query
from graphwalker.question import Question
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


def meant(question: Question, found: list[Entity]) -> list[Entity]:
    """The gold answers alone where all of them are among those found: a query made of a gold path
    finds more where the question has a condition that its path does not say."""
    gold = {answer.id for answer in question.answers}
    kept = [entity for entity in found if entity.id in gold]
    return kept if kept and len(kept) == len(gold) else found
