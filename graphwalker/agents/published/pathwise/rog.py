"""Reasoning on Graphs (Luo et al., 2024): relation paths are planned, retrieved, then read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphwalker.agents.base import AgentRun, Log
from graphwalker.agents.prompt import Prompt
from graphwalker.agents.published.dialogue import (
    BudgetSpent,
    Dialogue,
    EpisodeBudget,
    WritesNoAction,
)
from graphwalker.agents.published.pathwise.tools import PathTools, shown_triple, triple_text
from graphwalker.graphs.base import Entity
from graphwalker.protocols.base import ActionProtocol
from graphwalker.query.query import Hop, Query, parse_hop
from graphwalker.question import Question
from graphwalker.tools.base import Call, ErrorKind, Observation, ShownTriple, ToolBox
from graphwalker.tools.namebook import quote
from graphwalker.trajectory import Message

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


@dataclass(frozen=True, slots=True)
class RogAgent:
    """Builds the generator of an episode: one context plans, one reads. A malformed plan may be
    written again while the budget lasts."""

    protocol: ActionProtocol
    prompt: Prompt
    budget: EpisodeBudget
    beams: int = 3
    relations: int = 50
    most_paths: int = 100

    def __call__(self, question: Question, tools: ToolBox, log: Log) -> AgentRun:
        if not isinstance(tools, PathTools):
            raise TypeError("RoG needs its own tools")
        talk = Dialogue(self.protocol, self.budget, log)
        seen = Observation("no path was retrieved")
        try:
            talk.begin(*self._opening(question, tools))
            words = self.protocol.observe("\n".join(tools.relation_words(self.relations)))
            talk.say(PLANNING.format(beams=self.beams, relations=words))
            while True:
                action = yield from talk.decide(("paths",), lambda call: self._run(tools, call))
                if isinstance(action, Call):
                    seen = Observation(talk.log.turns[-1].observation)
                    break
        except BudgetSpent:
            pass
        except WritesNoAction:
            return None
        talk.begin(*self._opening(question, tools))
        try:
            return (yield from talk.answer(FINAL.format(paths=self.protocol.observe(seen.text))))
        except WritesNoAction:
            return None

    def _run(self, tools: PathTools, call: Call) -> Observation:
        """The instances of the planned paths from every topic entity, at most `most_paths`."""
        plans = [plan for plan in map(hops_of, call.arguments["paths"]) if plan][: self.beams]
        found: dict[str, tuple[ShownTriple, ...]] = {}
        calls = hidden = 0
        for plan in plans:
            for topic in tools.topics():
                instances, looked = _instances(tools, topic, plan)
                calls += looked
                for one in instances:
                    if len(found) >= self.most_paths:
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

    def _opening(self, question: Question, tools: ToolBox) -> tuple[Message, ...]:
        return self.prompt.messages(
            {
                "question": question.text,
                "entities": ", ".join(map(quote, tools.topic_names())),
                "tools": "",
                "max_turns": str(self.budget.max_turns),
            }
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
