"""An agent is a generator: it yields the conversation it wants completed and returns an answer."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from graphwalker.policies.base import Completion
from graphwalker.protocols.base import Action, Calls, FinalAnswer, Malformed
from graphwalker.question import Question
from graphwalker.tools.base import Call, Observation, ToolBox
from graphwalker.trajectory import Message, Turn


@dataclass(slots=True)
class Ask:
    """What an agent yields: complete `messages`, cutting after any of `stop`.

    `forced` marks the one last completion that is asked for after the turn budget; `restart` a
    conversation that does not extend the one before it. `tools` are those that may be called, by
    JSON schema, for chat servers that are told of them. `grammar` (GBNF) is what the
    completion has to follow, `about` what it is to decide, for policies without a model.
    """

    messages: tuple[Message, ...]
    stop: tuple[str, ...] = ()
    restart: bool = False
    forced: bool = False
    tools: tuple[Mapping[str, Any], ...] = ()
    grammar: str = ""
    about: object = None


@dataclass(slots=True)
class Log:
    """The episode's record while it grows. The agent appends one `Turn` per completion."""

    turns: list[Turn] = field(default_factory=list[Turn])


class EndsWithoutAnswer(Exception):
    """Raised in an agent's generator: the episode ends here, without an answer."""


PartResult = TypeVar("PartResult")
AgentPart = Generator[Ask, Completion, PartResult]
"""Part of an episode: it yields what it wants completed."""
AgentRun = AgentPart[FinalAnswer | None]
Agent = Callable[[Question, ToolBox, Log], AgentRun]
"""Builds the generator of one episode. Named agents carry their name in the registry (presets)."""


def record_turn(
    context: tuple[Message, ...],
    completion: Completion,
    thought: str,
    action: Action,
    seen: Observation,
    milliseconds: float,
    restart: bool = False,
) -> Turn:
    """Return a completion and what came of it, as the episode's record keeps them. `restart` marks
    a context that does not extend the turn before it."""
    return Turn(
        context=context,
        completion=completion.text,
        thought=thought,
        action=_action_json(action),
        observation=seen.text,
        shown=seen.entities,
        error=str(seen.error),
        token_ids=completion.token_ids,
        logprobs=completion.logprobs,
        graph_calls=seen.graph_calls,
        milliseconds=milliseconds,
        restart=restart,
        listed=seen.listed,
        triples=seen.triples,
        hidden=seen.hidden,
        tokens=0 if completion.token_ids else completion.completion_tokens,
        cost=round(completion.cost, 9),
    )


def _action_json(action: Action) -> dict[str, Any]:
    if isinstance(action, FinalAnswer):
        answer: dict[str, Any] = {"answer": list(action.names)}
        answer |= {"kind": action.kind} if action.kind != "names" else {}
        return {**answer, "read": action.read} if action.read else answer
    if isinstance(action, Malformed):
        return {"malformed": action.reason}
    if isinstance(action, Calls):
        first, *others = map(_call_json, action.calls)
        return {**first, "further": others}
    return _call_json(action)


def _call_json(call: Call) -> dict[str, Any]:
    return {"tool": call.tool, "arguments": call.arguments}
