"""The layout of a family of models' messages: what stands around each of them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_THINKS = re.compile(r"\s*<think>(.*?)</think>\s*(.*)", re.DOTALL)


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

    thought: str = ""
    """How an agent's text begins, its thought at `{thought}` (empty where it has none), in families
    whose template writes thoughts in a form of its own. Empty: as the protocol writes them."""

    def written(self, text: str) -> str:
        """An agent's text as this family's template writes it. What a policy drew stays as drawn.

        >>> ChatFormat("f", {}, {}, "", thought="<think>\\n{thought}\\n</think>\\n\\n").written(
        ...     "<think> So. </think>\\n<answer> [] </answer>")
        '<think>\\nSo.\\n</think>\\n\\n<answer> [] </answer>'
        """
        if not self.thought:
            return text
        if match := _THINKS.fullmatch(text):
            return self.thought.replace("{thought}", match[1].strip()) + match[2]
        # A thought that does not open the text is nothing that a template would read.
        return text if "</think>" in text else self.thought.replace("{thought}", "") + text

    @property
    def markup(self) -> str:
        """Every text that the layout itself writes, one after another."""
        parts = (self.begin, self.default_system, *self.prefixes.values())
        return "\n".join((*parts, *self.suffixes.values(), self.end_of_turn, self.after_turn))
