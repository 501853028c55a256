"""An episode as tokens: the very ids that were read and drawn, and which of them are trained."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from graphwalker.errors import UserError
from graphwalker.tokens.segments import (
    ChatFormat,
    Tokenizer,
    end_of_turn_id,
    extension_ids,
    prompt_ids,
)
from graphwalker.trajectory import StopReason, Trajectory


@dataclass(frozen=True, slots=True)
class EpisodeTokens:
    """An episode as TRL wants it: lists of one length, but for the prompt.

    `mask` is 1 where the policy drew the token; `turns` is the number of the turn, from 0, that
    drew it, -1 elsewhere.
    """

    prompt: list[int]
    completion: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)

    def add(self, ids: Sequence[int], logprobs: Sequence[float] = (), turn: int = -1) -> None:
        """Append ids; those beyond the given log-probabilities were not drawn."""
        rest = len(ids) - len(logprobs)
        self.completion.extend(ids)
        self.mask.extend([1] * len(logprobs) + [0] * rest)
        self.logprobs.extend([*logprobs, *[0.0] * rest])
        self.turns.extend([turn] * len(logprobs) + [-1] * rest)

    def drop(self) -> None:
        """Leave the episode out of the loss."""
        self.mask[:] = [0] * len(self.mask)


def episode_tokens(
    trajectory: Trajectory, fmt: ChatFormat, tokenizer: Tokenizer, end_ids: Sequence[int]
) -> EpisodeTokens:
    """The very ids that the engine read and drew; an infrastructure failure has no mask.

    An engine without room leaves a turn without ids: the episode ends before it. An answered
    episode ends with one of `end_ids`, added and masked where need be, so that TRL does not count
    it as truncated.
    """
    turn_end = end_of_turn_id(fmt, tokenizer)
    tokens: EpisodeTokens | None = None
    for number, turn in enumerate(trajectory.turns):
        if turn.restart:
            raise UserError(
                f"trajectory {trajectory.id!r} restarts its context: GRPO needs an agent whose "
                "context only grows"
            )
        if turn.token_ids is None or turn.logprobs is None:
            break
        if tokens is None:
            tokens = EpisodeTokens(prompt_ids(turn.context, fmt, tokenizer))
        else:
            tokens.add(extension_ids(turn.context, fmt, tokenizer))
        tokens.add(turn.token_ids, turn.logprobs, number)
    if tokens is None:
        tokens = EpisodeTokens([turn_end])
    answered = trajectory.stop in (StopReason.ANSWERED, StopReason.FORCED)
    if not tokens.completion or (answered and tokens.completion[-1] not in end_ids):
        tokens.add([end_ids[0]])
    if trajectory.stop.infrastructure_failure:
        tokens.drop()
    return tokens
