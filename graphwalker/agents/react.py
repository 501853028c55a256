"""The agents of one conversation: think, query, observe until it answers; or one completion."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from graphwalker.agents.base import AgentRun
from graphwalker.agents.dialogue import Dialogue, DialogueAgent
from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph
from graphwalker.oracle.plan import Move, OwnOracle, PresetOracle
from graphwalker.policies.base import Request
from graphwalker.protocols.base import FinalAnswer
from graphwalker.query.query import Query, execute
from graphwalker.question import Question
from graphwalker.tools.base import ToolBox, abilities_of


@dataclass(frozen=True, slots=True)
class ReActAgent(DialogueAgent):
    """Builds the generator of an episode. Every completion counts as a turn, malformed ones too;
    after `max_turns` of them one last message asks for the answer, and only that is accepted.

    Raises `UserError` where completions are to be constrained and the protocol cannot.
    """

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

    def play(self, talk: Dialogue, tools: ToolBox) -> AgentRun:
        talk.begin(**self._more_values(tools))
        return talk.answer(None, tools.call)

    def _more_values(self, tools: ToolBox) -> Mapping[str, str]:
        """Further fields of the prompt, or other values of the usual ones."""
        return {}


react = ReActAgent
"""The agent of a preset that thinks, calls a tool and reads, until it answers."""


class SingleCompletionAgent(DialogueAgent):
    """Asks once. What comes back is the answer, or the episode ends as `malformed`."""

    def play(self, talk: Dialogue, tools: ToolBox) -> AgentRun:
        talk.settings = self.settings.model_copy(update={"max_malformed": 1})
        empty = {"entities": "", "tools": "", "max_turns": "1"}
        talk.begin(**{**empty, **self.more_values(talk.question, tools)})
        action = yield from talk.decide()
        return action if isinstance(action, FinalAnswer) else None

    def more_values(self, question: Question, tools: ToolBox) -> Mapping[str, str]:
        """Further fields of the prompt."""
        return {}


class IOPromptAgent(SingleCompletionAgent):
    """Asks without a graph (GraphWalker Table 2)."""


class AnswersOracle(PresetOracle):
    """Writes the gold answers: what a model that knows the graph by heart would say."""

    def move(self, request: Request) -> Move:
        return "", FinalAnswer(tuple(dict.fromkeys(a.name for a in request.question.answers)))


class ReasoningOracle(AnswersOracle):
    """Reasons along the walk of the query first: what few-shot chain of thought shows a model."""

    def move(self, request: Request) -> Move:
        query, answer = request.question.query, super().move(request)[1]
        return walk_in_words(self.graph, query) if query else "", answer


def walk_in_words(graph: KnowledgeGraph, query: Query) -> str:
    """Return what each hop of a query finds, a sentence for each."""
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
    """Return whether the question says what is right."""
    return bool(question.answers or question.gold)


ANSWERS_ORACLE = OwnOracle(AnswersOracle, has_answers, "gold answers")
REASONING_ORACLE = OwnOracle(ReasoningOracle, has_answers, "gold answers")
