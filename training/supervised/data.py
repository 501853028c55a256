"""Training rows: trajectories as token ids and labels, and the order in which they are seen."""

import logging
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from graphwalker.errors import UserError
from graphwalker.files import read_records
from graphwalker.runs import warn_if_unfinished
from graphwalker.tokens.formats import FormatSetting, chat_format
from graphwalker.tokens.segments import IGNORED, RememberingTokenizer, Row, training_rows
from graphwalker.trajectory import Trajectory
from training.config import SftConfig

log = logging.getLogger(__name__)

StepPlan = list[list[list[int]]]
"""Optimizer steps; each a list of forward passes; each a list of row numbers."""


@dataclass(frozen=True, slots=True)
class Demonstrations:
    """Trajectory files whose rows are replayed in GRPO; `SftConfig` documents each field."""

    data: tuple[str, ...]
    format: FormatSetting
    max_length: int
    mask_injected_errors: bool = True


@dataclass(slots=True)
class Rows:
    """The rows that a run trains on, and counts of those that were set aside."""

    rows: list[Row] = field(default_factory=list)
    long_ones: dict[str, int] = field(default_factory=dict)
    """Tokens of the rows that were set aside as too long, by trajectory."""
    longest: int = 0
    """Tokens of the longest row that was seen, set aside or not."""
    longest_turn: int = 0
    """Tokens of the longest trained turn: what the cap of a completion must leave room for."""
    failed: int = 0
    """Trajectories that ended with an infrastructure failure (graph, policy): never trained on."""

    @property
    def too_long(self) -> int:
        return len(self.long_ones)

    @property
    def lengths(self) -> list[int]:
        return [len(row.input_ids) for row in self.rows]

    @property
    def trained_tokens(self) -> int:
        return sum(label != IGNORED for row in self.rows for label in row.labels)

    def facts(self) -> dict[str, Any]:
        lengths = self.lengths
        return {
            "rows": len(lengths),
            "too_long": self.too_long,
            "failed": self.failed,
            "longest": self.longest,
            "tokens": sum(lengths),
            "trained_tokens": self.trained_tokens,
        }

    def length_report(self, limit: int) -> dict[str, Any]:
        """How long the rows are, and which were longer than `limit`: a trajectory's id and the
        number of its context."""
        every = sorted([*self.lengths, *self.long_ones.values()])
        shares = (0.5, 0.9, 0.95, 0.99, 1.0)
        return {
            "max_length": limit,
            "rows": len(every),
            "too_long": self.too_long,
            "longest_turn": self.longest_turn,
            "tokens_at_share": {str(s): every[math.ceil(s * len(every)) - 1] for s in shares},
            "left_out": self.long_ones,
        }


def read_rows(config: SftConfig | Demonstrations, tokenizer: Any) -> Rows:
    """Tokenise the trajectory files. Raises `UserError` when nothing is left to train on."""
    fmt, result = chat_format(config.format), Rows()
    remembering = RememberingTokenizer(tokenizer)
    for trajectory in _trajectories(config.data):
        if trajectory.stop.infrastructure_failure:
            result.failed += 1
            continue
        errors = injected_errors(trajectory) if config.mask_injected_errors else set()
        for number, row in enumerate(training_rows(trajectory, fmt, remembering, errors)):
            result.longest = max(result.longest, len(row.input_ids))
            if len(row.input_ids) > config.max_length:
                result.long_ones[f"{trajectory.id}/{number}"] = len(row.input_ids)
            else:
                result.rows.append(row)
                result.longest_turn = max(result.longest_turn, row.longest_turn)
    if not result.rows:
        raise UserError(
            f"{', '.join(config.data)}: no row to train on ({result.too_long} longer than "
            f"max_length {config.max_length}, {result.failed} failed)"
        )
    if result.too_long:
        log.warning(
            "%d of %d rows are longer than max_length %d (the longest has %d tokens) and set aside",
            result.too_long,
            result.too_long + len(result.rows),
            config.max_length,
            result.longest,
        )
    return result


def injected_errors(trajectory: Trajectory) -> set[int]:
    """Turns in which an expert was made to err, as its provenance lists them."""
    return {e["turn"] for e in trajectory.provenance.get("errors", ()) if e.get("slip")}


def plan_steps(lengths: Sequence[int], config: SftConfig, passes: int) -> StepPlan:
    """The whole run, decided beforehand, so that a resumed run simply skips what was done.

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


def _trajectories(paths: Sequence[str]) -> Iterator[Trajectory]:
    for path in paths:
        warn_if_unfinished(path)
        yield from read_records(path, Trajectory.from_json)


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


def as_dataset(rows: Rows) -> Any:
    """The rows as a `datasets.Dataset` with the columns that `SFTTrainer` takes as they are."""
    from datasets import Dataset, Features, List, Value

    ids = List(Value("int32"))
    columns = {
        "input_ids": [row.input_ids for row in rows.rows],
        "labels": [row.labels for row in rows.rows],
    }
    return Dataset.from_dict(columns, features=Features(input_ids=ids, labels=ids))


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
