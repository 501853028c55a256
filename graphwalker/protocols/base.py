"""An action protocol: how thoughts, calls and answers are written in a completion."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from graphwalker.tools.base import Call


@dataclass(frozen=True, slots=True)
class Calls:
    """Several calls of one completion, two or more, in the order written."""

    calls: tuple[Call, ...]


def calls_of(action: Call | Calls) -> tuple[Call, ...]:
    """Return the calls of a completion, one or several."""
    return action.calls if isinstance(action, Calls) else (action,)


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """The agent's answer: names, in its order, without repeats; or the texts of another kind of
    answer (see `graphwalker.answers`)."""

    names: tuple[str, ...]
    kind: str = field(default="names", repr=False)
    """`names`, `rows`, `path` or `text`."""
    read: str = field(default="", repr=False, compare=False)
    """How it was found in the message, where that may be told apart (`plain`, `fenced`, ...)."""


PLACEHOLDER = "NAME OF AN ANSWER"
"""What hints show where an answer's name belongs. No answer may hold it: a hint that a model copies
is malformed, not wrong."""
_EXAMPLES = (("Name",), ("Name", "Other name"))
"""Answers that prompts show."""


def repeats_example(names: Sequence[str]) -> bool:
    """Return whether an answer repeats what a prompt or a hint shows in the place of names."""
    return PLACEHOLDER in names or tuple(names) in _EXAMPLES


@dataclass(frozen=True, slots=True)
class Malformed:
    """A completion that holds no valid action. `reason` tells the model what to write instead, in
    the protocol's own words: what a model or a graph wrote stands in it escaped, if at all."""

    reason: str


Action = Call | Calls | FinalAnswer | Malformed


class ActionProtocol(Protocol):
    """Parses completions and renders actions; `parse(render(t, a)) == (t, a)` for every action.

    `abilities` may state more (`graphwalker.tools.base`).
    """

    name: str
    stop: tuple[str, ...]
    """Strings that end a completion (kept in it)."""

    def parse(self, completion: str) -> tuple[str, Action]:
        """Return the thought and the action of one completion; never raises on model output."""
        ...

    def render(self, thought: str, action: Call | FinalAnswer) -> str:
        """Return the completion that `parse` reads back."""
        ...

    def observe(self, text: str, own: bool = False) -> str:
        """Wrap an observation for the conversation. Tags in it are made harmless; not those of
        the protocol's `own` words (what `Malformed` tells), which the model has to read."""
        ...

    def force(self) -> str:
        """Return how the last answer is asked for, once no call is accepted any more."""
        ...

    def hint(self, tool: str) -> str:
        """Get an example call of the tool, as a completion writes it; `""` for an unknown one."""
        ...
