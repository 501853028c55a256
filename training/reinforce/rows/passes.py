"""The rows of a step as forward and backward passes: by number of rows, or by a budget of tokens.

Tensors of a batch are (rows, tokens) or (rows,); prompts are padded on the left, the rest on the
right.
"""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import torch
from torch import Tensor

from training.runs.distributed import gathered


def regroup(
    batches: Sequence[dict[str, Any]],
    drop_idle: bool,
    total: float | None = None,
    sums: bool = False,
    budget: int = 0,
) -> list[dict[str, Any]]:
    """The same rows as micro-batches of about equal length, padding cut. Tensors of a batch are
    (rows, tokens) or (rows,).

    `share` weighs a micro-batch's mean so that the sum over all is the mean over all `total` rows
    (none: as many as are kept); where the objective is a sum (`sums`), it is 1. Rows that are not
    `kept` are dropped, and with `drop_idle` those without advantage, as their gradient is 0. With a
    `budget` of tokens there are as many micro-batches as it takes, else as many as there were.
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
    if budget:
        cuts = token_passes(lengths[order[busy]].tolist(), budget)
        parts = [order[busy][cut] for cut in cuts]
        return _evened(whole, scalars, parts, len(batches) / max(1.0, total), sums)
    # TRL gathers figures per row: a process with fewer busy rows keeps some idle ones.
    count = max(gathered([int(busy.sum())]))
    order = torch.cat([order[busy], order[~busy].flip(0)])[:count]
    order = order[lengths[order].argsort(descending=True, stable=True)]
    parts = []
    for chosen in order.tensor_split(len(batches)):
        share = float(len(chosen) > 0) if sums else len(chosen) * len(batches) / max(1.0, total)
        chosen = chosen if len(chosen) else lengths.argmin()[None]
        part = {key: value[chosen] for key, value in whole.items()}
        parts.append({**trimmed({**scalars, **part}), "share": share})
    return parts


def _rows(value: Any) -> bool:
    return isinstance(value, Tensor) and value.ndim > 0


def trimmed(part: dict[str, Any]) -> dict[str, Any]:
    """The micro-batch without the columns that are padding in all its rows."""
    prompt = max(1, int(part["prompt_mask"].sum(1).max()))
    completion = max(1, int(part["completion_mask"].sum(1).max()))
    cut = dict(part)
    for key, value in part.items():
        if key.startswith("prompt"):
            cut[key] = value[:, -prompt:]
        elif isinstance(value, Tensor) and value.ndim == 2:
            cut[key] = value[:, :completion]
    return cut


def token_passes(lengths: Sequence[int], budget: int) -> list[slice]:
    """Neighbouring rows whose tokens fit into the budget; a longer row stands alone.

    >>> token_passes([5, 3, 3, 2, 9], 6)
    [slice(0, 1, None), slice(1, 3, None), slice(3, 4, None), slice(4, 5, None)]
    """
    edges, room = [0], budget
    for place, length in enumerate(lengths):
        if length > room and place > edges[-1]:
            edges.append(place)
            room = budget
        room -= length
    return [slice(a, b) for a, b in zip(edges, [*edges[1:], len(lengths)], strict=True) if b > a]


def _evened(
    whole: dict[str, Any], scalars: dict[str, Any], parts: list[Tensor], weight: float, sums: bool
) -> list[dict[str, Any]]:
    """The parts as micro-batches; all processes get as many, with as many rows in each, because TRL
    gathers figures per pass and per row. Rows of two tokens without a loss make up the number."""
    sizes: list[list[int]] = gathered([[len(part) for part in parts]])
    rows = [max(1, *counts) for counts in zip_longest(*sizes, fillvalue=0)] or [1]
    made: list[dict[str, Any]] = []
    for number, count in enumerate(rows):
        chosen = parts[number] if number < len(parts) else parts[0][:0] if parts else None
        chosen = torch.zeros(0, dtype=torch.long) if chosen is None else chosen
        part = {key: value[chosen] for key, value in whole.items()}
        empty = _without_loss(whole, count - len(chosen))
        part = {key: torch.cat([part[key], empty[key]]) for key in part}
        share = float(len(chosen) > 0) if sums else count * weight * (len(chosen) > 0)
        made.append({**trimmed({**scalars, **part}), "share": share})
    return made


def _without_loss(whole: dict[str, Any], count: int) -> dict[str, Tensor]:
    """So many rows of one token of a prompt and one of a completion, which is not trained on."""
    rows = {key: value[:1].repeat_interleave(count, 0) for key, value in whole.items()}
    for key in ("prompt_mask", "completion_mask", "tool_mask", "advantages"):
        rows[key] = torch.zeros_like(rows[key])
    rows["prompt_mask"][:, -1] = 1
    rows["completion_mask"][:, 0] = 1
    return rows
