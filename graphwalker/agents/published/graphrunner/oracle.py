"""How GraphRunner is played by who knows the query, or a plan that stands in the question."""

from collections.abc import Sequence
from typing import Any

from graphwalker.agents.published.graphrunner.plans import (
    FetchByEdge,
    FindCommon,
    FindNode,
    PlanStep,
    to_json,
)
from graphwalker.agents.published.graphrunner.schema import types_of
from graphwalker.agents.published.oracles import DecisionOracle, meant
from graphwalker.graphs.base import Entity, KnowledgeGraph
from graphwalker.graphs.names import fold
from graphwalker.oracle.plan import OwnOracle, Plan
from graphwalker.protocols.base import FinalAnswer
from graphwalker.query.query import Query
from graphwalker.question import Question
from graphwalker.tools.base import Call
from graphwalker.trajectory import Turn

PLAN = "plan"
"""The annotation that holds a plan in JSON, for questions without a query."""


class GraphRunnerOracle(DecisionOracle):
    """Writes the query as a plan, and answers with what it found."""

    def plan(self, key: str, question: Question) -> Plan:
        stored = question.annotations.get(PLAN)
        query = question.query
        steps: Sequence[Any] = stored or (
            [to_json(step) for step in query_plan(self.graph, query)] if query else []
        )
        turn = yield "The steps follow the question.", Call("plan", {"plan": list(steps)})
        names = _answer(question, turn) if not turn.error else ()
        while True:
            yield "These nodes answer it.", FinalAnswer(names)


def query_plan(graph: KnowledgeGraph, query: Query) -> list[PlanStep]:
    """The plan of a query: branches one after the other, met by their last hops, then the tail."""
    steps: list[PlanStep] = []
    last: list[tuple[str, str, str]] = []
    for branch in query.branches:
        steps.append(_find(graph, branch.topic))
        hops = [FetchByEdge(hop.relation, hop.direction.value) for hop in branch.hops]
        if len(query.branches) == 1:
            steps += hops
        else:
            steps += hops[:-1]
            hop = branch.hops[-1]
            last.append((f"${len(steps)}", hop.relation, hop.direction.value))
    if last:
        steps.append(FindCommon(tuple(last)))
    return steps + [FetchByEdge(hop.relation, hop.direction.value) for hop in query.tail]


def _find(graph: KnowledgeGraph, topic: Entity) -> FindNode:
    return FindNode(topic.name or topic.id, types_of(graph, topic)[0])


def _answer(question: Question, turn: Turn) -> tuple[str, ...]:
    """The gold answers where all are to be read in what was retrieved; else what was found."""
    if question.gold is not None:
        gold = question.gold.texts()[0]
        seen = fold(turn.observation)
        parts = [gold, *([] if fold(gold) in seen else gold.split(", "))]
        return (gold,) if fold(gold) in seen or all(fold(p) in seen for p in parts[1:]) else ()
    query = question.query
    avoided = query.avoided_ids if query else frozenset[str]()
    found = [entity for entity in turn.shown if entity.id not in avoided]
    # Which of them a constraint keeps is known only where its values were retrieved, too.
    relations = query.constraint.relations if query and query.constraint else ()
    unseen = any(f"{relation}: " not in turn.observation for relation in relations)
    kept = found if unseen else meant(question, found)
    return tuple(dict.fromkeys(entity.name for entity in kept))


def _plays(question: Question) -> bool:
    return question.query is not None or PLAN in question.annotations


ORACLE = OwnOracle(GraphRunnerOracle, _plays, "a query or a plan")
