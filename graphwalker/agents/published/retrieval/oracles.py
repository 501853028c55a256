"""How Graph-CoT and the two kinds of retrieval are played by who knows the query."""

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from graphwalker.agents.io_prompt import has_answers
from graphwalker.agents.published.oracles import DecisionOracle, meant
from graphwalker.agents.published.retrieval.graph_cot import FEATURE, NEIGHBORS, RETRIEVE
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.names import fold
from graphwalker.oracle.oracle import shared
from graphwalker.oracle.plan import Move, OwnOracle, Plan
from graphwalker.policies.base import Completion, Request
from graphwalker.protocols.base import FinalAnswer
from graphwalker.query.query import Hop
from graphwalker.question import Question
from graphwalker.tools.base import Call
from graphwalker.trajectory import Turn

NodesFound = Generator[Move, Turn, list[Entity]]


class GraphCotOracle(DecisionOracle):
    """Retrieves each topic by its name, and checks the neighbours of a whole frontier at once."""

    def plan(self, key: str, question: Question) -> Plan:
        if question.query is None:
            names = yield from self._planned(question)
        else:
            query = question.query
            ends: list[list[Entity]] = []
            for branch in query.branches:
                start = yield from _retrieved(branch.topic.name)
                ends.append((yield from _walk(start, branch.hops)))
            found = yield from _walk(shared(ends), query.tail)
            names = tuple(dict.fromkeys(end.name for end in meant(question, found)))
        while True:
            yield "That is the answer.", FinalAnswer(names)

    def _planned(self, question: Question) -> Generator[Move, Turn, tuple[str, ...]]:
        """A GRBench question with a traversal plan: its steps one by one, as far as they go."""
        steps: list[list[Entity]] = []
        text = ""
        for step in question.annotations.get("plan", ()):
            if "node_finding_hint" in step:
                found = yield from _retrieved(step["node_finding_hint"])
            elif "nodes" in step:
                ends: list[list[Entity]] = []
                for node, edge, *_ in step["nodes"]:
                    ends.append((yield from _walk(steps[int(node[1:]) - 1], [Hop(edge)])))
                found = shared(ends)
            else:
                kind = step.get("targeted_edge_type") or step["targeted_node_type"]
                found = yield from _walk(steps[-1], [Hop(kind)])
            steps.append(found)
        gold = question.gold.texts()[0] if question.gold else ""
        text = ", ".join(end.name for end in steps[-1]) if steps else ""
        known = fold(f"{text}; {len(steps[-1]) if steps else 0}")
        if steps and len(steps) == 1:
            for feature in ("year", "category", "price"):
                calls = [[FEATURE, steps[0][0].id, feature]]
                turn = yield "", Call("calls", {"calls": calls})
                known += fold(f"; {turn.observation}")
        parts = gold.split(", ")
        right = fold(gold) in known or all(fold(part) in known for part in parts)
        return (gold,) if gold and right else ()


class RetrievalOracle(DecisionOracle):
    """The gold answers, where retrieval shows all of them; else those that it shows."""

    def submit(self, request: Request) -> None:
        text = fold(request.messages[-1].content)
        names = [answer.name for answer in request.question.answers]
        seen = tuple(name for name in names if fold(_written(name)) in text)
        given = Completion(self._protocol.render("", FinalAnswer(tuple(dict.fromkeys(seen)))))
        self._done.append((request.key, given))

    def plan(self, key: str, question: Question) -> Plan:
        yield "", FinalAnswer(())


def _written(name: str) -> str:
    from graphwalker.protocols.tags import neutral
    from graphwalker.tools.namebook import quote

    return neutral(quote(name))


def _retrieved(name: str) -> NodesFound:
    turn = yield "Look it up.", Call("calls", {"calls": [[RETRIEVE, name]]})
    return list(turn.shown)


def _walk(frontier: list[Entity], hops: Sequence[Hop]) -> NodesFound:
    for hop in hops:
        if not frontier:
            return []
        calls = [[NEIGHBORS, entity.id, str(hop)] for entity in frontier]
        turn = yield "All of them.", Call("calls", {"calls": calls})
        ids = {entity.id for entity in frontier}
        out = hop.direction is Direction.OUT
        found: Mapping[str, Any] = {
            end.id: end
            for triple in turn.triples
            for here, end in [(triple.head, triple.tail), (triple.tail, triple.head)]
            if here.id in ids and triple.relation == hop.relation and (here is triple.head) is out
        }
        frontier = list(found.values())
    return frontier


def _has_a_query_or_plan(question: Question) -> bool:
    return question.query is not None or "plan" in question.annotations


GRAPH_COT_ORACLE = OwnOracle(GraphCotOracle, _has_a_query_or_plan, "a query or a plan")
RETRIEVAL_ORACLE = OwnOracle(RetrievalOracle, has_answers, "gold answers")
