"""The dialogue of an agent that asks for one decision at a time, in one context or in several."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator
from dataclasses import dataclass, field, replace
from typing import Any

from graphwalker.agents.base import (
    AgentRun,
    Ask,
    EndsWithoutAnswer,
    Log,
    complaint,
    is_long,
    record_turn,
    repeats_a_call,
)
from graphwalker.agents.preset import AgentSettings
from graphwalker.agents.prompt import Prompt
from graphwalker.policies.base import Completion
from graphwalker.protocols.base import Action, ActionProtocol, Calls, FinalAnswer, Malformed
from graphwalker.protocols.forms import ANSWER_FORM
from graphwalker.question import Question
from graphwalker.tools.base import Call, Observation, ToolBox, cut_observation
from graphwalker.tools.namebook import quote
from graphwalker.trajectory import Message

RunCall = Callable[[Call], Observation]
Decision = Generator[Ask, Completion, Action]
ANSWER = "answer"
"""Stands among the expected actions where an answer is one."""


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

    def begin(self, tools: str = "", note: str = "") -> None:
        """Open a fresh context with the prompt; everything before it is forgotten.

        `tools` fills the prompt's field of that name, `note` stands behind its last line.
        """
        values = {
            "question": self.question.text,
            "entities": ", ".join(map(quote, self.tools.topic_names())),
            "tools": tools,
            "max_turns": str(self.settings.max_turns),
        }
        self._past, self._new = (), self.prompt.messages(values)
        if note:
            last = self._new[-1]
            self._new = (*self._new[:-1], Message(last.role, f"{last.content}\n{note}"))
        self._restart = bool(self.log.turns)

    def say(self, text: str) -> None:
        """Add to what the next completion answers. One user message, as chat templates demand."""
        if self._new and self._new[-1].role == "user":
            last = self._new[-1].content
            self._new = (*self._new[:-1], Message("user", f"{last}\n{text}" if last else text))
        else:
            self._new = (*self._new, Message("user", text))

    def decide(self, expected: Collection[str], run: RunCall | None = None) -> Decision:
        """Have the context completed: one of the `expected` calls (or `ANSWER`), run by `run`; any
        other action is malformed. What was observed stands in the context for the next one.

        Raises `BudgetSpent` where no completion is left, `EndsWithoutAnswer` where the policy's
        context is full, or too many malformed completions came in a row.
        """
        spent = len(self.log.turns) >= self.settings.max_turns
        if spent or self._long or repeats_a_call(self._calls, self.settings.stop_repeats):
            raise BudgetSpent
        action = yield from self._complete(expected, run, forced=False)
        self._malformed = self._malformed + 1 if isinstance(action, Malformed) else 0
        if self._malformed >= self.settings.max_malformed > 0:
            # Nobody is there to read the complaint.
            self.log.turns[-1] = replace(self.log.turns[-1], observation="")
            raise EndsWithoutAnswer
        return action

    def decide_until_answer(self, forms: Collection[str], run: RunCall, spent: str) -> AgentRun:
        """Run the calls of one conversation until it answers; `spent` is said after the budget."""
        try:
            while True:
                action = yield from self.decide((*forms, ANSWER), run)
                if isinstance(action, FinalAnswer):
                    return action
        except BudgetSpent:
            return (yield from self.answer(spent))

    def answer(self, text: str) -> AgentRun:
        """The answer: within the budget like any decision, malformed ones tried again; beyond it
        asked for once, as the forced answer."""
        self.say(text)
        try:
            while True:
                action = yield from self.decide((ANSWER,))
                if isinstance(action, FinalAnswer):
                    return action
        except BudgetSpent:
            pass
        self.say(self.protocol.force())
        action = yield from self._complete((ANSWER,), None, forced=True)
        return action if isinstance(action, FinalAnswer) else None

    def _complete(self, expected: Collection[str], run: RunCall | None, forced: bool) -> Decision:
        context, restart = self._new, self._restart
        completion = yield Ask(
            (*self._past, *context), self.protocol.stop, restart=restart, forced=forced
        )
        if completion.context_full:
            raise EndsWithoutAnswer
        thought, action = self.protocol.parse(completion.text)
        action = self._refuse_unexpected(action, expected)
        started = time.perf_counter()
        limit = self.settings.max_observation_chars or 0
        observed = cut_observation(_observe(action, completion, run), limit)
        seen = self._add_retrieved(observed)
        elapsed = (time.perf_counter() - started) * 1000
        self.log.turns.append(
            record_turn(context, completion, thought, action, seen, elapsed, restart)
        )
        self._past = (*self._past, *context, Message("assistant", completion.text))
        self._new, self._restart = (), False
        self._calls.append(action)
        self._long = is_long(completion, self.settings.max_context_tokens)
        if seen.text:
            self.say(self.protocol.observe(seen.text, isinstance(action, Malformed)))
        return action

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
        if found is None:
            return seen
        return replace(
            seen,
            shown=(*found.shown, *seen.shown),
            triples=(*found.triples, *seen.triples),
            hidden=found.hidden + seen.hidden,
            graph_calls=found.graph_calls + seen.graph_calls,
        )


def _observe(action: Action, completion: Completion, run: RunCall | None) -> Observation:
    if isinstance(action, Malformed):
        return complaint(action, completion)
    return run(action) if isinstance(action, Call) and run else Observation("")


@dataclass(frozen=True, slots=True)
class DecisionAgent(ABC):
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
