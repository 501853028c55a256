"""GraphRunner (Kashmira et al., 2025): a whole plan, verified before it runs, and one answer."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from pydantic import Field

from graphwalker.agents.base import AgentPart, AgentRun
from graphwalker.agents.dialogue import BudgetSpent, Dialogue, DialogueAgent
from graphwalker.agents.preset import Preset
from graphwalker.agents.prompt import read_texts
from graphwalker.agents.published.decisions import (
    CHARS_PER_TOKEN,
    DecisionTools,
    EpisodeResources,
    tools_of,
)
from graphwalker.agents.published.graphrunner.plans import (
    ACTIONS,
    COMMON,
    FETCH,
    FIND,
    RINGS,
    UNTYPED,
    PlanFault,
    PlanStep,
    examples_of,
    hint_types,
    read_plan,
    source_step,
    traversal_schema,
    types_of,
    types_of_steps,
)
from graphwalker.config import Config
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, Side, Step
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.properties import PropertyGraph
from graphwalker.oracle.gold_walk import DecisionOracle, read_gold
from graphwalker.oracle.plan import Move, OwnOracle
from graphwalker.oracle.walk import prefer_gold, shared
from graphwalker.policies.base import Request
from graphwalker.protocols.base import FinalAnswer, Malformed
from graphwalker.protocols.forms import FormProtocol
from graphwalker.query.query import Hop, Query
from graphwalker.question import Question
from graphwalker.ranking.nodes.index import NodeIndexName
from graphwalker.tools.base import Call, ErrorKind, Observation, mistake
from graphwalker.tools.namebook import quote
from graphwalker.trajectory import Turn
from graphwalker.trust import Text

TEXTS = read_texts(__file__)
FORMS: Mapping[str, Mapping[str, object]] = {"plan": {"plan": [{"action": "Find_Node"}]}}
SCHEMA_EDGES = 200
"""Edge types in the prompt; of more, those that fit the question best."""
PLAN = "plan"
"""The annotation that holds a plan in JSON, for questions without a query."""


class RunnerOptions(Config):
    """`environment.options` of GraphRunner."""

    index: NodeIndexName = "bm25"
    """What finds nodes by a hint: `bm25`, `tfidf`, or `embed:MODEL` (sentence-transformers, as in
    the paper)."""
    theta: float = Field(default=0.8, ge=0, le=1)
    """A node is found whose similarity is at least this share of the best one's."""
    hits: int = Field(default=5, ge=1)
    """Most nodes that one hint finds."""
    nodes: int = Field(default=1000, ge=1)
    """Most nodes that a step keeps."""
    answer_tokens: int = Field(default=2000, ge=50)
    """Tokens (of four characters) of retrieved nodes that the answer is written from."""
    replans: int = Field(default=3, ge=0)
    """Further plans after one that verification rejects."""
    examples: Text = "auto"
    """Few-shot plans behind the schema. `auto`: of the shipped ones, for GRBench's domains, those
    that the graph could execute; `""` shows none, any other text stands there as it is."""


class RunnerTools(DecisionTools[RunnerOptions]):
    """The tools of one episode: `plan` verifies a plan and, where it is sound, executes it."""

    def __init__(self, shared: EpisodeResources[RunnerOptions], question: Question) -> None:
        super().__init__(shared, question)
        self.schema = shared.read_once(traversal_schema)
        self._steps: list[list[Entity]] = []

    def call(self, call: Call) -> Observation:
        if call.tool != "plan":
            return mistake(ErrorKind.UNKNOWN_TOOL, f"there is no {call.tool}")
        try:
            plan = read_plan(list(call.arguments.get("plan") or ()))
            standing = types_of_steps(plan, self.schema)
        except PlanFault as fault:
            # The kind of the fault, so that the classes of errors can be counted.
            return mistake(fault.kind, str(fault))
        return self._execute(plan, standing)

    def signatures(self) -> str:
        """Return the graph's schema, and example plans for it."""
        schema = self.schema.describe(self._question.text, SCHEMA_EDGES)
        wanted = self._options.examples
        examples = examples_of(self.schema) if wanted == "auto" else wanted
        return f"{schema}\n{examples}" if examples else schema

    def _execute(self, plan: Sequence[PlanStep], standing: Sequence[frozenset[str]]) -> Observation:
        """Return what the last step found: how many nodes, then each with its attributes, as far as
        the token budget goes; what does not fit is counted."""
        self._graph_calls, self._steps, hidden = 0, [], 0
        for number, step in enumerate(plan):
            nodes = self._run(step, standing[:number])
            hidden += max(0, len(nodes) - self._options.nodes)
            self._steps.append(nodes[: self._options.nodes])
        return self._describe(hidden)

    def _run(self, step: PlanStep, standing: Sequence[frozenset[str]]) -> list[Entity]:
        match step:
            case {"node_finding_hint": hint, "node_type": node_type}:
                return self._hits(hint, [node_type])
            case {"targeted_edge_type": edge}:
                direction = self.schema.direction(standing[-1], edge, step.get("direction", ""))
                return self._neighbors(self._steps[-1], edge, direction or Direction.OUT)
            case {"targeted_node_type": node_type}:
                return self._nearest(self._steps[-1], node_type)
            case _:
                return self._common(step["nodes"], standing)

    def _hits(self, hint: str, types: Iterable[str]) -> list[Entity]:
        self._graph_calls += 1
        most, share = self._options.hits, self._options.theta
        hits = [
            hit
            for kind in types
            # Nodes without a type have no label that the index could look for.
            for hit in self._shared.index.nearest(
                hint, "" if kind == UNTYPED else kind, most, share
            )
            if kind in types_of(self._graph, hit.entity)
        ]
        best = max((hit.score for hit in hits), default=0.0)
        return _distinct(hit.entity for hit in hits if hit.score >= share * best)[:most]

    def _neighbors(self, nodes: Sequence[Entity], edge: str, direction: Direction) -> list[Entity]:
        limit = self._options.nodes + 1
        steps = [Step(node.id, edge, direction, limit) for node in nodes if not is_literal(node.id)]
        self._graph_calls += len(steps)
        return _distinct(end for ends in self._graph.step_many(steps) for end in ends)

    def _nearest(self, nodes: Sequence[Entity], node_type: str) -> list[Entity]:
        """Return the first ring, at most `RINGS` hops away, that holds nodes of the type."""
        ring, seen = list(nodes), {node.id for node in nodes}
        for _ in range(RINGS):
            ring = [one for one in self._around(ring) if one.id not in seen]
            hits = [one for one in ring if node_type in types_of(self._graph, one)]
            if hits:
                return hits
            seen.update(one.id for one in ring)
        return []

    def _around(self, nodes: Sequence[Entity]) -> list[Entity]:
        sides = [Side(n.id, way) for n in nodes if not is_literal(n.id) for way in Direction]
        limit = self._options.nodes + 1
        steps = [
            Step(side.entity_id, relation, side.direction, limit)
            for side, listed in zip(sides, self._graph.flat_relations_many(sides), strict=True)
            for relation, _ in listed
            if relation in self.schema.edges
        ]
        self._graph_calls += len(sides) + len(steps)
        return _distinct(end for ends in self._graph.step_many(steps) for end in ends)

    def _common(
        self, sources: Sequence[Sequence[str]], standing: Sequence[frozenset[str]]
    ) -> list[Entity]:
        ends: list[list[Entity]] = []
        for node, edge, *way in sources:
            number = source_step(node)
            types = standing[number - 1] if number else hint_types(edge, self.schema)
            nodes = self._steps[number - 1] if number else self._hits(node, sorted(types))
            direction = self.schema.direction(types, edge, *way) or Direction.OUT
            ends.append(self._neighbors(nodes, edge, direction))
        return shared(ends)

    def _describe(self, cut: int) -> Observation:
        nodes, budget = self._steps[-1], self._options.answer_tokens * CHARS_PER_TOKEN
        total = len(nodes) + cut
        lines = [f"{total} nodes found." if total != 1 else "1 node found."]
        shown: list[Entity] = []
        for node in nodes:
            entity = self._book.show_entity(node)
            line = self._line(entity)
            if len(line) > budget and shown:
                break
            lines.append(line[:budget])
            budget -= len(line)
            shown.append(entity)
        hidden = total - len(shown)
        if hidden:
            lines.append(f"({hidden} more nodes are not shown)")
        return Observation(
            "\n".join(lines), shown=tuple(shown), hidden=hidden, graph_calls=self._graph_calls
        )

    def _line(self, node: Entity) -> str:
        """Return the name, and what else is known of the node."""
        if not isinstance(self._graph, PropertyGraph) or is_literal(node.id):
            return quote(node.name)
        properties = self._graph.properties(node.id)
        parts = [
            f"{key}: {', '.join(map(quote, map(str, values)))}"
            for key, values in sorted(properties.items())
        ]
        return f"{quote(node.name)} ({'; '.join(parts)})" if parts else quote(node.name)


def _distinct(nodes: Iterable[Entity]) -> list[Entity]:
    return list({node.id: node for node in nodes}.values())


class GraphRunnerAgent(DialogueAgent):
    """A context for each plan, one for the answer. After `replans` rejected plans more the answer
    is given from what there is: nothing."""

    def play(self, talk: Dialogue, tools: RunnerTools) -> AgentRun:
        seen = "No plan could be executed: nothing was retrieved."
        with suppress(BudgetSpent):
            seen = (yield from self._plan(talk, tools)) or seen
        talk.begin(tools="")
        talk.say(TEXTS["final"], seen=seen)
        return (yield from talk.answer())

    def _plan(self, talk: Dialogue, tools: RunnerTools) -> AgentPart[str]:
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

    def decide(self, request: Request) -> Move:
        question = request.question
        if request.turns:
            turn = request.turns[0]
            names = _answer(question, turn) if not turn.error else ()
            return "These nodes answer it.", FinalAnswer(names)
        steps: Sequence[Any] = question.annotations.get(PLAN) or ()
        if not steps and question.query:
            steps = query_plan(self.graph, question.query)
        return "The steps follow the question.", Call("plan", {"plan": list(steps)})


def query_plan(graph: KnowledgeGraph, query: Query) -> list[dict[str, Any]]:
    """Plan a query: branches one after the other, met by their last hops, then the tail."""
    steps: list[dict[str, Any]] = []
    last: list[list[str]] = []
    for branch in query.branches:
        topic, hops = branch.topic, branch.hops
        hint = {"node_finding_hint": topic.name or topic.id, "node_type": types_of(graph, topic)[0]}
        steps.append({"action": FIND, **hint})
        if len(query.branches) > 1:
            *hops, meeting = hops
            number = len(steps) + len(hops)
            last.append([f"${number}", meeting.relation, meeting.direction.value])
        steps += map(_fetch, hops)
    if last:
        steps.append({"action": COMMON, "nodes": last})
    return [*steps, *map(_fetch, query.tail)]


def _fetch(hop: Hop) -> dict[str, Any]:
    edge = {"targeted_edge_type": hop.relation, "direction": hop.direction.value}
    return {"action": FETCH, **edge}


def _answer(question: Question, turn: Turn) -> tuple[str, ...]:
    """Get the gold answers where all are to be read in what was retrieved; else what was found."""
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


GRAPHRUNNER = Preset(
    name="graphrunner",
    version=5,
    source="GraphRunner (Kashmira et al., 2025)",
    tools=tools_of(RunnerTools, RunnerOptions),
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
