"""Graph-CoT (Jin et al., 2024): think, act, observe; several graph functions in one message."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import Field

from graphwalker.agents.base import AgentRun
from graphwalker.agents.dialogue import ANSWER, Dialogue, DialogueAgent
from graphwalker.agents.preset import Preset
from graphwalker.agents.prompt import read_texts
from graphwalker.agents.published.decisions import DecisionTools, listed_hop, shown_triple, tools_of
from graphwalker.config import Config
from graphwalker.graphs.base import Direction, Entity, Step
from graphwalker.graphs.literals import is_literal
from graphwalker.oracle.gold_walk import EntitySearch, NameSearch, WalkOracle, read_gold
from graphwalker.oracle.plan import OwnOracle, View
from graphwalker.oracle.walk import shared
from graphwalker.protocols.forms import FormProtocol
from graphwalker.query.query import Hop
from graphwalker.ranking.nodes.index import NodeIndexName
from graphwalker.tools.base import Call, ErrorKind, Observation, ToolBox, mistake, together
from graphwalker.tools.namebook import quote

TEXTS = read_texts(__file__)
FORMS: Mapping[str, Mapping[str, Any]] = {"calls": {"calls": [["RetrieveNode", "text"]]}}
RETRIEVE, FEATURE, DEGREE, NEIGHBORS = (
    "RetrieveNode",
    "NodeFeature",
    "NodeDegree",
    "NeighbourCheck",
)
MOST_CALLS = 20
"""Calls that one message may hold; further ones are not run, and that is said."""


class GraphCotOptions(Config):
    """`environment.options` of Graph-CoT."""

    index: NodeIndexName = "bm25"
    """What finds nodes by a text: `bm25`, `tfidf`, or `embed:MODEL` (as in the paper)."""
    neighbors: int = Field(default=50, ge=1)
    """Most neighbours that one call shows."""


class GraphCotTools(DecisionTools[GraphCotOptions]):
    """The functions of one episode. Nodes are named by their ids, as in GRBench."""

    def call(self, call: Call) -> Observation:
        """Run every call of the message; a mistake in one does not stop the others."""
        rows: Sequence[Sequence[str]] = call.arguments.get("calls") or ()
        if not rows:
            return mistake(ErrorKind.BAD_ARGUMENTS, "no call in it", calls=1)
        seen = [self._one(row) for row in rows[:MOST_CALLS]]
        left = len(rows) - len(seen)
        lines = [one.text for one in seen] + [f"({left} more calls were not run)"] * (left > 0)
        found = together(seen)
        triples = tuple(dict.fromkeys(found.triples))
        return replace(found, text="\n".join(lines), triples=triples)

    def signatures(self) -> str:
        return TEXTS["actions"]

    def _one(self, row: Sequence[str]) -> Observation:
        name, *arguments = row or [""]
        wanted = {RETRIEVE: 1, FEATURE: 2, DEGREE: 2, NEIGHBORS: 2}.get(name)
        if wanted is None:
            text = f"there is no function {quote(name[:60])}"
            return mistake(ErrorKind.UNKNOWN_TOOL, text, calls=1)
        if len(arguments) != wanted:
            return mistake(ErrorKind.BAD_ARGUMENTS, f"{name} takes {wanted} arguments", calls=1)
        if name == RETRIEVE:
            return self._retrieve(arguments[0])
        node, key = arguments
        if not self._graph.name(node) and not self._types(node):
            text = f"no node has the id {quote(node[:100])}"
            return mistake(ErrorKind.UNKNOWN_ENTITY, text, calls=1)
        entity = Entity(node, self._graph.name(node))
        return self._feature(entity, key) if name == FEATURE else self._ends(entity, key, name)

    def _retrieve(self, text: str) -> Observation:
        hits = self._shared.index.search(text[:500], limit=1)
        if not hits:
            return mistake(ErrorKind.UNKNOWN_ENTITY, f"nothing fits {quote(text[:100])}", calls=1)
        entity = self._book.show_entity(hits[0].entity)
        types = ", ".join(map(str, self._types(entity.id)))
        label = f"{RETRIEVE}[{quote(text[:100])}]: id {quote(entity.id)}, {quote(entity.name)}"
        return Observation(f"{label}; types: {types}", shown=(entity,), graph_calls=3)

    def _feature(self, entity: Entity, key: str) -> Observation:
        ends = self._graph.neighbors(entity.id, key, Direction.OUT, self._options.neighbors)
        values = [self._book.show_entity(end) for end in ends if is_literal(end.id)]
        if not values:
            text = f"{quote(entity.id)} has no attribute {quote(key[:100])}"
            return mistake(ErrorKind.NO_TRIPLES, text)
        text = ", ".join(quote(value.name) for value in values)
        label = f"{FEATURE}[{quote(entity.id)}, {key}]"
        return Observation(f"{label}: {text}", shown=tuple(values), graph_calls=1)

    def _ends(self, entity: Entity, kind: str, function: str) -> Observation:
        hop = listed_hop(kind, self._types(entity.id))
        if hop is None:
            what = f"{quote(entity.id)} has no neighbours of type {quote(kind[:100])}"
            return mistake(ErrorKind.UNKNOWN_RELATION, what, calls=1)
        total = dict(self._shared.list(entity.id).sides(hop.relation))[hop.direction]
        label = f"{function}[{quote(entity.id)}, {hop}]"
        if function == DEGREE:
            return Observation(f"{label}: {total}", graph_calls=2)
        step = Step(entity.id, hop.relation, hop.direction, self._options.neighbors)
        ends = [self._book.show_entity(end) for end in self._graph.step_many([step])[0]]
        here = self._book.show_entity(entity)
        hidden = max(0, total - len(ends))
        text = ", ".join(f"{quote(_shown_id(end))}: {quote(end.name)}" for end in ends)
        return Observation(
            f"{label}: {text}" + (f" (and {hidden} more)" if hidden else ""),
            triples=tuple(shown_triple(here, hop, end) for end in ends),
            hidden=hidden,
            graph_calls=2,
        )

    def _types(self, entity_id: str) -> list[Hop]:
        listing = self._shared.list(entity_id)
        return list(listing.hops(listing.relations))


def _shown_id(end: Entity) -> str:
    """Return the id; of a literal whose name is cut, the name shown."""
    return end.name if is_literal(end.id) and end.name not in end.id else end.id


class GraphCotAgent(DialogueAgent):
    """One conversation, up to the turn budget."""

    def play(self, talk: Dialogue, tools: ToolBox) -> AgentRun:
        talk.begin()
        return talk.answer((*FORMS, ANSWER), tools.call, "No further call is run.")


class GraphCotOracle(WalkOracle):
    """Retrieves each topic by its name, and checks the neighbours of a whole frontier at once."""

    def names(self) -> NameSearch:
        self.view = View(self.graph, ())  # a topic is shown under the name that finds it
        return (yield from super().names() if self.question.query else self._follow_plan())

    def start(self, topic: Entity) -> EntitySearch:
        turn = yield from self.fill("calls", "Look it up.", calls=[[RETRIEVE, topic.name]])
        return list(turn.shown)

    def look(
        self, frontier: list[Entity], hop: Hop, last: bool = False, over: bool = False
    ) -> EntitySearch:
        if not frontier:
            return []
        calls = [[NEIGHBORS, entity.id, str(hop)] for entity in frontier]
        turn = yield from self.fill("calls", "All of them.", calls=calls)
        return list({end.id: end for end in self.ends(turn, frontier, hop)}.values())

    def _follow_plan(self) -> NameSearch:
        """Follow the traversal plan of a GRBench question step by step, as far as it goes."""
        steps: list[list[Entity]] = []
        for step in self.question.annotations.get("plan", ()):
            if "node_finding_hint" in step:
                found = yield from self.start(Entity("", step["node_finding_hint"]))
            elif "nodes" in step:
                ends: list[list[Entity]] = []
                for node, edge, *_ in step["nodes"]:
                    ends.append((yield from self.look(steps[int(node[1:]) - 1], Hop(edge))))
                found = shared(ends)
            else:
                kind = step.get("targeted_edge_type") or step["targeted_node_type"]
                found = yield from self.look(steps[-1], Hop(kind))
            steps.append(found)
        last = steps[-1] if steps else []
        known = f"{', '.join(end.name for end in last)}; {len(last)}"
        if len(steps) == 1:
            for feature in ("year", "category", "price"):
                turn = yield from self.fill("calls", calls=[[FEATURE, last[0].id, feature]])
                known += f"; {turn.observation}"
        return read_gold(self.question, known)


GRAPH_COT = Preset(
    name="graph-cot",
    version=4,
    source="Graph-CoT (Jin et al., 2024), ten steps",
    tools=tools_of(GraphCotTools, GraphCotOptions),
    protocol=lambda settings: FormProtocol(FORMS),
    agent=GraphCotAgent,
    prompts={"graph-cot": TEXTS["prompt"]},
    options=GraphCotOptions,
    oracle=OwnOracle(
        GraphCotOracle,
        lambda question: question.query is not None or "plan" in question.annotations,
        "a query or a plan",
    ),
    most_entries=lambda settings: (
        MOST_CALLS * settings.read_options(GraphCotOptions).neighbors + settings.most_entries
    ),
    calls=tuple(FORMS),
    graphs="graphs that list their nodes",
)
