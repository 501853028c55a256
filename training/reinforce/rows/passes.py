"""The rows of a step as forward and backward passes.

Tensors of a batch are (rows, tokens) or (rows,); prompts are padded on the left, the rest on the
right.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from training.runs.distributed import gathered


def regroup(
    batches: Sequence[dict[str, Any]],
    drop_idle: bool,
    total: float | None = None,
    sums: bool = False,
) -> list[dict[str, Any]]:
    """The same rows as micro-batches of about equal length, padding cut. Tensors of a batch are
    (rows, tokens) or (rows,).

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
    count = max(gathered([int(busy.sum())]))
    order = torch.cat([order[busy], order[~busy].flip(0)])[:count]
    order = order[lengths[order].argsort(descending=True, stable=True)]
    parts: list[dict[str, Any]] = []
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
