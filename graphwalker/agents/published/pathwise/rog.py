"""Reasoning on Graphs (Luo et al., 2024): relation paths are planned, retrieved, then read."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from pydantic import Field

from graphwalker.agents.base import AgentRun
from graphwalker.agents.preset import Preset
from graphwalker.agents.published.dialogue import (
    BudgetSpent,
    DecisionAgent,
    Dialogue,
)
from graphwalker.agents.published.oracles import (
    DecisionOracle,
    branches_with_tail,
    ends_shown,
    prefer_gold,
    query_of,
)
from graphwalker.agents.published.pathwise.tools import (
    PROMPT,
    PathOptions,
    PathTools,
    path_tools,
    shown_triple,
    triple_text,
)
from graphwalker.graphs.base import Entity
from graphwalker.oracle.oracle import shared
from graphwalker.oracle.plan import OwnOracle, Plan
from graphwalker.protocols.base import FinalAnswer
from graphwalker.protocols.forms import FormProtocol
from graphwalker.query.query import Hop, Query, parse_hop
from graphwalker.question import Question
from graphwalker.tools.base import Call, ErrorKind, Observation, ShownTriple

FORMS: Mapping[str, Mapping[str, Any]] = {"paths": {"paths": [["relation", "relation"]]}}
PLANNING = (
    "Which paths of relations lead from the entities to the answer? Write up to {beams} of them, "
    "the best first; `~` before a relation means that it is followed backwards.\nRelations:\n"
    '{relations}\nWrite {{"thought": "why", "paths": [["relation", "~relation"]]}}'
)
FINAL = (
    "These reasoning paths were retrieved:\n{paths}\nAnswer from them: every name, as shown.\n"
    'Write {{"thought": "why", "answer": ["Name"]}}'
)


class RogOptions(PathOptions):
    """`environment.options` of RoG."""

    beams: int = Field(default=3, ge=1)
    """Relation paths that are planned."""
    relations: int = Field(default=50, ge=1)
    """Relations named in the planning prompt: an untrained planner must know the words."""
    paths: int = Field(default=100, ge=1)
    """Most retrieved paths that are read."""


class RogAgent(DecisionAgent):
    """One context plans, one reads. A malformed plan may be written again while the budget
    lasts."""

    def play(self, talk: Dialogue, tools: PathTools) -> AgentRun:
        options = self.settings.read_options(RogOptions)
        seen = "no path was retrieved"
        with suppress(BudgetSpent):
            talk.begin()
            words = self.protocol.observe("\n".join(tools.relation_words(options.relations)))
            talk.say(PLANNING.format(beams=options.beams, relations=words))
            while True:
                run = partial(retrieve_paths, tools, options)
                action = yield from talk.decide(("paths",), run)
                if isinstance(action, Call):
                    seen = talk.log.turns[-1].observation
                    break
        talk.begin()
        return (yield from talk.answer(FINAL.format(paths=self.protocol.observe(seen))))


def retrieve_paths(tools: PathTools, options: RogOptions, call: Call) -> Observation:
    """The instances of the planned paths from every topic entity, at most `options.paths`."""
    plans = [plan for plan in map(hops_of, call.arguments["paths"]) if plan][: options.beams]
    found: dict[str, tuple[ShownTriple, ...]] = {}
    calls = hidden = 0
    for plan in plans:
        for topic in tools.topics():
            instances, looked = _instances(tools, topic, plan)
            calls += looked
            for one in instances:
                if len(found) >= options.paths:
                    hidden += 1
                else:
                    found[" -> ".join(map(triple_text, one))] = one
    if not found:
        text = f"Error {ErrorKind.NO_TRIPLES}: none of these paths leads anywhere"
        return Observation(text, ErrorKind.NO_TRIPLES, graph_calls=calls)
    triples = dict.fromkeys(triple for one in found.values() for triple in one)
    more = f"\n... ({hidden} more)" if hidden else ""
    return Observation(
        "\n".join(found) + more, triples=tuple(triples), hidden=hidden, graph_calls=calls
    )


def hops_of(texts: Sequence[str]) -> tuple[Hop, ...]:
    """The hops of a planned path."""
    return tuple(parse_hop(text.strip()) for text in texts if text.strip("~ "))


def query_paths(query: Query) -> list[list[str]]:
    """The relation paths of a query: each branch to its end, then on through the tail."""
    tail = [str(hop) for hop in query.tail]
    return [[*map(str, branch.hops), *tail] for branch in query.branches]


def planner_rows(questions: Sequence[Question]) -> Iterator[dict[str, Any]]:
    """What RoG's planner is trained on: a question, its entities, and its certified paths.

    Questions without a query have none and give no row.
    """
    for question in questions:
        if question.query is not None:
            yield {
                "id": question.id,
                "question": question.text,
                "entities": [topic.name for topic in question.topic_entities],
                "paths": query_paths(question.query),
            }


def _instances(
    tools: PathTools, topic: Entity, plan: Sequence[Hop]
) -> tuple[list[tuple[ShownTriple, ...]], int]:
    """The walks of a path from a topic, and how many look-ups they took."""
    walks: list[tuple[Entity, tuple[ShownTriple, ...]]] = [(topic, ())]
    looked = 0
    for hop in plan:
        longer: list[tuple[Entity, tuple[ShownTriple, ...]]] = []
        for here, walked in walks[: tools.most_ends]:
            looked += 1
            for end in tools.ends(here, hop):
                longer.append((end, (*walked, shown_triple(here, hop, end))))
        walks = longer
    return [walked for _, walked in walks], looked


class RogOracle(DecisionOracle):
    """Plans the relation paths of the query, and reads where all of them end."""

    def plan(self, key: str, question: Question) -> Plan:
        query = query_of(question)
        turn = yield "These lead to the answer.", Call("paths", {"paths": query_paths(query)})
        ends: list[list[Entity]] = []
        for branch in branches_with_tail(query):
            ends.append(_ends_of_path(turn.triples, branch.topic, branch.hops))
        found = [] if turn.error else prefer_gold(question, shared(ends))
        while True:
            yield "They end here.", FinalAnswer(tuple(dict.fromkeys(e.name for e in found)))


def _ends_of_path(
    triples: Sequence[ShownTriple], topic: Entity, hops: Sequence[Hop]
) -> list[Entity]:
    frontier = [topic]
    for hop in hops:
        found = [end for here in frontier for end in ends_shown(triples, here, hop)]
        frontier = list({end.id: end for end in found}.values())
    return frontier


ROG = Preset(
    name="rog",
    version=3,
    source="Reasoning on Graphs (Luo et al., 2024)",
    tools=lambda graph, settings, rank: path_tools(graph, settings, rank, RogOptions),
    protocol=lambda settings: FormProtocol(FORMS),
    agent=RogAgent,
    defaults={"top_relations": 50},
    prompts={
        "rog": PROMPT.format(role="You plan paths of relations, then read what they lead to.")
    },
    options=RogOptions,
    most_entries=lambda settings: 8 * settings.read_options(RogOptions).paths,
    oracle=OwnOracle(RogOracle),
    calls=tuple(FORMS),
)
