"""Conversations that a chat server cuts: the prompt tokens that it reports give it away."""

import logging
from dataclasses import dataclass

from graphwalker.policies.base import Request
from graphwalker.tokens.reasoning import without_reasoning

log = logging.getLogger(__name__)

CHARS_PER_TOKEN = 4
"""Of English text and JSON, roughly."""
GROWN = 40
"""Characters by which a conversation has to grow for its tokens to be compared."""
LONG, FAR_BELOW = 4_000, 2
"""A conversation of so many characters, reported with less than half of our count."""


@dataclass(slots=True)
class _Sent:
    chars: int
    tokens: int


class PromptWatch:
    """Compares what a server says that it read with what it was sent. Ollama, for one, drops the
    front of a conversation that is longer than its `num_ctx`, and with it the rules and the tools.
    """

    def __init__(self, name: str) -> None:
        self.truncated = 0
        self._name = name
        self._sent: dict[str, _Sent] = {}

    def is_truncated(self, request: Request, tokens: int) -> bool:
        """Return whether the server that reports so many prompt tokens cannot have read it all."""
        chars = sum(
            # Templates drop the thoughts of earlier turns.
            len(without_reasoning(m.content) if m.role == "assistant" else m.content)
            for m in request.messages
        )
        before = None if request.restart else self._sent.get(request.key)
        self._sent[request.key] = _Sent(chars, tokens)
        still = before and chars >= before.chars + GROWN and tokens <= before.tokens
        short = chars >= LONG and tokens * CHARS_PER_TOKEN * FAR_BELOW < chars
        if not tokens or not (still or short):
            return False
        if not self.truncated:
            log.warning(
                "%s reports %d prompt tokens for a conversation of about %d: it cuts the front, "
                "where rules and tools stand; give it a longer context (Ollama: num_ctx)",
                self._name,
                tokens,
                chars // CHARS_PER_TOKEN,
            )
        self.truncated += 1
        return True

    def release(self, key: str) -> None:
        """Forget an episode that is over."""
        self._sent.pop(key, None)
