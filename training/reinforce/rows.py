"""The rows of a step as tensors: padded, cut into passes, joined by further contexts, scored.

Tensors of a batch are (rows, tokens) or (rows,); prompts are padded on the left, the rest on the
right."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from training.reinforce.episode_tokens import EpisodeTokens
from training.runs.distributed import gather_all


def token_logps(
    model: Any, ids: Tensor, attention: Tensor, scored: Tensor, temperature: float
) -> Tensor:
    """Log-probabilities of the scored completion tokens, 0 elsewhere, shaped like `scored`.

    ids, attention: (rows, prompt + completion tokens), the prompt padded on the left, the
    completion on the right; scored: (rows, completion tokens).
    """
    columns = attention.any(0).nonzero()
    first, last = int(columns[0]), int(columns[-1]) + 1
    dropped = ids.shape[1] - last
    keep = scored.shape[1] - dropped
    ids, attention = ids[:, first:last], attention[:, first:last]
    rows, places = scored[:, :keep].nonzero(as_tuple=True)
    targets = places + ids.shape[1] - keep
    logits = model(
        input_ids=ids,
        attention_mask=attention,
        position_ids=(attention.cumsum(1) - 1).clamp(min=0),
        score_at=(rows, targets - 1),
    )
    values = _of_drawn(logits, ids[rows, targets], temperature)
    return torch.zeros(scored.shape, device=ids.device).index_put((rows, places), values)


def _of_drawn(logits: Tensor, drawn: Tensor, temperature: float) -> Tensor:
    """logits: (tokens, vocab); `drawn` and the log-probabilities: (tokens,)."""
    return -cross_entropy(logits.float() / temperature, drawn, reduction="none")


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
    """Return the further contexts of all episodes, in order."""
    return [Context(i, more) for i, episode in enumerate(episodes) for more in episode.more]


def with_contexts(
    batch: Columns,
    contexts: Sequence[Context],
    count: int,
    pad_id: int,
    score: dict[str, LogProbabilities],
) -> Columns:
    """Get the batch with `count` rows more: each context has the advantage of its episode, and is
    in the loss where that is. Rows beyond the contexts are there to make the number whole: they are
    not kept. `score` computes the log-probabilities that the batch has of its own rows, by name."""
    device = batch["prompt_ids"].device
    empty = EpisodeTokens([pad_id], [pad_id], [0], [0.0], [-1])
    tokens = [*(c.tokens for c in contexts), *[empty] * (count - len(contexts))]
    owners = torch.tensor([*(c.episode for c in contexts), *[0] * (count - len(contexts))])
    more: Columns = {
        "prompt_ids": _left([t.prompt for t in tokens], pad_id),
        "prompt_mask": _left([[1] * len(t.prompt) for t in tokens], 0),
        "completion_ids": pad_right([t.completion for t in tokens], pad_id),
        "completion_mask": pad_right([[1] * len(t.completion) for t in tokens], 0),
        "tool_mask": pad_right([t.mask for t in tokens], 1),
        "sampling_per_token_logps": pad_right([t.logprobs for t in tokens], 0.0, torch.float32),
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
            whole[name] = _join(batch[name], value, fill, left=name in LEFT)
    return whole


def _join(one: Tensor, two: Tensor, fill: float, left: bool) -> Tensor:
    """Return rows of both, padded to one width."""
    if one.ndim == 1:
        return torch.cat([one, two])
    width = max(one.shape[1], two.shape[1])
    parts: list[Tensor] = []
    for part in (one, two):
        padding = part.new_full((len(part), width - part.shape[1]), fill)
        parts.append(torch.cat([padding, part] if left else [part, padding], 1))
    return torch.cat(parts)


def pad_right(rows: Sequence[Sequence[float]], fill: float = 0, dtype: Any = torch.long) -> Tensor:
    """(rows, tokens of the longest), filled up on the right."""
    padded = torch.full((len(rows), max(map(len, rows))), fill, dtype=dtype)
    for line, row in zip(padded, rows, strict=True):
        line[: len(row)] = torch.tensor(row, dtype=dtype)
    return padded


def _left(rows: Sequence[Sequence[int]], fill: int) -> Tensor:
    return pad_right([row[::-1] for row in rows], fill).flip(1)


def regroup(
    batches: Sequence[dict[str, Any]],
    drop_idle: bool,
    total: float | None = None,
    sums: bool = False,
) -> list[dict[str, Any]]:
    """Return the same rows as micro-batches of about equal length, padding cut. Tensors of a batch
    are (rows, tokens) or (rows,).

    `share` weighs a micro-batch's mean so that the sum over all is the mean over all `total` rows
    (none: as many as are kept); where the objective is a sum (`sums`), it is 1. Rows that are not
    `kept` are dropped, and with `drop_idle` those without advantage, as their gradient is 0.
    """
    whole = {k: torch.cat([b[k] for b in batches]) for k, v in batches[0].items() if _rows(v)}
    scalars = {k: v for k, v in batches[0].items() if k not in whole}
    lengths = whole["prompt_mask"].sum(1) + whole["completion_mask"].sum(1)
    order = lengths.argsort(descending=True, stable=True)
    kept = whole.get("kept", torch.ones_like(lengths)).bool()
    total = float(kept.sum()) if total is None else total
    if drop_idle:
        kept = kept & whole["advantages"].reshape(len(lengths), -1).any(1)
    busy = kept[order]
    # TRL gathers figures per row: a process with fewer busy rows keeps some idle ones.
    count = max(gather_all([int(busy.sum())]))
    order = torch.cat([order[busy], order[~busy].flip(0)])[:count]
    order = order[lengths[order].argsort(descending=True, stable=True)]
    parts: list[dict[str, Any]] = []
    for chosen in order.tensor_split(len(batches)):
        share = float(len(chosen) > 0) if sums else len(chosen) * len(batches) / max(1.0, total)
        chosen = chosen if len(chosen) else lengths.argmin()[None]
        part = {key: value[chosen] for key, value in whole.items()}
        parts.append({**trim_padding({**scalars, **part}), "share": share})
    return parts


def _rows(value: Any) -> bool:
    return isinstance(value, Tensor) and value.ndim > 0


def trim_padding(part: dict[str, Any]) -> dict[str, Any]:
    """Return the micro-batch without the columns that are padding in all its rows."""
    prompt = max(1, int(part["prompt_mask"].sum(1).max()))
    completion = max(1, int(part["completion_mask"].sum(1).max()))
    cut = dict(part)
    for key, value in part.items():
        if key.startswith("prompt"):
            cut[key] = value[:, -prompt:]
        elif isinstance(value, Tensor) and value.ndim == 2:
            cut[key] = value[:, :completion]
    return cut
