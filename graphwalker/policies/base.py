"""A policy completes conversations: an oracle, a chat API, a local engine, a model in training."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from graphwalker.errors import PolicyError
from graphwalker.question import Question
from graphwalker.trajectory import Message, Turn


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to draw a completion. `temperature=0` is greedy; `seed` makes sampling repeatable.

    Engines draw with a generator made from (seed, request key, turn), never from a shared one, so
    results do not depend on the batch that a request happens to share.
    """

    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 512
    """Completion tokens per turn."""
    seed: int = 0
    top_k: int = 0
    """Draw from so many of the likeliest tokens. 0: from all."""
    min_p: float = 0.0
    """Draw no token that is less likely than this share of the likeliest one."""

    @property
    def cuts(self) -> bool:
        """Whether unlikely tokens are never drawn."""
        return self.top_p < 1 or self.top_k > 0 or self.min_p > 0


@dataclass(frozen=True, slots=True)
class Request:
    """Complete `messages`. `key` names the episode: engines keep token ids and KV cache by it.

    `question` and `turns` (the finished turns of this episode) are there for programmatic policies;
    a language model reads `messages` alone. `messages` extends the previous request of the same key
    by one assistant message (our completion) and what followed, unless `restart` is set.
    """

    key: str
    messages: tuple[Message, ...]
    question: Question
    turns: Sequence[Turn]
    sampling: Sampling
    stop: tuple[str, ...] = ()
    """A completion ends right after the first of these strings, the string included."""
    restart: bool = False
    tools: tuple[Mapping[str, Any], ...] = ()
    """Tools that may be called, by JSON schema; `messages` describe them, too, for models that are
    told of tools in their text alone."""
    grammar: str = ""
    """A grammar in GBNF that the completion has to follow; an engine that cannot follow one raises
    `UserError`."""
    about: object = None
    """What is to be decided, as the agent has it in hand: for policies without a model."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What a policy wrote. `finish` is `stop` or `length`; ids and logprobs where it has them.

    `completion_tokens` is for policies without ids, `reasoning_tokens` are those among them that no
    text shows; `cost` is money, in the currency of the prices.
    """

    text: str
    finish: str = "stop"
    token_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    reasoning_tokens: int = 0
    lost_prompt_tokens: int = 0
    """Of a reply that was thrown away: it was cut within a thought."""
    truncated: bool = False
    """Whether the server seems to have cut the conversation that it was sent."""

    @property
    def context_full(self) -> bool:
        """An engine whose context is full writes no token and says `length`. A turn that was cut
        while the model reasoned has tokens and no text: the model's own."""
        written = self.text or self.token_ids or self.completion_tokens
        return self.finish == "length" and not written


LOOP_SEEN = 800
"""The last characters of a text by which a loop is told."""


def is_looping(text: str) -> bool:
    """Return whether the second half of a text says few things over and over: more tokens would
    only be more of it.

    >>> is_looping("Found " + "Oslo " * 20), is_looping("<think> I start at Oslo and continue to")
    (True, False)
    """
    half = text[len(text) // 2 :][-LOOP_SEEN // 2 :]
    parts = re.findall(r"\w{1,8}|\S", half)
    different = set(zip(parts, parts[1:], parts[2:], strict=False))
    return len(parts) >= 6 and len(different) < 0.4 * len(parts)


Result = tuple[str, Completion | PolicyError]
"""The key of a request, and what came of it."""


class Policy(Protocol):
    """Submit requests, collect completions as they become ready."""

    name: str

    def submit(self, request: Request) -> None:
        """Queue a request. At most one is pending per key."""
        ...

    def collect(self) -> list[Result]:
        """Block for at least one finished request, as (key, result); `[]` when none is pending.

        A request that failed for the policy's own reasons comes back as its `PolicyError`.
        """
        ...

    def release(self, key: str) -> None:
        """Forget what was kept for the episode of that key, which is over."""
        ...
