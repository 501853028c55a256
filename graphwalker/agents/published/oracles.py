"""Oracles of agents that ask for decisions: plans that give one decision after the other."""

from collections.abc import Callable, Generator, Iterable, Sequence

from graphwalker.errors import PolicyError
from graphwalker.graphs.base import Entity, KnowledgeGraph
from graphwalker.graphs.names import fold
from graphwalker.oracle.oracle import prefer_gold, shared
from graphwalker.oracle.plan import Move, Plan, PresetOracle, View
from graphwalker.policies.base import Request
from graphwalker.protocols.base import FinalAnswer
from graphwalker.query.query import Branch, Hop, Query
from graphwalker.question import Question
from graphwalker.tools.base import Call
from graphwalker.trajectory import Turn

EntitySearch = Generator[Move, Turn, list[Entity]]
"""Steps of a plan that find entities."""
FilledForm = Generator[Move, Turn, Turn]


class DecisionOracle(PresetOracle):
    """Plays a plan; where the budget is spent before it is over, it has no answer to give."""

    def submit(self, request: Request) -> None:
        if request.turns and request.messages[-1].content.endswith(self._protocol.force()):
            self._write(request.key, "", FinalAnswer(()))
        else:
            super().submit(request)


def query_of(question: Question) -> Query:
    """Raises `PolicyError` for a question that does not say what it asks."""
    if question.query is None:
        raise PolicyError(f"{question.id} has no query: the oracle cannot play it")
    return question.query


def decide(view: View, form: str, /, why: str = "", **values: object) -> FilledForm:
    """Fill in a form, and see what came of it."""
    turn = yield why, Call(form, values)
    view.see(turn)
    return turn


def walk_query(
    query: Query, follow: Callable[[list[Entity], Sequence[Hop], int], EntitySearch]
) -> EntitySearch:
    """Follow each branch from its topic, then the tail from where all of them meet. `follow` is
    told how many branches are still to come; -1: none, this is the tail."""
    ends: list[list[Entity]] = []
    for left, branch in zip(range(len(query.branches))[::-1], query.branches, strict=True):
        ends.append((yield from follow([branch.topic], branch.hops, left)))
    return (yield from follow(shared(ends), query.tail, -1))


def give_answers(why: str, question: Question, found: Iterable[Entity], view: View) -> Plan:
    """Answer with what was found, under the names shown, however often it is asked for."""
    best = prefer_gold(question, list(found))
    names = tuple(dict.fromkeys(view.name(entity) for entity in best))
    while True:
        yield why, FinalAnswer(names)


def read_gold(question: Question, seen: str) -> tuple[str, ...]:
    """The gold text where all of it, or each of its parts, is to be read in what was seen."""
    gold = question.gold.texts()[0] if question.gold else ""
    known = fold(seen)
    right = fold(gold) in known or all(fold(part) in known for part in gold.split(", "))
    return (gold,) if gold and right else ()


def branches_with_tail(query: Query) -> list[Branch]:
    """Each branch with the tail behind it."""
    return [Branch(b.topic, (*b.hops, *query.tail)) for b in query.branches]


def ends_in_graph(graph: KnowledgeGraph, start: Entity, hops: Sequence[Hop]) -> list[Entity]:
    """Where the hops lead from an entity, at most 200 ends a step."""
    frontier = [start]
    for hop in hops:
        found = [
            end
            for here in frontier
            for end in graph.step(here.id, hop.relation, hop.direction, 200)
        ]
        frontier = list({end.id: end for end in found}.values())
    return frontier
