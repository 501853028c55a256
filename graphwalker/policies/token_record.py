"""The ids of an engine's episodes: what each has read and written, and how its turns end.

Every engine that draws tokens keeps this book, so ids, masks and texts mean the same whichever one
it was. Ids are only ever added to, never re-made from text (`graphwalker/tokens/segments.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from graphwalker.policies.base import Completion, Request
from graphwalker.tokens.formats import ChatFormat
from graphwalker.tokens.reasoning import action_end, leaves_open
from graphwalker.tokens.segments import closed_ids, end_of_turn_id, extension_ids, prompt_ids
from graphwalker.trajectory import Message


@dataclass(frozen=True, slots=True)
class TurnEnds:
    """Which drawn ids end a turn of `tokenizer`; how `fmt` closes one that none of them ended."""

    tokenizer: Any
    fmt: ChatFormat
    end_ids: frozenset[int]

    @property
    def opened(self) -> bool:
        """Whether the format itself opens a thought before each turn."""
        return leaves_open(self.fmt.prefixes.get("assistant", ""))

    @classmethod
    def of(cls, tokenizer: Any, fmt: ChatFormat, generation_config: Any = None) -> "TurnEnds":
        """Return the ends that the format, the tokenizer and the model's generation config name."""
        eos: Any = getattr(generation_config, "eos_token_id", None)
        named: list[Any] = [*eos] if isinstance(eos, list) else [eos]
        last = end_of_turn_id(fmt, tokenizer)
        known = {int(i) for i in [*named, tokenizer.eos_token_id] if i is not None}
        return cls(tokenizer, fmt, frozenset(known | {last}))

    def completion(
        self,
        ids: Sequence[int],
        logprobs: Sequence[float],
        stop: Sequence[str] = (),
        prompt_tokens: int = 0,
    ) -> Completion:
        """Return the turn of these drawn ids, with a log-probability each.

        Its `token_ids` are closed as the format wants it (`closed_ids`); its text ends right after
        the first of the `stop` strings that stands in no thought.
        """
        ended = bool(ids) and ids[-1] in self.end_ids
        text = self.text(ids[:-1] if ended else ids)
        end = action_end(text, stop, self.opened)
        text = text[:end]
        finish = "stop" if ended or end is not None else "length"
        closed = tuple(closed_ids(ids, self.fmt, self.tokenizer))
        return Completion(text, finish, closed, tuple(logprobs), prompt_tokens)

    def text(self, ids: Sequence[int]) -> str:
        """Return what the ids say, special tokens spelled out."""
        return self.tokenizer.decode(
            ids, skip_special_tokens=False, clean_up_tokenization_spaces=False
        )

    def waits_in_thought(self, ids: Sequence[int], stop: Sequence[str]) -> bool:
        """Return whether a stop string stands in the ids, in thoughts alone."""
        text = self.text(ids)
        return any(s in text for s in stop) and action_end(text, stop, self.opened) is None

    def before_overshoot(self, ids: Sequence[int], stop: Sequence[str]) -> int:
        """Return how many ids there are up to the one that completes a stop string: engines that
        draw several tokens at a time may hand over some that follow."""
        count = len(ids)
        while count > 1 and self.completes_action(ids[: count - 1], stop):
            count -= 1
        return count

    def completes_action(self, ids: Sequence[int], stop: Sequence[str]) -> bool:
        """Return whether the ids hold a stop string that stands in no thought."""
        return action_end(self.text(ids), stop, self.opened) is not None


@dataclass(slots=True, eq=False)
class Transcript:
    """One episode so far: all of its ids, and the messages that they say."""

    ids: list[int]
    messages: tuple[Message, ...]


class Transcripts:
    """The open episodes of an engine that takes ids and gives ids.

    `max_context` bounds the tokens of an episode, the closing end of turn included.
    """

    def __init__(self, tokenizer: Any, fmt: ChatFormat, ends: TurnEnds, max_context: int) -> None:
        self.tokenizer, self.fmt, self.ends, self.max_context = tokenizer, fmt, ends, max_context
        self._episodes: dict[str, Transcript] = {}

    def prompt(self, request: Request) -> tuple[list[int], int]:
        """(all ids that the model must read, tokens that it may draw; 0 or less: no room)."""
        episode = self._episodes.get(request.key)
        known = () if episode is None or request.restart else episode.messages
        messages = request.messages
        if episode is not None and known and messages[: len(known)] == known:
            new = extension_ids(messages[len(known) :], self.fmt, self.tokenizer)
            ids = [*episode.ids, *new]
        else:
            ids = prompt_ids(messages, self.fmt, self.tokenizer)
        self._episodes[request.key] = Transcript(ids, messages)
        room = self.max_context - len(ids) - 1
        return ids, min(request.sampling.max_tokens, room)

    def finish(self, request: Request, ids: Sequence[int], logprobs: Sequence[float]) -> Completion:
        """Return the completion of these drawn ids; the episode takes them over."""
        episode = self._episodes[request.key]
        count = self.ends.before_overshoot(ids, request.stop)
        completion = self.ends.completion(
            ids[:count], logprobs[:count], request.stop, len(episode.ids)
        )
        episode.ids = [*episode.ids, *(completion.token_ids or ())]
        episode.messages = (*episode.messages, Message("assistant", completion.text))
        return completion

    def draws_on(self, request: Request, ids: Sequence[int], budget: int) -> bool:
        """Return whether a drawing that a stop string ended stands in an open thought still."""
        if len(ids) >= budget or ids[-1] in self.ends.end_ids:
            return False
        return self.ends.waits_in_thought(ids, request.stop)

    def release(self, key: str) -> None:
        """Forget the episode, which is over."""
        self._episodes.pop(key, None)
