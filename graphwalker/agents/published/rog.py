"""Reasoning on Graphs (Luo et al., 2024): relation paths are planned, retrieved, then read."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from pydantic import Field

from graphwalker.agents.base import AgentRun
from graphwalker.agents.dialogue import BudgetSpent, Dialogue, DialogueAgent
from graphwalker.agents.preset import Preset
from graphwalker.agents.prompt import read_texts
from graphwalker.agents.published.decisions import (
    PathOptions,
    PathTools,
    more_lines,
    prompt_for,
    shown_triple,
    tools_of,
    triple_text,
)
from graphwalker.graphs.base import Entity
from graphwalker.oracle.gold_walk import DecisionOracle, branches_with_tail, query_of
from graphwalker.oracle.plan import Move, OwnOracle, View
from graphwalker.oracle.walk import prefer_gold, shared
from graphwalker.policies.base import Request
from graphwalker.protocols.base import FinalAnswer, Malformed
from graphwalker.protocols.forms import FormProtocol
from graphwalker.query.query import Hop, Query, parse_hop
from graphwalker.tools.base import Call, ErrorKind, Observation, ShownTriple, mistake

TEXTS = read_texts(__file__)
FORMS: Mapping[str, Mapping[str, Any]] = {"paths": {"paths": [["relation", "relation"]]}}


class RogOptions(PathOptions):
    """`environment.options` of RoG."""

    beams: int = Field(default=3, ge=1)
    """Relation paths that are planned."""
    relations: int = Field(default=50, ge=1)
    """Relations named in the planning prompt: an untrained planner must know the words."""
    paths: int = Field(default=100, ge=1)
    """Most retrieved paths that are read."""


class RogAgent(DialogueAgent):
    """One context plans, one reads. A malformed plan may be written again while the budget
    lasts."""

    def play(self, talk: Dialogue, tools: PathTools) -> AgentRun:
        options = self.settings.read_options(RogOptions)
        seen = "no path was retrieved"
        with suppress(BudgetSpent):
            talk.begin()
            words = "\n".join(tools.relation_words(options.relations))
            talk.say(TEXTS["plan"], beams=options.beams, relations=words)
            run = partial(retrieve_paths, tools, options)
            while isinstance((yield from talk.decide(("paths",), run)), Malformed):
                pass
            seen = talk.log.turns[-1].observation
        talk.begin()
        talk.say(TEXTS["final"], paths=seen)
        return (yield from talk.answer())


def retrieve_paths(tools: PathTools, options: RogOptions, call: Call) -> Observation:
    """Get the instances of the planned paths from every topic entity, at most `options.paths`."""
    texts = [
        [text.strip() for text in path if text.strip("~ ")] for path in call.arguments["paths"]
    ]
    plans = [[*map(parse_hop, path)] for path in texts if path][: options.beams]
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
        return mistake(ErrorKind.NO_TRIPLES, "none of these paths leads anywhere", calls)
    triples = dict.fromkeys(triple for one in found.values() for triple in one)
    return Observation(
        "\n".join(found) + more_lines(hidden),
        triples=tuple(triples),
        hidden=hidden,
        graph_calls=calls,
    )


def query_paths(query: Query) -> list[list[str]]:
    """Return the relation paths of a query: each branch to its end, then on through the tail."""
    return [[*map(str, branch.hops)] for branch in branches_with_tail(query)]


def _instances(
    tools: PathTools, topic: Entity, plan: Sequence[Hop]
) -> tuple[list[tuple[ShownTriple, ...]], int]:
    """Return the walks of a path from a topic, and how many look-ups they took."""
    walks: list[tuple[Entity, tuple[ShownTriple, ...]]] = [(topic, ())]
    looked = 0
    for hop in plan:
        some, walks = walks[: tools.most_ends], []
        looked += len(some)
        for here, walked in some:
            ends = tools.ends(here, hop)
            walks += [(end, (*walked, shown_triple(here, hop, end))) for end in ends]
    return [walked for _, walked in walks], looked


class RogOracle(DecisionOracle):
    """Plans the relation paths of the query, and reads where all of them end."""

    def decide(self, request: Request) -> Move:
        query, view = query_of(request.question), View(self.graph, request.question.topic_entities)
        if not request.turns:
            return "These lead to the answer.", Call("paths", {"paths": query_paths(query)})
        turn = request.turns[0]
        view.see(turn)
        ends: list[list[Entity]] = []
        for branch in branches_with_tail(query):
            frontier = [branch.topic]
            for hop in branch.hops:
                found = [e for here in frontier for e in view.triple_ends(turn, here, hop)]
                frontier = list({end.id: end for end in found}.values())
            ends.append(frontier)
        best = prefer_gold(request.question, [] if turn.error else shared(ends))
        return "They end here.", FinalAnswer(tuple(dict.fromkeys(map(view.name, best))))


ROG = Preset(
    name="rog",
    version=4,
    source="Reasoning on Graphs (Luo et al., 2024)",
    tools=tools_of(PathTools, RogOptions),
    protocol=lambda settings: FormProtocol(FORMS),
    agent=RogAgent,
    defaults={"top_relations": 50},
    prompts={"rog": prompt_for("You plan paths of relations, then read what they lead to.")},
    options=RogOptions,
    most_entries=lambda settings: 8 * settings.read_options(RogOptions).paths,
    oracle=OwnOracle(RogOracle),
    calls=tuple(FORMS),
)
