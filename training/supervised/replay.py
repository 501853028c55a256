"""Replay: rows of demonstrations in the steps of another trainer, as a second term of its loss."""

import logging
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from torch import Tensor
from torch.nn.functional import cross_entropy

from graphwalker.tokens.segments import IGNORED
from training.supervised.batches import Collator, PlannedRows
from training.supervised.rows import Demonstrations, Rows, read_rows

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReplayPart:
    """The rows of one pass of one process: tensors (rows, tokens)."""

    ids: Tensor
    attention: Tensor
    labels: Tensor
    of: int
    """Trained tokens of all passes of the step, over all processes."""


class Replay:
    """The demonstrations, dealt to steps by `seed` alone, so a resumed run sees what it would have
    seen."""

    def __init__(self, rows: Rows, per_step: int, weight: float, pad_id: int, seed: int) -> None:
        self.weight = weight
        self._rows, self._lengths = PlannedRows(rows.dataset), rows.lengths
        self._per_step, self._seed = min(per_step, len(self._rows)), seed
        self._collate = Collator(pad_id)

    @classmethod
    def read(
        cls,
        source: Demonstrations,
        per_step: int,
        weight: float,
        tokenizer: Any,
        seed: int,
        cache: Path,
    ) -> "Replay":
        """Raise `UserError` where no row is left."""
        rows = read_rows(source, tokenizer, cache)
        log.info("replay: %s", ", ".join(f"{name} {n:,}" for name, n in rows.facts().items()))
        return cls(rows, per_step, weight, tokenizer.pad_token_id or 0, seed)

    def step(self, number: int) -> list[int]:
        """Row numbers of that optimizer step, counted from 0, the longest first."""
        round_, first = divmod(number * self._per_step, len(self._rows))
        rows = islice(self._order(round_), first, first + self._per_step)
        return sorted(rows, key=lambda row: (-self._lengths[row], row))

    def part(self, step: int, place: int, of: int) -> ReplayPart:
        """Pass number `place` of the `of` passes of all processes."""
        rows = self.step(step)
        edges = [round(k * len(rows) / of) for k in range(of + 1)]
        # Processes that share parameters out must run as many passes as each other.
        mine = rows[edges[place] : edges[place + 1]] or [~rows[-1]]
        batch = self._collate([self._rows[i] for i in mine])
        total = sum(_count(self._rows[i]) for i in rows)
        return ReplayPart(batch["input_ids"], batch["attention_mask"], batch["labels"], total)

    def _order(self, round_: int) -> Iterator[int]:
        """Yield all rows in an order of this round's own, then those of the next round."""
        while True:
            rng = random.Random(f"{self._seed}:replay:{round_}")
            yield from rng.sample(range(len(self._rows)), len(self._rows))
            round_ += 1


def replay_loss(model: Any, part: ReplayPart, selective: bool) -> Tensor:
    """Return the part's share of the step's mean cross-entropy: its sum over trained tokens, by the
    trained tokens of the step. `selective`: the model takes `score_at` (see heads.py)."""
    device = next(model.parameters()).device
    ids, labels = part.ids.to(device), part.labels.to(device)[:, 1:]
    rows, places = (labels != IGNORED).nonzero(as_tuple=True)
    if selective:  # padded on the right, so causal attention needs no mask
        logits = model(input_ids=ids, score_at=(rows, places))
    else:
        logits = model(input_ids=ids, attention_mask=part.attention.to(device)).logits
        logits = logits[rows, places]
    total = cross_entropy(logits.float(), labels[rows, places], reduction="sum")
    return total / max(1, part.of)


def _count(row: dict[str, Any]) -> int:
    return int((row["labels"][1:] != IGNORED).sum())
