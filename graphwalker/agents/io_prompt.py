"""The IO-prompt baseline: a question, one completion, no graph (GraphWalker Table 2)."""

from dataclasses import dataclass

from graphwalker.agents.base import AgentRun, Ask, Log, record_turn
from graphwalker.agents.prompt import Prompt
from graphwalker.oracle.plan import OracleWorld, OwnOracle, Plan, PlannedPolicy
from graphwalker.protocols.base import ActionProtocol, FinalAnswer, Malformed
from graphwalker.question import Question
from graphwalker.tools.base import Observation, ToolBox
from graphwalker.trajectory import Message


@dataclass(frozen=True, slots=True)
class IOPromptAgent:
    """Asks once. What comes back is the answer, or the episode ends as `malformed`."""

    protocol: ActionProtocol
    prompt: Prompt

    def __call__(self, question: Question, tools: ToolBox, log: Log) -> AgentRun:
        messages = self.prompt.messages(
            {"question": question.text, "entities": "", "tools": "", "max_turns": "1"}
        )
        return single_completion(messages, self.protocol, log)


def single_completion(
    messages: tuple[Message, ...], protocol: ActionProtocol, log: Log
) -> AgentRun:
    """Asks once; anything but an answer is recorded as malformed."""
    completion = yield Ask(messages, protocol.stop)
    if completion.context_full:
        return None
    thought, action = protocol.parse(completion.text)
    error = "malformed" if isinstance(action, Malformed) else ""
    log.turns.append(
        record_turn(messages, completion, thought, action, Observation("", error), 0.0)
    )
    return action if isinstance(action, FinalAnswer) else None


class AnswersOracle(PlannedPolicy):
    """Writes the gold answers: what a model that knows the graph by heart would say."""

    name = "oracle"

    def __init__(self, world: OracleWorld) -> None:
        super().__init__(world.graph, world.protocol)

    def plan(self, key: str, question: Question) -> Plan:
        yield "", FinalAnswer(tuple(dict.fromkeys(answer.name for answer in question.answers)))


def has_answers(question: Question) -> bool:
    """Whether the question says what is right."""
    return bool(question.answers)


ORACLE = OwnOracle(AnswersOracle, has_answers, "gold answers")
