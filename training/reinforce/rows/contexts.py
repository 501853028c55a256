"""Further contexts of episodes, whose agent began its conversation anew, as rows of a batch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from training.reinforce.rows.episode_tokens import EpisodeTokens

Columns = dict[str, Any]
LogProbabilities = Callable[[Columns], Tensor]
"""Of the completion tokens of rows: (rows, completion tokens)."""

LEFT = ("prompt_ids", "prompt_mask")
"""Padded on the left; the rest of a row's tensors on the right."""


@dataclass(frozen=True, slots=True)
class Context:
    """A context after the first one, and the place of its episode in the batch."""

    episode: int
    tokens: EpisodeTokens


def further_contexts(episodes: Sequence[EpisodeTokens]) -> list[Context]:
    """Those of all episodes, in order."""
    return [Context(i, more) for i, episode in enumerate(episodes) for more in episode.more]


def with_contexts(
    batch: Columns,
    contexts: Sequence[Context],
    count: int,
    pad_id: int,
    score: dict[str, LogProbabilities],
) -> Columns:
    """The batch with `count` rows more: each context has the advantage of its episode, and is in
    the loss where that is. Rows beyond the contexts are there to make the number whole: they are
    not kept. `score` computes the log-probabilities that the batch has of its own rows, by name."""
    device = batch["prompt_ids"].device
    empty = EpisodeTokens([pad_id], [pad_id], [0], [0.0], [-1])
    tokens = [*(c.tokens for c in contexts), *[empty] * (count - len(contexts))]
    owners = torch.tensor([*(c.episode for c in contexts), *[0] * (count - len(contexts))])
    more: Columns = {
        "prompt_ids": _left([t.prompt for t in tokens], pad_id),
        "prompt_mask": _left([[1] * len(t.prompt) for t in tokens], 0),
        "completion_ids": _right([t.completion for t in tokens], pad_id),
        "completion_mask": _right([[1] * len(t.completion) for t in tokens], 0),
        "tool_mask": _right([t.mask for t in tokens], 1),
        "sampling_per_token_logps": _right([t.logprobs for t in tokens], 0.0, torch.float32),
    }
    more = {name: value.to(device) for name, value in more.items()}
    owners = owners.to(device)
    real = torch.arange(count, device=device) < len(contexts)
    more["kept"] = batch["kept"][owners] & real
    more["advantages"] = batch["advantages"][owners] * real
    for name in sorted(score.keys() & batch.keys()):  # in one order for all processes
        more[name] = score[name](more)
    whole = dict(batch)
    for name, value in more.items():
        if name in batch:
            fill = pad_id if name.endswith("_ids") else int(name == "tool_mask")
            whole[name] = _joined(batch[name], value, fill, left=name in LEFT)
    return whole


def _joined(one: Tensor, two: Tensor, fill: float, left: bool) -> Tensor:
    """Rows of both, padded to one width."""
    if one.ndim == 1:
        return torch.cat([one, two])
    width = max(one.shape[1], two.shape[1])
    parts: list[Tensor] = []
    for part in (one, two):
        padding = part.new_full((len(part), width - part.shape[1]), fill)
        parts.append(torch.cat([padding, part] if left else [part, padding], 1))
    return torch.cat(parts)


def _right(rows: Sequence[Sequence[float]], fill: float, dtype: Any = torch.long) -> Tensor:
    padded = torch.full((len(rows), max(map(len, rows))), fill, dtype=dtype)
    for line, row in zip(padded, rows, strict=True):
        line[: len(row)] = torch.tensor(row, dtype=dtype)
    return padded


def _left(rows: Sequence[Sequence[int]], fill: int) -> Tensor:
    return _right([row[::-1] for row in rows], fill).flip(1)
