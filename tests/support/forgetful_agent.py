"""An agent that reads, then begins its conversation anew with what it remembers, and answers."""

from dataclasses import dataclass, replace

from graphwalker.agents.base import AgentRun, Ask, Log, record_turn
from graphwalker.agents.presets import GRAPHWALKER
from graphwalker.protocols.base import ActionProtocol, FinalAnswer
from graphwalker.question import Question
from graphwalker.tools.base import Call, Observation, ToolBox
from graphwalker.trajectory import Message


@dataclass(frozen=True, slots=True)
class ForgetfulAgent:
    """Two turns in each of `contexts` contexts, unless it answers before."""

    protocol: ActionProtocol
    contexts: int = 2

    def __call__(self, question: Question, tools: ToolBox, log: Log) -> AgentRun:
        for number in range(self.contexts):
            asked = (Message("user", f"{question.text} Notes so far: {number}."),)
            messages = asked
            for turn in range(2):
                restart = number > 0 and turn == 0
                completion = yield Ask(messages, self.protocol.stop, restart=restart)
                if completion.context_full:
                    return None
                thought, action = self.protocol.parse(completion.text)
                seen = tools.call(action) if isinstance(action, Call) else Observation("Go on.")
                log.turns.append(
                    record_turn(asked, completion, thought, action, seen, 0.0, restart)
                )
                if isinstance(action, FinalAnswer) and number == self.contexts - 1:
                    return action
                asked = (Message("user", self.protocol.observe(seen.text)),)
                messages = (*messages, Message("assistant", completion.text), *asked)
        return None


FORGETFUL = replace(
    GRAPHWALKER,
    name="support.forgetful_agent:FORGETFUL",
    agent=lambda protocol, prompt, settings: ForgetfulAgent(protocol),
    speaker=None,
)
"""As a preset, for runs in processes of their own."""
