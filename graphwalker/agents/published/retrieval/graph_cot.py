"""Graph-CoT (Jin et al., 2024): think, act, observe; several graph functions in one message."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from graphwalker.agents.base import AgentRun, Log
from graphwalker.agents.prompt import Prompt
from graphwalker.agents.published.dialogue import (
    ANSWER,
    BudgetSpent,
    Dialogue,
    EpisodeBudget,
    WritesNoAction,
)
from graphwalker.agents.published.pathwise.tools import listed_hop, shown_triple
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, Step
from graphwalker.graphs.literals import is_literal
from graphwalker.protocols.base import ActionProtocol, FinalAnswer
from graphwalker.query.query import Hop
from graphwalker.question import Question
from graphwalker.ranking.nodes.index import NodeIndex
from graphwalker.tools.base import Call, ErrorKind, Observation, ToolBox, mistake
from graphwalker.tools.listing import Lister
from graphwalker.tools.namebook import NamedTopics, quote

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
    ) -> None:
        super().__init__(graph, question)
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
        entity = self._shown(hits[0].entity)
        types = ", ".join(map(str, self._types(entity.id)))
        label = f"{RETRIEVE}[{quote(text[:100])}]: id {quote(entity.id)}, {quote(entity.name)}"
        return Observation(f"{label}; types: {types}", shown=(entity,), graph_calls=3)

    def _feature(self, entity: Entity, key: str) -> Observation:
        ends = self._graph.neighbors(entity.id, key, Direction.OUT, self._most)
        values = [end for end in ends if is_literal(end.id)]
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
        ends = [self._shown(end) for end in self._graph.step_many([step])[0]]
        triples = tuple(shown_triple(self._shown(entity), hop, end) for end in ends)
        hidden = max(0, total - len(ends))
        text = ", ".join(f"{quote(end.id)}: {quote(end.name)}" for end in ends)
        more = f" (and {hidden} more)" if hidden else ""
        return Observation(f"{label}: {text}{more}", triples=triples, hidden=hidden, graph_calls=2)

    def _types(self, entity_id: str) -> list[Hop]:
        listing = self._list(entity_id)
        return list(listing.hops(listing.relations))

    def _shown(self, entity: Entity) -> Entity:
        return Entity(entity.id, self._book.show(entity))


@dataclass(frozen=True, slots=True)
class GraphCotAgent:
    """Builds the generator of an episode: one conversation, up to the turn budget."""

    protocol: ActionProtocol
    prompt: Prompt
    budget: EpisodeBudget

    def __call__(self, question: Question, tools: ToolBox, log: Log) -> AgentRun:
        talk = Dialogue(self.protocol, self.budget, log)
        talk.begin(
            *self.prompt.messages(
                {
                    "question": question.text,
                    "entities": ", ".join(map(quote, tools.topic_names())),
                    "tools": tools.signatures(),
                    "max_turns": str(self.budget.max_turns),
                }
            )
        )
        try:
            while True:
                action = yield from talk.decide((*FORMS, ANSWER), tools.call)
                if isinstance(action, FinalAnswer):
                    return action
        except BudgetSpent:
            return (yield from talk.answer("No further call is run."))
        except WritesNoAction:
            return None
