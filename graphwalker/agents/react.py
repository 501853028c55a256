"""GraphWalker's agent: think, query, observe, until it answers or its turns are spent."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from graphwalker.agents.base import Agent, AgentRun, Ask, Log, record_turn
from graphwalker.agents.preset import AgentSettings
from graphwalker.agents.prompt import Prompt
from graphwalker.errors import UserError
from graphwalker.policies.base import Completion
from graphwalker.protocols.base import (
    Action,
    ActionProtocol,
    Calls,
    FinalAnswer,
    Malformed,
    calls_of,
)
from graphwalker.protocols.shown import shown_by
from graphwalker.question import Question
from graphwalker.tokens.tool_calls import block_of_tools
from graphwalker.tools.abilities import abilities_of
from graphwalker.tools.base import Call, Observation, ToolBox, together
from graphwalker.tools.namebook import quote
from graphwalker.trajectory import Message, Turn


@dataclass(frozen=True, slots=True)
class ReActAgent:
    """Builds the generator of an episode. Every completion counts as a turn, malformed ones too;
    after `max_turns` of them one last message asks for the answer, and only that is accepted."""

    protocol: ActionProtocol
    prompt: Prompt
    max_turns: int = 10
    max_context_tokens: int = 0
    """Ask for the answer once a conversation is this long (as the policy counts). 0: no limit."""
    max_malformed: int = 3
    """So many malformed turns in a row end the episode, no answer asked for. 0: never."""
    stop_repeats: int = 0
    """Ask for the answer once a call was repeated so many times in a row. 0: never."""
    constrained: bool = False
    """Completions name only what was shown. Raises `UserError` where the protocol cannot."""

    def __post_init__(self) -> None:
        if self.constrained and not abilities_of(self.protocol).grammar:
            raise UserError(
                f"environment.constrained: completions of the protocol {self.protocol.name} cannot "
                "be constrained; set constrained=false, or take a preset of tags or of functions"
            )

    def __call__(self, question: Question, tools: ToolBox, log: Log) -> AgentRun:
        context = self._opening(question, tools)
        messages = context
        actions: list[Action] = []
        for turns_left in range(self.max_turns - 1, -1, -1):
            completion = yield self._ask(messages, tools, log)
            if completion.context_full:
                return None
            turn, action, shown = self._turn(context, completion, tools)
            log.turns.append(turn)
            if isinstance(action, FinalAnswer):
                return action
            actions.append(action)
            if self._writes_no_action(actions):
                log.turns[-1] = replace(turn, observation="")  # nobody is there to read it
                return None
            last = turns_left == 0 or self._is_long(completion) or self._repeats(actions)
            context = (Message("user", self._reply(shown, last)),)
            messages = (*messages, Message("assistant", completion.text), *context)
            if last:
                break
        completion = yield self._ask(messages, tools, log, forced=True)
        if completion.context_full:
            return None
        return self._forced(context, completion, tools, log)

    def _opening(self, question: Question, tools: ToolBox) -> tuple[Message, ...]:
        schemas = abilities_of(self.protocol).schemas
        return self.prompt.messages(
            {
                "question": question.text,
                "entities": entities_of(tools),
                "tools": block_of_tools(schemas) if schemas else tools.signatures(),
                "max_turns": str(self.max_turns),
            }
        )

    def _ask(
        self, messages: tuple[Message, ...], tools: ToolBox, log: Log, forced: bool = False
    ) -> Ask:
        able = abilities_of(self.protocol)
        constrain = able.grammar if self.constrained else None
        grammar = constrain(shown_by(tools, log.turns)) if constrain else None
        return Ask(messages, self.protocol.stop, False, forced, able.schemas, grammar)

    def _turn(
        self, context: tuple[Message, ...], completion: Completion, tools: ToolBox
    ) -> tuple[Turn, Action, list[str]]:
        """The turn, its action, and what each of its calls shows, as the conversation holds it."""
        thought, action = self.protocol.parse(completion.text)
        started = time.perf_counter()
        if isinstance(action, Call | Calls):
            seen = [tools.call(call) for call in calls_of(action)]
        elif isinstance(action, Malformed):
            seen = [Observation(_complaint(action, completion), "malformed")]
        else:
            seen = [Observation("")]
        elapsed = (time.perf_counter() - started) * 1000
        turn = record_turn(context, completion, thought, action, together(seen), elapsed)
        own = isinstance(action, Malformed)
        return turn, action, [self.protocol.observe(one.text, own) for one in seen]

    def _forced(
        self, context: tuple[Message, ...], completion: Completion, tools: ToolBox, log: Log
    ) -> FinalAnswer | None:
        thought, action = self.protocol.parse(completion.text)
        seen = Observation("", _FORCED_ERRORS.get(type(action).__name__, ""))
        log.turns.append(record_turn(context, completion, thought, action, seen, 0.0))
        return action if isinstance(action, FinalAnswer) else None

    def _reply(self, shown: Sequence[str], last: bool) -> str:
        reply = "\n".join(shown)
        return f"{reply}\n{self.protocol.force()}" if last else reply

    def _is_long(self, completion: Completion) -> bool:
        used = completion.prompt_tokens + len(completion.token_ids or ())
        return used >= self.max_context_tokens > 0

    def _writes_no_action(self, actions: Sequence[Action]) -> bool:
        latest = actions[-self.max_malformed :]
        return len(latest) == self.max_malformed and all(
            isinstance(action, Malformed) for action in latest
        )

    def _repeats(self, actions: Sequence[Action]) -> bool:
        latest = actions[-self.stop_repeats - 1 :]
        return len(latest) > self.stop_repeats > 0 and all(
            isinstance(action, Call | Calls) and action == latest[0] for action in latest
        )


def react(protocol: ActionProtocol, prompt: Prompt, settings: AgentSettings) -> Agent:
    """The agent that thinks, calls a tool and reads, until it answers or its turns are spent."""
    return ReActAgent(
        protocol,
        prompt,
        settings.max_turns,
        settings.max_context_tokens,
        settings.max_malformed,
        settings.stop_repeats,
        settings.constrained,
    )


def entities_of(tools: ToolBox) -> str:
    """The topic entities as a prompt names them."""
    topic_text = abilities_of(tools).topic_text
    return topic_text() if topic_text else ", ".join(map(quote, tools.topic_names()))


_AFTER_BUDGET = "query_after_budget"
_FORCED_ERRORS = {"Call": _AFTER_BUDGET, "Calls": _AFTER_BUDGET, "Malformed": "malformed"}


def _complaint(action: Malformed, completion: Completion) -> str:
    cut = "your message was cut off, write less; " if completion.finish == "length" else ""
    return f"Error malformed: {cut}{action.reason}"
