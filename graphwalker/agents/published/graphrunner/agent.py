"""GraphRunner (Kashmira et al., 2025): a whole plan, verified before it runs, and one answer."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from graphwalker.agents.base import AgentRun, Ask
from graphwalker.agents.dialogue import (
    BudgetSpent,
    Dialogue,
    DialogueAgent,
)
from graphwalker.agents.preset import AgentSettings, Preset
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
from graphwalker.agents.published.oracles import DecisionOracle
from graphwalker.graphs.base import Entity, KnowledgeGraph
from graphwalker.graphs.names import fold
from graphwalker.oracle.oracle import prefer_gold
from graphwalker.oracle.plan import OwnOracle, Plan
from graphwalker.policies.base import Completion
from graphwalker.protocols.base import FinalAnswer, Malformed
from graphwalker.protocols.forms import FormProtocol
from graphwalker.query.query import Query
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker
from graphwalker.ranking.nodes.index import open_node_index
from graphwalker.tools.base import Call, ToolBox
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
    kept = found if unseen else prefer_gold(question, found)
    return tuple(dict.fromkeys(entity.name for entity in kept))


def _plays(question: Question) -> bool:
    return question.query is not None or PLAN in question.annotations


ORACLE = OwnOracle(GraphRunnerOracle, _plays, "a query or a plan")


FORMS: Mapping[str, Mapping[str, object]] = {"plan": {"plan": [{"action": "Find_Node"}]}}
PLANNING = (
    "Plan the whole walk before anything is looked up. The actions are:\n"
    + "\n".join(f"- {form}" for form in ACTIONS.values())
    + "\nFind_Node finds nodes of a type by a name or a description, and every plan begins with "
    "it. Fetch_Neighbors goes on from all nodes of the step before: by an edge type one step, by "
    'a node type to the nearest nodes of that type (add "direction": "in" to follow an edge '
    "type against its direction where both are possible). Find_Common_Nodes gives the nodes that "
    'several are joined to; "$1" stands for the nodes of step 1, any other text is a hint.\n'
    'Write {"thought": "why", "plan": [step, step, ...]}, with types exactly as listed.'
)
AGAIN = "An earlier plan cannot be executed. Its fault: {fault}\nPlan again without it."
FINAL = (
    "Answer the question from these nodes: the names or attributes that are asked for, or how many "
    'there are.\nWrite {"thought": "why", "answer": ["Name"]}'
)


PROMPT = """You answer questions over a graph. You write a plan of traversal steps that is checked \
and executed for you, then you answer from the nodes that it found. Every message of yours is one \
JSON object as requested.
---
Question: {question}
Entities: {entities}
{tools}"""


class GraphRunnerAgent(DialogueAgent):
    """A context for each plan, one for the answer. After `replans` rejected plans more the answer
    is given from what there is: nothing."""

    def play(self, talk: Dialogue, tools: ToolBox) -> AgentRun:
        seen = "No plan could be executed: nothing was retrieved."
        with suppress(BudgetSpent):
            seen = yield from self._plan(talk, tools, seen)
        talk.begin(tools="")
        talk.say(f"Retrieved: {self.protocol.observe(seen)}")
        talk.say(FINAL)
        return (yield from talk.answer())

    def _plan(
        self, talk: Dialogue, tools: ToolBox, nothing: str
    ) -> Generator[Ask, Completion, str]:
        """Plan, verify, execute. Only the failed step and its reason reach the next plan."""
        options = self.settings.read_options(RunnerOptions)
        fault = ""
        for _ in range(1 + options.replans):
            talk.begin()
            talk.say(PLANNING)
            if fault:
                talk.say(AGAIN.format(fault=self.protocol.observe(fault)))
            action = yield from talk.decide(("plan",), tools.call)
            turn = talk.log.turns[-1]
            if not turn.error:
                return turn.observation
            fault = action.reason if isinstance(action, Malformed) else turn.observation
        return nothing


def _tools(
    graph: KnowledgeGraph, settings: AgentSettings, rank: Ranker
) -> Callable[[Question], ToolBox]:
    options = settings.read_options(RunnerOptions)
    # Made for the first episode: a graph that is only described or compared needs neither.
    shared = cache(lambda: (traversal_schema(graph), open_node_index(graph, options.index)))
    longest = settings.longest_name
    return lambda question: RunnerTools(graph, question, *shared(), options, longest)


GRAPHRUNNER = Preset(
    name="graphrunner",
    version=4,
    source="GraphRunner (Kashmira et al., 2025)",
    tools=_tools,
    protocol=lambda settings: FormProtocol(FORMS),
    agent=GraphRunnerAgent,
    prompts={"graphrunner": PROMPT},
    options=RunnerOptions,
    most_entries=lambda settings: max(
        settings.most_entries, settings.read_options(RunnerOptions).answer_tokens // 50
    ),
    oracle=ORACLE,
    calls=tuple(FORMS),
    graphs="property graphs, and others of at most 200,000 named nodes",
)
