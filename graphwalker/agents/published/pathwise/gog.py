"""Generate-on-Graph (Xu et al., 2024): search, and generate what an incomplete graph lacks."""

from collections.abc import Mapping
from dataclasses import dataclass
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
from graphwalker.agents.published.pathwise.tools import PathTools
from graphwalker.protocols.base import ActionProtocol, FinalAnswer
from graphwalker.question import Question
from graphwalker.tools.base import Call, ErrorKind, Observation, ToolBox
from graphwalker.tools.namebook import quote

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


@dataclass(frozen=True, slots=True)
class GogAgent:
    """Builds the generator of an episode: one conversation. Generated triples stand in it as
    generated: they are the model's, and what is answered from them counts as ungrounded."""

    protocol: ActionProtocol
    prompt: Prompt
    budget: EpisodeBudget
    relations: int = 10

    def __call__(self, question: Question, tools: ToolBox, log: Log) -> AgentRun:
        if not isinstance(tools, PathTools):
            raise TypeError("GoG needs its own tools")
        talk = Dialogue(self.protocol, self.budget, log)
        talk.begin(
            *self.prompt.messages(
                {
                    "question": question.text,
                    "entities": ", ".join(map(quote, tools.topic_names())),
                    "tools": ACTIONS,
                    "max_turns": str(self.budget.max_turns),
                }
            )
        )
        expected = (*FORMS, ANSWER)
        try:
            while True:
                action = yield from talk.decide(expected, lambda call: self._run(tools, call))
                if isinstance(action, FinalAnswer):
                    return action
        except BudgetSpent:
            return (yield from talk.answer("Nothing more can be searched."))
        except WritesNoAction:
            return None

    def _run(self, tools: PathTools, call: Call) -> Observation:
        if call.tool == "generate":
            return _generated(call.arguments["generate"], tools)
        entity = tools.find(call.arguments["search"])
        if entity is None:
            name = quote(call.arguments["search"][:200])
            kind = ErrorKind.UNKNOWN_ENTITY
            return Observation(f"Error {kind}: no entity {name}", kind, graph_calls=1)
        hops = tools.hops(entity)
        seen = tools.triples(entity, hops[: self.relations])
        if not seen.triples:
            kind = ErrorKind.NO_TRIPLES
            return Observation(f"Error {kind}: nothing is known of {quote(entity.name)}", kind)
        return seen


def _generated(rows: list[list[str]], tools: PathTools) -> Observation:
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
