"""Generate-on-Graph (Xu et al., 2024): search, and generate what an incomplete graph lacks."""

from collections.abc import Generator, Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import Field

from graphwalker.agents.base import AgentRun
from graphwalker.agents.preset import AgentSettings, Preset
from graphwalker.agents.published.dialogue import (
    DecisionAgent,
    Dialogue,
)
from graphwalker.agents.published.oracles import (
    DecisionOracle,
    decide,
    ends_in_graph,
    ends_shown,
    prefer_gold,
    query_of,
)
from graphwalker.agents.published.pathwise.tools import PROMPT, PathOptions, PathTools, path_tools
from graphwalker.graphs.base import Entity
from graphwalker.oracle.oracle import shared
from graphwalker.oracle.plan import Move, OwnOracle, Plan, View
from graphwalker.protocols.base import FinalAnswer
from graphwalker.protocols.forms import FormProtocol
from graphwalker.query.query import Hop
from graphwalker.question import Question
from graphwalker.tools.base import Call, ErrorKind, Observation
from graphwalker.tools.namebook import quote
from graphwalker.trajectory import Turn

FORMS: Mapping[str, Mapping[str, Any]] = {
    "search": {"search": "Name"},
    "generate": {"generate": [["head", "relation", "tail"]]},
}
ACTIONS = (
    "In each message do one of these:\n"
    '{"thought": "why", "search": "Name"}: the triples of an entity that fit the question\n'
    '{"thought": "why", "generate": [["head", "relation", "tail"]]}: triples that the graph lacks '
    "and that you know or infer\n"
    '{"thought": "why", "answer": ["Name"]}: every name that answers the question'
)

_PROMPT = (
    PROMPT.format(role="The graph is incomplete: what it lacks you may generate yourself.")
    + "\n{tools}"
)


class GogOptions(PathOptions):
    """`environment.options` of GoG."""

    relations: int = Field(default=10, ge=1)
    """Relations whose triples one search shows, the most relevant ones."""


class GogAgent(DecisionAgent):
    """One conversation. Generated triples stand in it as generated: they are the model's, and what
    is answered from them counts as ungrounded."""

    def play(self, talk: Dialogue, tools: PathTools) -> AgentRun:
        talk.begin(ACTIONS)
        run = partial(self._run, tools, self.settings.read_options(GogOptions).relations)
        return talk.decide_until_answer(FORMS, run, "Nothing more can be searched.")

    def _run(self, tools: PathTools, relations: int, call: Call) -> Observation:
        if call.tool == "generate":
            return _accept_generated(call.arguments["generate"], tools)
        entity = tools.find(call.arguments["search"])
        if entity is None:
            name = quote(call.arguments["search"][:200])
            kind = ErrorKind.UNKNOWN_ENTITY
            return Observation(f"Error {kind}: no entity {name}", kind, graph_calls=1)
        hops = tools.hops(entity)
        seen = tools.triples(entity, hops[:relations])
        if not seen.triples:
            kind = ErrorKind.NO_TRIPLES
            return Observation(f"Error {kind}: nothing is known of {quote(entity.name)}", kind)
        return seen


def _accept_generated(rows: list[list[str]], tools: PathTools) -> Observation:
    """The model's own triples, said to be so. Each begins or ends at an entity of the episode."""
    if not rows or any(len(row) != 3 or not all(part.strip() for part in row) for row in rows):
        kind = ErrorKind.BAD_ARGUMENTS
        return Observation(f"Error {kind}: each triple is [head, relation, tail]", kind)
    for row in rows:
        if not tools.entity_id(row[0].strip()) and not tools.entity_id(row[2].strip()):
            kind = ErrorKind.UNKNOWN_ENTITY
            what = f"neither {quote(row[0][:100])} nor {quote(row[2][:100])} was shown"
            return Observation(f"Error {kind}: {what}; generate from an entity shown", kind)
    lines = [f"({', '.join(quote(part.strip()) for part in row)})" for row in rows]
    return Observation("Generated, not in the graph:\n" + "\n".join(lines))


class GogOracle(DecisionOracle):
    """Searches each entity on the way; gold triples of the last hop that the graph lacks it
    generates, as a model that knows the fact would."""

    def plan(self, key: str, question: Question) -> Plan:
        query, view = query_of(question), View(self.graph, question.topic_entities)
        ends: list[list[Entity]] = []
        for branch in query.branches:
            last = not query.tail
            ends.append((yield from self._walk(view, question, [branch.topic], branch.hops, last)))
        found = yield from self._walk(view, question, shared(ends), query.tail, True)
        names = tuple(dict.fromkeys(view.name(end) for end in prefer_gold(question, found)))
        while True:
            yield "That is the answer.", FinalAnswer(names)

    def _walk(
        self, view: View, question: Question, start: list[Entity], hops: Sequence[Hop], last: bool
    ) -> Generator[Move, Turn, list[Entity]]:
        frontier = start
        for number, hop in enumerate(hops):
            found: dict[str, Entity] = {}
            for entity in frontier:
                turn = yield from decide(view, "search", search=view.name(entity))
                ends = [] if turn.error else ends_shown(turn.triples, entity, hop)
                found.update((end.id, end) for end in ends)
            gold = [Entity(a.id, a.name) for a in question.answers if a.id not in found]
            # What the graph has and the search did not show is lost: only what it lacks is made.
            has = {end.id for here in frontier for end in ends_in_graph(self.graph, here, [hop])}
            gold = [entity for entity in gold if entity.id not in has]
            if gold and frontier and last and number == len(hops) - 1:
                head = view.name(frontier[0])
                rows = [[head, str(hop), entity.name] for entity in gold]
                yield from decide(view, "generate", generate=rows)
                found.update((entity.id, entity) for entity in gold)
            frontier = list(found.values())
        return frontier


def _most_entries(settings: AgentSettings) -> int:
    options = settings.read_options(GogOptions)
    return options.relations * options.ends


GOG = Preset(
    name="gog",
    version=3,
    source="Generate-on-Graph (Xu et al., 2024); hide triples with layers.hidden_share",
    tools=lambda graph, settings, rank: path_tools(graph, settings, rank, GogOptions),
    protocol=lambda settings: FormProtocol(FORMS),
    agent=GogAgent,
    defaults={"max_turns": 20, "top_relations": 50},
    prompts={"gog": _PROMPT},
    options=GogOptions,
    most_entries=_most_entries,
    oracle=OwnOracle(GogOracle),
    calls=tuple(FORMS),
)
