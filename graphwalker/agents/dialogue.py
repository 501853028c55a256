"""The dialogue of an agent: its contexts, its turn budget, and the record of every completion."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from graphwalker.agents.base import AgentPart, AgentRun, Ask, EndsWithoutAnswer, Log, record_turn
from graphwalker.agents.preset import AgentSettings
from graphwalker.agents.prompt import Prompt, fill_fields
from graphwalker.policies.base import Completion
from graphwalker.protocols.base import (
    Action,
    ActionProtocol,
    Calls,
    FinalAnswer,
    Malformed,
    calls_of,
)
from graphwalker.protocols.forms import ANSWER_FORM
from graphwalker.protocols.grammar import episode_facts
from graphwalker.question import Question
from graphwalker.tokens.tool_calls import block_of_tools
from graphwalker.tools.base import (
    Call,
    Observation,
    ToolBox,
    abilities_of,
    cut_observation,
    together,
)
from graphwalker.tools.namebook import topics_shown
from graphwalker.trajectory import Message

RunCall = Callable[[Call], Observation]
Decision = AgentPart[Action]
Expected = Collection[str] | None
"""The calls that are asked for, and `ANSWER`; None where every action of the protocol counts."""
ANSWER = "answer"
_FORCED_ERRORS = {
    "Call": "query_after_budget",
    "Calls": "query_after_budget",
    "Malformed": "malformed",
}


class BudgetSpent(Exception):
    """No completion is left but the forced answer."""


@dataclass(slots=True)
class Dialogue:
    """Messages so far, and the record of every completion.

    `begin` opens a context anew, `say` adds to it, `decide` has it completed. A context that does
    not extend the one before it is marked as a restart.
    """

    protocol: ActionProtocol
    prompt: Prompt
    settings: AgentSettings
    question: Question
    tools: ToolBox
    log: Log
    _past: tuple[Message, ...] = ()
    _new: tuple[Message, ...] = ()
    _restart: bool = False
    _malformed: int = 0
    _long: bool = False
    _calls: list[Action] = field(default_factory=list[Action])
    retrieved: Observation | None = None
    """What the context shows besides what was called for: the next turn records it."""

    def begin(self, **values: str) -> None:
        """Open a fresh context with the prompt; everything before it is forgotten.

        `values` fill further fields of the prompt.
        """
        usual = {
            "question": self.question.text,
            "entities": topics_shown(self.tools),
            "max_turns": str(self.settings.max_turns),
        }
        if "tools" not in values:
            schemas = abilities_of(self.protocol).schemas
            usual["tools"] = block_of_tools(schemas) if schemas else self.tools.signatures()
        self._past, self._new = (), self.prompt.messages({**usual, **values})
        self._restart = bool(self.log.turns)

    def say(self, text: str, **values: object) -> None:
        """Add to what the next completion answers. One user message, as chat templates demand.

        `values` fill the fields of the text; what could act as a tag in them is made harmless.
        """
        if values:
            shown = {name: self.protocol.observe(str(value)) for name, value in values.items()}
            text = fill_fields(text, shown)
        if self._new and self._new[-1].role == "user":
            last = self._new[-1].content
            self._new = (*self._new[:-1], Message("user", f"{last}\n{text}" if last else text))
        else:
            self._new = (*self._new, Message("user", text))

    def decide(
        self, expected: Expected = None, run: RunCall | None = None, about: object = None
    ) -> Decision:
        """Have the context completed, and the call run; an action that is not `expected` is
        malformed. What was observed stands in the context for the next one. `about` tells a
        policy without a model what is to be decided.

        Raises `BudgetSpent` where no completion is left, `EndsWithoutAnswer` where the policy's
        context is full, or too many malformed completions came in a row.
        """
        spent = len(self.log.turns) >= self.settings.max_turns
        if spent or self._long or self._repeats():
            raise BudgetSpent
        action = yield from self._complete(expected, run, about)
        self._malformed = self._malformed + 1 if isinstance(action, Malformed) else 0
        if self._malformed >= self.settings.max_malformed > 0:
            # Nobody is there to read the complaint.
            self.log.turns[-1] = replace(self.log.turns[-1], observation="")
            raise EndsWithoutAnswer
        return action

    def answer(
        self,
        expected: Expected = (ANSWER,),
        run: RunCall | None = None,
        spent: str = "",
        about: object = None,
    ) -> AgentRun:
        """Run the expected calls of one conversation until it answers. Beyond the budget, once
        `spent` is said, the answer is asked for one last time, and only that is accepted."""
        try:
            while True:
                action = yield from self.decide(expected, run, about)
                if isinstance(action, FinalAnswer):
                    return action
        except BudgetSpent:
            if spent:
                self.say(spent)
        self.say(self.protocol.force())
        last = None if expected is None else (ANSWER,)
        action = yield from self._complete(last, None, forced=True)
        return action if isinstance(action, FinalAnswer) else None

    def _complete(
        self, expected: Expected, run: RunCall | None, about: object = None, forced: bool = False
    ) -> Decision:
        context, restart = self._new, self._restart
        able = abilities_of(self.protocol)
        grammar = ""
        if self.settings.constrained and able.grammar:
            grammar = able.grammar(episode_facts(self.tools, self.log.turns), forced)
        messages = (*self._past, *context)
        completion = yield Ask(
            messages, self.protocol.stop, restart, forced, able.schemas, grammar, about
        )
        if completion.context_full:
            raise EndsWithoutAnswer
        thought, action = self.protocol.parse(completion.text)
        started = time.perf_counter()
        if expected is not None:
            # What an agent looks up besides its tools keeps to their bound here.
            limit = self.settings.max_observation_chars or 0
            action = self._refuse_unexpected(action, expected)
            seen = [cut_observation(one, limit) for one in _run(action, completion, run)]
        elif forced:
            seen = [Observation("", _FORCED_ERRORS.get(type(action).__name__, ""))]
        else:
            seen = _run(action, completion, run)
        elapsed = (time.perf_counter() - started) * 1000
        found = self._add_retrieved(together(seen))
        self.log.turns.append(
            record_turn(context, completion, thought, action, found, elapsed, restart)
        )
        self._past = (*messages, Message("assistant", completion.text))
        self._new, self._restart = (), False
        self._calls.append(action)
        tokens = completion.prompt_tokens + len(completion.token_ids or ())
        self._long = tokens >= self.settings.max_context_tokens > 0
        own = isinstance(action, Malformed)
        self.say("\n".join(self.protocol.observe(one.text, own) for one in seen))
        return action

    def _repeats(self) -> bool:
        """Return whether the last call was repeated as often as ends the episode."""
        times = self.settings.stop_repeats
        latest = self._calls[-times - 1 :]
        return len(latest) > times > 0 and all(
            isinstance(action, Call | Calls) and action == latest[0] for action in latest
        )

    def _refuse_unexpected(self, action: Action, expected: Collection[str]) -> Action:
        forms = [self.protocol.hint(one) or ANSWER_FORM for one in expected]
        if isinstance(action, Malformed):
            # The protocol does not know which form is asked for: it shows the first one.
            before, shows, _ = action.reason.partition("write one JSON object")
            return Malformed(f"{before}{shows}: {' or '.join(forms)}") if shows else action
        if isinstance(action, Calls):
            return Malformed("one decision at a time")
        name = ANSWER if isinstance(action, FinalAnswer) else action.tool
        if name in expected:
            return action
        return Malformed(f"that is not what is to be decided here: write {' or '.join(forms)}")

    def _add_retrieved(self, seen: Observation) -> Observation:
        found, self.retrieved = self.retrieved, None
        return replace(together([found, seen]), text=seen.text) if found else seen


def _run(action: Action, completion: Completion, run: RunCall | None) -> Sequence[Observation]:
    if isinstance(action, Malformed):
        cut = "your message was cut off, write less; " if completion.finish == "length" else ""
        return [Observation(f"Error malformed: {cut}{action.reason}", "malformed")]
    if isinstance(action, Call | Calls) and run:
        return [run(call) for call in calls_of(action)]
    return [Observation("")]


@dataclass(frozen=True, slots=True)
class DialogueAgent(ABC):
    """Builds the generator of an episode that is a dialogue; `agent` of a preset."""

    protocol: ActionProtocol
    prompt: Prompt
    settings: AgentSettings

    def __call__(self, question: Question, tools: ToolBox, log: Log) -> AgentRun:
        talk = Dialogue(self.protocol, self.prompt, self.settings, question, tools, log)
        return self.play(talk, tools)

    @abstractmethod
    def play(self, talk: Dialogue, tools: Any) -> AgentRun:
        """Ask for one decision after the other. `tools` are those of the preset."""
        ...
