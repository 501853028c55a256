"""ARK-V1 (Klein and Ohnemus): anchor, relation, triples, reasoning; then a summary, and anew."""

from collections.abc import Generator
from dataclasses import dataclass
from enum import Enum

from graphwalker.agents.base import AgentRun, Ask, Log
from graphwalker.agents.prompt import Prompt
from graphwalker.agents.published.ark.prompts import ANCHOR, FINAL, REASON, RELATION, SUMMARY
from graphwalker.agents.published.ark.tools import ArkTools
from graphwalker.agents.published.dialogue import (
    BudgetSpent,
    Dialogue,
    EpisodeBudget,
    WritesNoAction,
)
from graphwalker.policies.base import Completion
from graphwalker.protocols.base import ActionProtocol
from graphwalker.question import Question
from graphwalker.tools.base import Call, ToolBox
from graphwalker.tools.namebook import quote
from graphwalker.trajectory import Message


class Route(Enum):
    """Where a sub-step leads besides the next one."""

    ANSWER = "state 11"
    ANCHOR = "state 4"
    DROP = "the step is dropped"


@dataclass(frozen=True, slots=True)
class ReasonStep:
    """A reasoning step that counts: its evidence and implication, and whether to continue."""

    text: str
    more: bool


SubStep = Generator[Ask, Completion, Call | Route]


@dataclass(frozen=True, slots=True)
class ArkAgent:
    """Builds the generator of an episode. `attempts` is C_max, `steps` K_max; with `code_counting`
    an attempt that reaches C_max leads to the answer even if it is valid (Eqs. 3, 7, 10 as
    written, and the released code): of five attempts four are of use."""

    protocol: ActionProtocol
    prompt: Prompt
    budget: EpisodeBudget
    attempts: int = 5
    steps: int = 8
    code_counting: bool = False

    def __call__(self, question: Question, tools: ToolBox, log: Log) -> AgentRun:
        if not isinstance(tools, ArkTools):
            raise TypeError("ARK-V1 needs its own tools")
        talk = Dialogue(self.protocol, self.budget, log)
        notes: list[str] = []
        try:
            yield from self._explore(question, tools, talk, notes)
        except BudgetSpent:
            pass
        except WritesNoAction:
            return None
        talk.begin(*self._opening(question, tools, notes))
        try:
            return (yield from talk.answer(FINAL))
        except WritesNoAction:
            return None

    def _explore(
        self, question: Question, tools: ArkTools, talk: Dialogue, notes: list[str]
    ) -> Generator[Ask, Completion, None]:
        """States 2 to 10. `notes` holds the summary so far, or the steps that none covers yet."""
        for _ in range(self.steps):
            talk.begin(*self._opening(question, tools, notes))
            step = yield from self._step(tools, talk)
            if step is Route.ANSWER:
                return
            if isinstance(step, ReasonStep):
                notes.append(step.text)
                talk.say(SUMMARY)
                call = yield from talk.decide(("summary",), tools.call)
                if isinstance(call, Call) and call.arguments["summary"].strip():
                    notes[:] = [call.arguments["summary"].strip()]
                if not step.more:
                    return

    def _step(
        self, tools: ArkTools, talk: Dialogue
    ) -> Generator[Ask, Completion, ReasonStep | Route]:
        relation: Call | Route = Route.ANCHOR
        while relation is Route.ANCHOR:
            anchor = yield from self._attempts(talk, "anchor", ANCHOR, tools)
            if isinstance(anchor, Route):
                return anchor
            relation = yield from self._attempts(talk, "relation", RELATION, tools)
        if isinstance(relation, Route):
            return relation
        reason = yield from self._attempts(talk, "reason", REASON, tools)
        if isinstance(reason, Route):
            return reason
        keys, values = reason.arguments["triples"], reason.arguments
        if not keys or values["reset"]:
            return Route.DROP
        return ReasonStep(
            f"{tools.evidence(keys)}: {values['implication'].strip()}", values["continue"]
        )

    def _attempts(self, talk: Dialogue, form: str, prompt: str, tools: ArkTools) -> SubStep:
        """One sub-step: up to C_max attempts at a valid value (the counter starts anew)."""
        talk.say(prompt)
        for attempt in range(1, self.attempts + 1):
            call = yield from talk.decide((form,), tools.call)
            if self.code_counting and attempt >= self.attempts:
                break
            if isinstance(call, Call) and not talk.log.turns[-1].error:
                no_relation = form == "relation" and not call.arguments["relation"]
                return Route.ANCHOR if no_relation else call
        return Route.ANSWER

    def _opening(
        self, question: Question, tools: ArkTools, notes: list[str]
    ) -> tuple[Message, ...]:
        messages = self.prompt.messages(
            {
                "question": question.text,
                "entities": ", ".join(map(quote, tools.topic_names())),
                "tools": tools.signatures(),
                "max_turns": str(self.budget.max_turns),
            }
        )
        if not notes:
            return messages
        known, last = self.protocol.observe("\n".join(notes)), messages[-1]
        return (*messages[:-1], Message(last.role, f"{last.content}\nKnown so far: {known}"))
