"""An episode as tokens: the very ids that were read and drawn, and which of them are trained."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from graphwalker.tokens.formats import ChatFormat
from graphwalker.tokens.segments import Tokenizer, end_of_turn_id, extension_ids, prompt_ids
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
    more: list["EpisodeTokens"] = field(default_factory=list)
    """Of an agent that began its conversation anew: the contexts after the first one."""

    @property
    def contexts(self) -> "list[EpisodeTokens]":
        """All of them, each a row of its own."""
        return [self, *self.more]

    def add(self, ids: Sequence[int], logprobs: Sequence[float] = (), turn: int = -1) -> None:
        """Append ids; those beyond the given log-probabilities were not drawn."""
        rest = len(ids) - len(logprobs)
        self.completion.extend(ids)
        self.mask.extend([1] * len(logprobs) + [0] * rest)
        self.logprobs.extend([*logprobs, *[0.0] * rest])
        self.turns.extend([turn] * len(logprobs) + [-1] * rest)

    def drop(self) -> None:
        """Leave the episode out of the loss."""
        for context in self.contexts:
            context.mask[:] = [0] * len(context.mask)


def episode_tokens(
    trajectory: Trajectory, fmt: ChatFormat, tokenizer: Tokenizer, end_ids: Sequence[int]
) -> EpisodeTokens:
    """Return the very ids that the engine read and drew; an infrastructure failure has no mask.

    A turn that restarts the conversation begins a context of its own (`more`). An engine without
    room leaves a turn without ids: the episode ends before it. An answered episode ends with one of
    `end_ids`, added and masked where need be, so that TRL does not count it as truncated.
    """
    turn_end = end_of_turn_id(fmt, tokenizer)
    contexts: list[EpisodeTokens] = []
    for number, turn in enumerate(trajectory.turns):
        if turn.token_ids is None or turn.logprobs is None:
            break
        if turn.restart or not contexts:
            contexts.append(EpisodeTokens(prompt_ids(turn.context, fmt, tokenizer)))
        else:
            contexts[-1].add(extension_ids(turn.context, fmt, tokenizer))
        contexts[-1].add(turn.token_ids, turn.logprobs, number)
    first, *rest = contexts or [EpisodeTokens([turn_end])]
    first.more.extend(rest)
    last = first.contexts[-1]
    answered = trajectory.stop in (StopReason.ANSWERED, StopReason.FORCED)
    if not last.completion or (answered and last.completion[-1] not in end_ids):
        last.add([end_ids[0]])
    if trajectory.stop.infrastructure_failure:
        first.drop()
    return first
