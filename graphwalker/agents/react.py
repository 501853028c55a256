"""The agents of one conversation: think, query, observe until it answers; or one completion."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from graphwalker.agents.base import (
    AgentRun,
    Ask,
    Log,
    complaint,
    is_long,
    record_turn,
    repeats_a_call,
)
from graphwalker.agents.preset import AgentSettings
from graphwalker.agents.prompt import Prompt
from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph
from graphwalker.oracle.plan import OracleWorld, OwnOracle, Plan, PlannedPolicy
from graphwalker.policies.base import Completion
from graphwalker.protocols.base import (
    Action,
    ActionProtocol,
    Calls,
    FinalAnswer,
    Malformed,
    calls_of,
)
from graphwalker.protocols.grammar import episode_facts
from graphwalker.query.query import Query, execute
from graphwalker.question import Question
from graphwalker.tokens.tool_calls import block_of_tools
from graphwalker.tools.base import Call, Observation, ToolBox, abilities_of, together
from graphwalker.tools.namebook import quote
from graphwalker.trajectory import Message, Turn

_FORCED_ERRORS = {
    "Call": "query_after_budget",
    "Calls": "query_after_budget",
    "Malformed": "malformed",
}


@dataclass(frozen=True, slots=True)
class ReActAgent:
    """Builds the generator of an episode. Every completion counts as a turn, malformed ones too;
    after `max_turns` of them one last message asks for the answer, and only that is accepted.

    Raises `UserError` where completions are to be constrained and the protocol cannot.
    """

    protocol: ActionProtocol
    prompt: Prompt
    settings: AgentSettings

    def __post_init__(self) -> None:
        if self.constrained and not abilities_of(self.protocol).grammar:
            raise UserError(
                f"environment.constrained: completions of the protocol {self.protocol.name} cannot "
                "be constrained; set constrained=false, or take a preset of tags or of functions"
            )

    @property
    def constrained(self) -> bool:
        """Whether completions name only what was shown."""
        return self.settings.constrained

    def __call__(self, question: Question, tools: ToolBox, log: Log) -> AgentRun:
        context = self._opening(question, tools)
        messages = context
        actions: list[Action] = []
        settings = self.settings
        for turns_left in range(settings.max_turns - 1, -1, -1):
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
            long = is_long(completion, settings.max_context_tokens)
            last = turns_left == 0 or long or repeats_a_call(actions, settings.stop_repeats)
            context = (Message("user", self._reply(shown, last)),)
            messages = (*messages, Message("assistant", completion.text), *context)
            if last:
                break
        completion = yield self._ask(messages, tools, log, forced=True)
        if completion.context_full:
            return None
        return self._read_forced(context, completion, log)

    def _opening(self, question: Question, tools: ToolBox) -> tuple[Message, ...]:
        schemas = abilities_of(self.protocol).schemas
        topic_text = abilities_of(tools).topic_text
        values = {
            "question": question.text,
            "entities": topic_text() if topic_text else ", ".join(map(quote, tools.topic_names())),
            "tools": block_of_tools(schemas) if schemas else tools.signatures(),
            "max_turns": str(self.settings.max_turns),
        }
        return self.prompt.messages({**values, **self._more_values(tools)})

    def _more_values(self, tools: ToolBox) -> Mapping[str, str]:
        """Further fields of the prompt, or other values of the usual ones."""
        return {}

    def _ask(
        self, messages: tuple[Message, ...], tools: ToolBox, log: Log, forced: bool = False
    ) -> Ask:
        able = abilities_of(self.protocol)
        grammar = ""
        if self.constrained and able.grammar:
            grammar = able.grammar(episode_facts(tools, log.turns), forced)
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
            seen = [complaint(action, completion)]
        else:
            seen = [Observation("")]
        elapsed = (time.perf_counter() - started) * 1000
        turn = record_turn(context, completion, thought, action, together(seen), elapsed)
        own = isinstance(action, Malformed)
        return turn, action, [self.protocol.observe(one.text, own) for one in seen]

    def _read_forced(
        self, context: tuple[Message, ...], completion: Completion, log: Log
    ) -> FinalAnswer | None:
        thought, action = self.protocol.parse(completion.text)
        seen = Observation("", _FORCED_ERRORS.get(type(action).__name__, ""))
        log.turns.append(record_turn(context, completion, thought, action, seen, 0.0))
        return action if isinstance(action, FinalAnswer) else None

    def _reply(self, shown: Sequence[str], last: bool) -> str:
        reply = "\n".join(shown)
        return f"{reply}\n{self.protocol.force()}" if last else reply

    def _writes_no_action(self, actions: Sequence[Action]) -> bool:
        most = self.settings.max_malformed
        latest = actions[-most:]
        return len(latest) == most and all(isinstance(action, Malformed) for action in latest)


react = ReActAgent
"""The agent of a preset that thinks, calls a tool and reads, until it answers."""


@dataclass(frozen=True, slots=True)
class IOPromptAgent:
    """Asks once, without a graph (GraphWalker Table 2). What comes back is the answer, or the
    episode ends as `malformed`."""

    protocol: ActionProtocol
    prompt: Prompt
    settings: AgentSettings

    def __call__(self, question: Question, tools: ToolBox, log: Log) -> AgentRun:
        values = {"question": question.text, "entities": "", "tools": "", "max_turns": "1"}
        return single_completion(self.prompt.messages(values), self.protocol, log)


def single_completion(
    messages: tuple[Message, ...], protocol: ActionProtocol, log: Log
) -> AgentRun:
    """Ask once; anything but an answer is recorded as malformed."""
    completion = yield Ask(messages, protocol.stop)
    if completion.context_full:
        return None
    thought, action = protocol.parse(completion.text)
    seen = Observation("", "malformed" if isinstance(action, Malformed) else "")
    log.turns.append(record_turn(messages, completion, thought, action, seen, 0.0))
    return action if isinstance(action, FinalAnswer) else None


class AnswersOracle(PlannedPolicy):
    """Writes the gold answers: what a model that knows the graph by heart would say."""

    name = "oracle"

    def __init__(self, world: OracleWorld) -> None:
        super().__init__(world.graph, world.protocol)

    def plan(self, key: str, question: Question) -> Plan:
        yield "", FinalAnswer(tuple(dict.fromkeys(answer.name for answer in question.answers)))


class ReasoningOracle(AnswersOracle):
    """Reasons along the walk of the query first: what few-shot chain of thought shows a model."""

    def plan(self, key: str, question: Question) -> Plan:
        for _, answer in super().plan(key, question):
            yield walk_in_words(self.graph, question.query) if question.query else "", answer


def walk_in_words(graph: KnowledgeGraph, query: Query) -> str:
    """What each hop of a query finds, a sentence for each."""
    run = execute(graph, query)
    ways = [
        *zip((branch.hops for branch in query.branches), run.frontiers, strict=True),
        (query.tail, run.tail_frontiers),
    ]
    return " ".join(
        f"{_some(start)}: {hop.relation.rpartition('.')[2].replace('_', ' ')}"
        f"{' of' if hop.direction is Direction.IN else ''}: {_some(found)}."
        for hops, frontiers in ways
        for hop, (start, found) in zip(hops, pairwise(frontiers), strict=False)
    )


def _some(entities: Sequence[Entity]) -> str:
    names = [entity.name or entity.id for entity in entities[:3]]
    return ", ".join([*names, *(["..."] if len(entities) > 3 else [])])


def has_answers(question: Question) -> bool:
    """Whether the question says what is right."""
    return bool(question.answers)


ANSWERS_ORACLE = OwnOracle(AnswersOracle, has_answers, "gold answers")
REASONING_ORACLE = OwnOracle(ReasoningOracle, has_answers, "gold answers")
