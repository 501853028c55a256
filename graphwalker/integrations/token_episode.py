"""An episode in token ids: what a trainer with an engine of its own draws, masks and rewards."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from graphwalker.errors import UserError
from graphwalker.integrations.external_episode import ExternalEpisode
from graphwalker.policies.base import Completion
from graphwalker.policies.token_record import TurnEnds
from graphwalker.tokens.formats import ChatFormat
from graphwalker.tokens.segments import closed_ids, end_of_turn_id, extension_ids, prompt_ids

TokenDraw = Callable[
    [list[int], Sequence[str], int], Awaitable[tuple[list[int], list[float] | None]]
]
"""Ids so far, strings that end the turn, most tokens -> ids drawn, and their log-probabilities."""


@dataclass(slots=True)
class TokenEpisode:
    """The ids of a finished episode. `mask` is 1 for drawn tokens, as `labels` of SFT rows are."""

    prompt: list[int]
    response: list[int] = field(default_factory=list[int])
    mask: list[int] = field(default_factory=list[int])
    logprobs: list[float] = field(default_factory=list[float])
    """0 where nothing was drawn."""
    has_logprobs: bool = True

    def append(self, ids: Sequence[int], drawn: bool, logprobs: Sequence[float] | None) -> None:
        self.response += ids
        self.mask += [int(drawn)] * len(ids)
        self.has_logprobs &= logprobs is not None
        self.logprobs += logprobs or [0.0] * len(ids)


async def play_tokens(
    episode: ExternalEpisode,
    fmt: ChatFormat,
    tokenizer: Any,
    draw: TokenDraw,
    most: int,
    most_per_turn: int,
) -> TokenEpisode:
    """Play the episode with at most `most` tokens after the prompt.

    Raises `UserError` for an agent that begins new conversations: a row of ids holds one.
    """
    ids = TokenEpisode(prompt_ids(episode.conversation, fmt, tokenizer))
    ends = TurnEnds(tokenizer, fmt, frozenset({end_of_turn_id(fmt, tokenizer)}))
    while not episode.done:
        room = min(most_per_turn, most - len(ids.response) - 1)
        if room <= 0:
            episode.play(Completion("", "length"))
            break
        stops = episode.stop_strings
        drawn, logprobs = await _draw_turn(draw, [*ids.prompt, *ids.response], stops, room, ends)
        ids.append(drawn, True, logprobs)
        closed = closed_ids(drawn, fmt, tokenizer)
        ids.append(closed[len(drawn) :], False, [0.0] * (len(closed) - len(drawn)))
        episode.play(
            replace(ends.completion(drawn, logprobs or (), stops), token_ids=tuple(closed))
        )
        if episode.done:
            break
        if episode.restart:
            raise UserError("this preset begins new conversations; a row of verl holds one")
        seen = extension_ids(episode.messages, fmt, tokenizer)
        ids.append(seen, False, [0.0] * len(seen))
    return ids


async def _draw_turn(
    draw: TokenDraw, before: list[int], stops: Sequence[str], room: int, ends: TurnEnds
) -> tuple[list[int], list[float] | None]:
    """Draw until a turn is over: a stop string in an open thought does not end it."""
    ids, logprobs = await draw(before, stops, room)
    while ids[-1:] and ids[-1] not in ends.end_ids and len(ids) < room:
        if not ends.waits_in_thought(ids, stops):
            break
        more, of_more = await draw([*before, *ids], stops, room - len(ids))
        if not more:
            break
        ids = [*ids, *more]
        logprobs = None if logprobs is None or of_more is None else [*logprobs, *of_more]
    return ids, logprobs
