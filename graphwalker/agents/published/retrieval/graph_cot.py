"""Graph-CoT (Jin et al., 2024): think, act, observe; several graph functions in one message."""

from collections.abc import Callable, Generator, Mapping, Sequence
from functools import cache, partial
from typing import Any

from pydantic import Field

from graphwalker.agents.base import AgentRun
from graphwalker.agents.preset import AgentSettings, Preset
from graphwalker.agents.published.dialogue import DecisionAgent, Dialogue
from graphwalker.agents.published.oracles import DecisionOracle, prefer_gold
from graphwalker.agents.published.pathwise.tools import listed_hop, shown_triple
from graphwalker.config import Config
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, Step
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.names import fold
from graphwalker.oracle.oracle import shared
from graphwalker.oracle.plan import Move, OwnOracle, Plan
from graphwalker.protocols.base import FinalAnswer
from graphwalker.protocols.forms import FormProtocol
from graphwalker.query.query import Hop
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker
from graphwalker.ranking.nodes.index import NodeIndex, NodeIndexName, open_node_index
from graphwalker.tools.base import Call, ErrorKind, Observation, ToolBox, mistake
from graphwalker.tools.listing import Lister, lister
from graphwalker.tools.namebook import NamedTopics, quote
from graphwalker.trajectory import Turn

FORMS: Mapping[str, Mapping[str, Any]] = {"calls": {"calls": [["RetrieveNode", "text"]]}}
RETRIEVE, FEATURE, DEGREE, NEIGHBORS = (
    "RetrieveNode",
    "NodeFeature",
    "NodeDegree",
    "NeighbourCheck",
)
ACTIONS = (
    "In each message either call functions, several at once if you like:\n"
    '{"thought": "why", "calls": [["RetrieveNode", "text"], ["NeighbourCheck", "id", "type"]]}\n'
    '- ["RetrieveNode", text]: the node that fits a text best, its id, its attributes and its '
    "neighbour types\n"
    '- ["NodeFeature", id, attribute]: an attribute of a node\n'
    '- ["NodeDegree", id, type]: how many neighbours of a type it has\n'
    '- ["NeighbourCheck", id, type]: those neighbours (`~type`: against its direction)\n'
    'or answer: {"thought": "why", "answer": ["Name"]}'
)
PROMPT = """You answer questions over a graph by calling functions on it, then reading \
what they return. Every message of yours is one JSON object.
{tools}
---
Question: {question}
Entities: {entities}"""
MOST_CALLS = 20
"""Calls that one message may hold; further ones are not run, and that is said."""

_mistake = partial(mistake, calls=1)


class GraphCotTools(NamedTopics):
    """The functions of one episode. Nodes are named by their ids, as in GRBench."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        question: Question,
        listed: Lister,
        index: Callable[[], NodeIndex],
        most: int,
        longest: int = 0,
    ) -> None:
        super().__init__(graph, question, longest)
        self._list, self._index, self._most = listed, index, most

    def call(self, call: Call) -> Observation:
        """Every call of the message; a mistake in one does not stop the others."""
        rows: Sequence[Sequence[str]] = call.arguments.get("calls") or ()
        if not rows:
            return _mistake(ErrorKind.BAD_ARGUMENTS, "no call in it")
        seen = [self._one(row) for row in rows[:MOST_CALLS]]
        lines = [one.text for one in seen]
        if len(rows) > MOST_CALLS:
            lines.append(f"({len(rows) - MOST_CALLS} more calls were not run)")
        return Observation(
            "\n".join(lines),
            next((one.error for one in seen if one.error), ""),
            shown=tuple(dict.fromkeys(e for one in seen for e in one.shown)),
            triples=tuple(dict.fromkeys(t for one in seen for t in one.triples)),
            hidden=sum(one.hidden for one in seen),
            graph_calls=sum(one.graph_calls for one in seen),
        )

    def signatures(self) -> str:
        return ACTIONS

    def _one(self, row: Sequence[str]) -> Observation:
        name, *arguments = row or [""]
        wanted = {RETRIEVE: 1, FEATURE: 2, DEGREE: 2, NEIGHBORS: 2}.get(name)
        if wanted is None:
            return _mistake(ErrorKind.UNKNOWN_TOOL, f"there is no function {quote(name[:60])}")
        if len(arguments) != wanted:
            return _mistake(ErrorKind.BAD_ARGUMENTS, f"{name} takes {wanted} arguments")
        if name == RETRIEVE:
            return self._retrieve(arguments[0])
        node, key = arguments
        if not self._graph.name(node) and not self._types(node):
            return _mistake(ErrorKind.UNKNOWN_ENTITY, f"no node has the id {quote(node[:100])}")
        entity = Entity(node, self._graph.name(node))
        return self._feature(entity, key) if name == FEATURE else self._ends(entity, key, name)

    def _retrieve(self, text: str) -> Observation:
        hits = self._index().search(text[:500], limit=1)
        if not hits:
            return _mistake(ErrorKind.UNKNOWN_ENTITY, f"nothing fits {quote(text[:100])}")
        entity = self._show(hits[0].entity)
        types = ", ".join(map(str, self._types(entity.id)))
        label = f"{RETRIEVE}[{quote(text[:100])}]: id {quote(entity.id)}, {quote(entity.name)}"
        return Observation(f"{label}; types: {types}", shown=(entity,), graph_calls=3)

    def _feature(self, entity: Entity, key: str) -> Observation:
        ends = self._graph.neighbors(entity.id, key, Direction.OUT, self._most)
        values = [self._show(end) for end in ends if is_literal(end.id)]
        if not values:
            return mistake(
                ErrorKind.NO_TRIPLES, f"{quote(entity.id)} has no attribute {quote(key[:100])}"
            )
        text = ", ".join(quote(value.name) for value in values)
        label = f"{FEATURE}[{quote(entity.id)}, {key}]"
        return Observation(f"{label}: {text}", shown=tuple(values), graph_calls=1)

    def _ends(self, entity: Entity, kind: str, function: str) -> Observation:
        hop = listed_hop(kind, self._types(entity.id))
        if hop is None:
            what = f"{quote(entity.id)} has no neighbours of type {quote(kind[:100])}"
            return _mistake(ErrorKind.UNKNOWN_RELATION, what)
        listing = self._list(entity.id)
        total = (listing.out if hop.direction is Direction.OUT else listing.into)[hop.relation]
        label = f"{function}[{quote(entity.id)}, {hop}]"
        if function == DEGREE:
            return Observation(f"{label}: {total}", graph_calls=2)
        step = Step(entity.id, hop.relation, hop.direction, self._most)
        ends = [self._show(end) for end in self._graph.step_many([step])[0]]
        triples = tuple(shown_triple(self._show(entity), hop, end) for end in ends)
        hidden = max(0, total - len(ends))
        # A literal's id is its text once more: a cut one is named by what is shown of it.
        cut = [is_literal(end.id) and end.name not in end.id for end in ends]
        ids = [end.name if short else end.id for end, short in zip(ends, cut, strict=True)]
        text = ", ".join(f"{quote(i)}: {quote(e.name)}" for i, e in zip(ids, ends, strict=True))
        more = f" (and {hidden} more)" if hidden else ""
        return Observation(f"{label}: {text}{more}", triples=triples, hidden=hidden, graph_calls=2)

    def _types(self, entity_id: str) -> list[Hop]:
        listing = self._list(entity_id)
        return list(listing.hops(listing.relations))

    def _show(self, entity: Entity) -> Entity:
        return Entity(entity.id, self._book.show(entity))


class GraphCotAgent(DecisionAgent):
    """One conversation, up to the turn budget."""

    def play(self, talk: Dialogue, tools: ToolBox) -> AgentRun:
        talk.begin(tools.signatures())
        return talk.decide_until_answer(FORMS, tools.call, "No further call is run.")


NodesFound = Generator[Move, Turn, list[Entity]]


class GraphCotOracle(DecisionOracle):
    """Retrieves each topic by its name, and checks the neighbours of a whole frontier at once."""

    def plan(self, key: str, question: Question) -> Plan:
        if question.query is None:
            names = yield from self._follow_plan(question)
        else:
            query = question.query
            ends: list[list[Entity]] = []
            for branch in query.branches:
                start = yield from _find_node(branch.topic.name)
                ends.append((yield from _walk(start, branch.hops)))
            found = yield from _walk(shared(ends), query.tail)
            names = tuple(dict.fromkeys(end.name for end in prefer_gold(question, found)))
        while True:
            yield "That is the answer.", FinalAnswer(names)

    def _follow_plan(self, question: Question) -> Generator[Move, Turn, tuple[str, ...]]:
        """A GRBench question with a traversal plan: its steps one by one, as far as they go."""
        steps: list[list[Entity]] = []
        text = ""
        for step in question.annotations.get("plan", ()):
            if "node_finding_hint" in step:
                found = yield from _find_node(step["node_finding_hint"])
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


def _find_node(name: str) -> NodesFound:
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


class GraphCotOptions(Config):
    """`environment.options` of Graph-CoT."""

    index: NodeIndexName = "bm25"
    """What finds nodes by a text: `bm25`, `tfidf`, or `embed:MODEL` (as in the paper)."""
    neighbors: int = Field(default=50, ge=1)
    """Most neighbours that one call shows."""


def _tools(
    graph: KnowledgeGraph, settings: AgentSettings, rank: Ranker
) -> Callable[[Question], ToolBox]:
    options = settings.read_options(GraphCotOptions)
    listed = lister(graph, settings)
    index = cache(lambda: open_node_index(graph, options.index))
    limits = options.neighbors, settings.longest_name
    return lambda question: GraphCotTools(graph, question, listed, index, *limits)


GRAPH_COT = Preset(
    name="graph-cot",
    version=3,
    source="Graph-CoT (Jin et al., 2024), ten steps",
    tools=_tools,
    protocol=lambda settings: FormProtocol(FORMS),
    agent=GraphCotAgent,
    prompts={"graph-cot": PROMPT},
    options=GraphCotOptions,
    oracle=OwnOracle(GraphCotOracle, _has_a_query_or_plan, "a query or a plan"),
    most_entries=lambda settings: (
        MOST_CALLS * settings.read_options(GraphCotOptions).neighbors + settings.most_entries
    ),
    calls=tuple(FORMS),
    graphs="graphs that list their nodes",
)
