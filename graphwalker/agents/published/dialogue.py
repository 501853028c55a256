"""The dialogue of an agent that asks for one decision at a time, in one context or in several."""

import time
from collections.abc import Callable, Collection, Generator
from dataclasses import dataclass, field, replace

from graphwalker.agents.base import Ask, Log, record_turn
from graphwalker.agents.preset import AgentSettings
from graphwalker.policies.base import Completion
from graphwalker.protocols.base import Action, ActionProtocol, Calls, FinalAnswer, Malformed
from graphwalker.protocols.forms import ANSWER_FORM
from graphwalker.tools.base import Call, Observation
from graphwalker.trajectory import Message

RunCall = Callable[[Call], Observation]
Decision = Generator[Ask, Completion, Action]
ANSWER = "answer"
"""Stands among the expected actions where an answer is one."""


class BudgetSpent(Exception):
    """No completion is left but the forced answer."""


class WritesNoAction(Exception):
    """The policy's context is full, or too many malformed completions came in a row: the episode
    ends without an answer."""


@dataclass(frozen=True, slots=True)
class EpisodeBudget:
    """The limits of an episode, as `AgentSettings` has them."""

    max_turns: int = 10
    max_context_tokens: int = 0
    max_malformed: int = 3
    stop_repeats: int = 0

    @classmethod
    def of(cls, settings: AgentSettings) -> "EpisodeBudget":
        return cls(
            settings.max_turns,
            settings.max_context_tokens,
            settings.max_malformed,
            settings.stop_repeats,
        )


@dataclass(slots=True)
class Dialogue:
    """Messages so far, and the record of every completion.

    `begin` opens a context anew, `say` adds to it, `decide` has it completed. A context that does
    not extend the one before it is marked as a restart.
    """

    protocol: ActionProtocol
    budget: EpisodeBudget
    log: Log
    _past: tuple[Message, ...] = ()
    _new: tuple[Message, ...] = ()
    _restart: bool = False
    _malformed: int = 0
    _long: bool = False
    _calls: list[Action] = field(default_factory=list[Action])
    retrieved: Observation | None = None
    """What the context shows besides what was called for: the next turn records it."""

    def begin(self, *messages: Message) -> None:
        """A fresh context of these messages; everything before it is forgotten."""
        self._past, self._new = (), messages
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

        Raises `BudgetSpent` where no completion is left, `WritesNoAction` at the policy's end.
        """
        if len(self.log.turns) >= self.budget.max_turns or self._long or self._repeats():
            raise BudgetSpent
        action = yield from self._completed(expected, run, forced=False)
        self._malformed = self._malformed + 1 if isinstance(action, Malformed) else 0
        if self._malformed >= self.budget.max_malformed > 0:
            # Nobody is there to read the complaint.
            self.log.turns[-1] = replace(self.log.turns[-1], observation="")
            raise WritesNoAction
        return action

    def answer(self, text: str) -> Generator[Ask, Completion, FinalAnswer | None]:
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
        action = yield from self._completed((ANSWER,), None, forced=True)
        return action if isinstance(action, FinalAnswer) else None

    def _completed(self, expected: Collection[str], run: RunCall | None, forced: bool) -> Decision:
        context, restart = self._new, self._restart
        completion = yield Ask(
            (*self._past, *context), self.protocol.stop, restart=restart, forced=forced
        )
        if completion.context_full:
            raise WritesNoAction
        thought, action = self.protocol.parse(completion.text)
        action = self._expected(action, expected)
        started = time.perf_counter()
        seen = self._with_retrieved(_seen(action, completion, run))
        elapsed = (time.perf_counter() - started) * 1000
        self.log.turns.append(
            record_turn(context, completion, thought, action, seen, elapsed, restart)
        )
        self._past = (*self._past, *context, Message("assistant", completion.text))
        self._new, self._restart = (), False
        self._calls.append(action)
        used = completion.prompt_tokens + len(completion.token_ids or ())
        self._long = used >= self.budget.max_context_tokens > 0
        if seen.text:
            self.say(self.protocol.observe(seen.text, isinstance(action, Malformed)))
        return action

    def _expected(self, action: Action, expected: Collection[str]) -> Action:
        if isinstance(action, Malformed):
            return action
        if isinstance(action, Calls):
            return Malformed("one decision at a time")
        name = ANSWER if isinstance(action, FinalAnswer) else action.tool
        if name in expected:
            return action
        forms = [self.protocol.hint(one) or ANSWER_FORM for one in expected]
        return Malformed(f"that is not what is to be decided here: write {' or '.join(forms)}")

    def _with_retrieved(self, seen: Observation) -> Observation:
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

    def _repeats(self) -> bool:
        latest = self._calls[-self.budget.stop_repeats - 1 :]
        return len(latest) > self.budget.stop_repeats > 0 and all(
            isinstance(action, Call) and action == latest[0] for action in latest
        )


def _seen(action: Action, completion: Completion, run: RunCall | None) -> Observation:
    if isinstance(action, Malformed):
        cut = "your message was cut off, write less; " if completion.finish == "length" else ""
        return Observation(f"Error malformed: {cut}{action.reason}", "malformed")
    return run(action) if isinstance(action, Call) and run else Observation("")
