"""The layout of a family of models' messages: what stands around each of them."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChatFormat:
    """How messages are laid out for one family of models. Only `end_of_turn` is trained."""

    name: str
    prefixes: Mapping[str, str]
    """Text before a message, by role. An `observation` is a user message that follows the agent."""
    suffixes: Mapping[str, str]
    """Text after a system or user message or an observation, by role."""
    end_of_turn: str
    """The one token that ends an assistant message."""
    begin: str = ""
    """Text before the first message."""
    after_turn: str = ""
    """Text between an end of turn and the next message."""
    default_system: str = ""
    """What follows `begin` where the first message is not a system message."""
    inline_observations: bool = False
    """Observations stand inside the assistant's message: it is opened once, and only its last turn
    ends with `end_of_turn`."""

    @property
    def markup(self) -> str:
        """Every text that the layout itself writes, one after another."""
        parts = (self.begin, self.default_system, *self.prefixes.values())
        return "\n".join((*parts, *self.suffixes.values(), self.end_of_turn, self.after_turn))
