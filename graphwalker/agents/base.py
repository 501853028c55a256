"""An agent is a generator: it yields the conversation it wants completed and returns an answer."""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field

from graphwalker.policies.base import Completion
from graphwalker.protocols.base import FinalAnswer
from graphwalker.question import Question
from graphwalker.tools.base import ToolBox
from graphwalker.trajectory import Message, Turn


@dataclass(slots=True)
class Ask:
    """What an agent yields: complete `messages`, cutting after any of `stop`.

    `forced` marks the one last completion that is asked for after the turn budget.
    """

    messages: tuple[Message, ...]
    stop: tuple[str, ...] = ()
    restart: bool = False
    forced: bool = False


@dataclass(slots=True)
class Log:
    """The episode's record while it grows. The agent appends one `Turn` per completion."""

    turns: list[Turn] = field(default_factory=list[Turn])


AgentRun = Generator[Ask, Completion, FinalAnswer | None]
Agent = Callable[[Question, ToolBox, Log], AgentRun]
"""Builds the generator of one episode. Named agents carry their name in the registry (presets)."""
