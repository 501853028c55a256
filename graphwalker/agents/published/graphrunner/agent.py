"""GraphRunner (Kashmira et al., 2025): a whole plan, verified before it runs, and one answer."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from graphwalker.agents.base import AgentPart, AgentRun
from graphwalker.agents.dialogue import BudgetSpent, Dialogue, DialogueAgent
from graphwalker.agents.preset import AgentSettings, Preset
from graphwalker.agents.prompt import read_texts
from graphwalker.agents.published.graphrunner.plans import (
    ACTIONS,
    FetchByEdge,
    FindCommon,
    FindNode,
    PlanStep,
    to_json,
)
from graphwalker.agents.published.graphrunner.schema import traversal_schema, types_of
from graphwalker.agents.published.graphrunner.tools import RunnerOptions, RunnerTools
from graphwalker.agents.published.oracles import DecisionOracle, read_gold
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.oracle.oracle import prefer_gold
from graphwalker.oracle.plan import OwnOracle, Plan
from graphwalker.protocols.base import FinalAnswer, Malformed
from graphwalker.protocols.forms import FormProtocol
from graphwalker.query.query import Query
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker
from graphwalker.ranking.nodes.index import open_node_index
from graphwalker.tools.base import Call, ToolBox
from graphwalker.trajectory import Turn

TEXTS = read_texts(__file__)
FORMS: Mapping[str, Mapping[str, object]] = {"plan": {"plan": [{"action": "Find_Node"}]}}
PLAN = "plan"
"""The annotation that holds a plan in JSON, for questions without a query."""


class GraphRunnerAgent(DialogueAgent):
    """A context for each plan, one for the answer. After `replans` rejected plans more the answer
    is given from what there is: nothing."""

    def play(self, talk: Dialogue, tools: ToolBox) -> AgentRun:
        seen = "No plan could be executed: nothing was retrieved."
        with suppress(BudgetSpent):
            seen = (yield from self._plan(talk, tools)) or seen
        talk.begin(tools="")
        talk.say(TEXTS["final"], seen=seen)
        return (yield from talk.answer())

    def _plan(self, talk: Dialogue, tools: ToolBox) -> AgentPart[str]:
        """Plan, verify, execute. Only the failed step and its reason reach the next plan."""
        fault = ""
        for _ in range(1 + self.settings.read_options(RunnerOptions).replans):
            talk.begin()
            talk.say(TEXTS["plan"], actions="\n".join(f"- {form}" for form in ACTIONS.values()))
            if fault:
                talk.say(TEXTS["again"], fault=fault)
            action = yield from talk.decide(("plan",), tools.call)
            turn = talk.log.turns[-1]
            if not turn.error:
                return turn.observation
            fault = action.reason if isinstance(action, Malformed) else turn.observation
        return ""


class GraphRunnerOracle(DecisionOracle):
    """Writes the query as a plan, and answers with what it found."""

    def plan(self, key: str, question: Question) -> Plan:
        steps: Sequence[Any] = question.annotations.get(PLAN) or ()
        if not steps and question.query:
            steps = [to_json(step) for step in query_plan(self.graph, question.query)]
        turn = yield "The steps follow the question.", Call("plan", {"plan": list(steps)})
        names = _answer(question, turn) if not turn.error else ()
        while True:
            yield "These nodes answer it.", FinalAnswer(names)


def query_plan(graph: KnowledgeGraph, query: Query) -> list[PlanStep]:
    """The plan of a query: branches one after the other, met by their last hops, then the tail."""
    steps: list[PlanStep] = []
    last: list[tuple[str, str, str]] = []
    for branch in query.branches:
        topic, hops = branch.topic, branch.hops
        steps.append(FindNode(topic.name or topic.id, types_of(graph, topic)[0]))
        if len(query.branches) > 1:
            *hops, meeting = hops
            number = len(steps) + len(hops)
            last.append((f"${number}", meeting.relation, meeting.direction.value))
        steps += [FetchByEdge(hop.relation, hop.direction.value) for hop in hops]
    if last:
        steps.append(FindCommon(tuple(last)))
    return steps + [FetchByEdge(hop.relation, hop.direction.value) for hop in query.tail]


def _answer(question: Question, turn: Turn) -> tuple[str, ...]:
    """The gold answers where all are to be read in what was retrieved; else what was found."""
    if question.gold is not None:
        return read_gold(question, turn.observation)
    query = question.query
    avoided = query.avoided_ids if query else frozenset[str]()
    found = [entity for entity in turn.shown if entity.id not in avoided]
    # Which of them a constraint keeps is known only where its values were retrieved, too.
    relations = query.constraint.relations if query and query.constraint else ()
    unseen = any(f"{relation}: " not in turn.observation for relation in relations)
    kept = found if unseen else prefer_gold(question, found)
    return tuple(dict.fromkeys(entity.name for entity in kept))


def _tools(
    graph: KnowledgeGraph, settings: AgentSettings, rank: Ranker
) -> Callable[[Question], RunnerTools]:
    options, longest = settings.read_options(RunnerOptions), settings.longest_name
    # Made for the first episode: a graph that is only described or compared needs neither.
    shared = cache(lambda: (traversal_schema(graph), open_node_index(graph, options.index)))
    return lambda question: RunnerTools(graph, question, longest, *shared(), options)


GRAPHRUNNER = Preset(
    name="graphrunner",
    version=4,
    source="GraphRunner (Kashmira et al., 2025)",
    tools=_tools,
    protocol=lambda settings: FormProtocol(FORMS),
    agent=GraphRunnerAgent,
    prompts={"graphrunner": TEXTS["prompt"]},
    options=RunnerOptions,
    most_entries=lambda settings: max(
        settings.most_entries, settings.read_options(RunnerOptions).answer_tokens // 50
    ),
    oracle=OwnOracle(
        GraphRunnerOracle,
        lambda question: question.query is not None or PLAN in question.annotations,
        "a query or a plan",
    ),
    calls=tuple(FORMS),
    graphs="property graphs, and others of at most 200,000 named nodes",
)
