"""The order in which rows are seen, and the tensors of a pass."""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from graphwalker.tokens.segments import IGNORED
from training.config import SftConfig

StepPlan = list[list[list[int]]]
"""Optimizer steps; each a list of forward passes; each a list of row numbers."""


def plan_steps(lengths: Sequence[int], config: SftConfig, passes: int) -> StepPlan:
    """Return the whole run, decided beforehand, so that a resumed run simply skips what was done.

    Every step is dealt to `passes` forward passes (processes x accumulation), rows of like length
    together. Each epoch is shuffled by its own generator made from (seed, epoch).
    """
    plan: StepPlan = []
    limit = config.max_steps or math.inf
    for epoch in range(math.ceil(config.epochs) if not config.max_steps else 10**9):
        rng = random.Random(f"{config.seed}:{epoch}")
        steps = list(_epoch(lengths, config, rng))
        share = min(1.0, config.epochs - epoch) if not config.max_steps else 1.0
        plan += [_deal(step, passes) for step in steps[: math.ceil(share * len(steps))]]
        if len(plan) >= limit:
            break
    return plan[: config.max_steps or None]


def _epoch(lengths: Sequence[int], config: SftConfig, rng: random.Random) -> Iterator[list[int]]:
    """Batches of rows of like length, in random order."""
    order = list(range(len(lengths)))
    rng.shuffle(order)
    mean = max(1, sum(lengths) // len(lengths))
    per_step = (
        max(1, config.tokens_per_step // mean) if config.tokens_per_step else config.batch_size
    )
    # Rows are sorted by length only inside pools of some 30 steps: little padding, good mixing.
    batches: list[list[int]] = []
    for start in range(0, len(order), 30 * per_step):
        pool = sorted(order[start : start + 30 * per_step], key=lambda i: (lengths[i], i))
        batches += _cut(pool, lengths, config)
    rng.shuffle(batches)
    yield from batches


def _cut(pool: list[int], lengths: Sequence[int], config: SftConfig) -> list[list[int]]:
    """Cut rows sorted by length where the next one would pass the budget."""
    batches: list[list[int]] = [[]]
    for index in pool:
        count = len(batches[-1]) + 1
        packed = sum(lengths[row] for row in batches[-1]) + lengths[index]
        full = (
            (packed if config.packing else count * lengths[index]) > config.tokens_per_step
            if config.tokens_per_step
            else count > config.batch_size
        )
        if full and batches[-1]:
            batches.append([])
        batches[-1].append(index)
    return batches


def _deal(batch: list[int], passes: int) -> list[list[int]]:
    """Contiguous parts of nearly equal size. A pass that gets no row runs row `i` without its
    labels, written `~i`, so that every process takes part in every step."""
    edges = [round(k * len(batch) / passes) for k in range(passes + 1)]
    return [batch[a:b] or [~batch[0]] for a, b in pairwise(edges)]


@dataclass(frozen=True, slots=True)
class Collator:
    """Pads rows on the right: all tensors are (rows, tokens of the longest). The padding is never
    trained on."""

    pad_id: int

    def __call__(self, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
        import torch

        width = max(len(row["input_ids"]) for row in rows)
        ids = torch.full((len(rows), width), self.pad_id)
        labels, mask = torch.full_like(ids, IGNORED), torch.zeros_like(ids)
        for number, row in enumerate(rows):
            length = len(row["input_ids"])
            ids[number, :length] = torch.as_tensor(row["input_ids"])
            labels[number, :length] = torch.as_tensor(row["labels"])
            mask[number, :length] = 1
        return {"input_ids": ids, "attention_mask": mask, "labels": labels}


@dataclass(frozen=True, slots=True)
class PackingCollator:
    """Lays rows end to end: positions begin anew with each row, and say where one ends. Without an
    attention mask, attention layers read them and let a row see itself alone. All tensors are
    (1, tokens of all rows)."""

    def __call__(self, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
        import torch

        ids = [torch.as_tensor(row["input_ids"], dtype=torch.long) for row in rows]
        labels = [torch.as_tensor(row["labels"], dtype=torch.long).clone() for row in rows]
        for row in labels:
            row[0] = IGNORED  # else the last token of the row before would have to predict it
        positions = [torch.arange(len(row)) for row in ids]
        return {
            "input_ids": torch.cat(ids)[None],
            "labels": torch.cat(labels)[None],
            "position_ids": torch.cat(positions)[None],
        }


class PlannedRows:
    """The dataset as the plan names it: row `i`, or `~i` for the same row with nothing trained."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset.with_format("numpy")

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, index: int) -> dict[str, Any]:
        if index >= 0:
            return self._dataset[index]
        row = self._dataset[~index]
        return {**row, "labels": row["labels"] * 0 + IGNORED}
