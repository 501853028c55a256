"""Shards: a job array makes a run in n parts, and merging them gives the bytes of the whole run."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from math import ceil, sqrt
from pathlib import Path
from typing import Any

from data_pipeline.jobs.goals import Attempts, Goal
from data_pipeline.jobs.ledger import Ledger
from graphwalker.errors import UserError

FOLDER = "shards"


@dataclass(frozen=True, slots=True)
class Shard:
    """Part `index` (from 0) of `of`: of every structure the attempts index, index + of, ..."""

    index: int
    of: int

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Read `i/n`. Raises `UserError` for anything else.

        >>> Shard.parse("0/8")
        Shard(index=0, of=8)
        """
        found = re.fullmatch(r"(\d+)/(\d+)", text.strip())
        if not found or int(found[1]) >= int(found[2]):
            raise UserError(f"--shard {text}: write i/n with i from 0 to n-1, as in 0/8")
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.index}/{self.of}"

    def folder(self, out: Path) -> Path:
        """Where the shard of the run at `out` lies."""
        return out / FOLDER / f"{self.index}-of-{self.of}"

    def numbers(self, done: int) -> Iterator[int]:
        """The attempts of a structure that are its part, behind the first `done` of them."""
        return count(self.index + done * self.of, self.of)

    def target(self, quota: int) -> int:
        """Records to make for a quota of the whole run: a share, and two standard deviations of a
        share, so that merging seldom has to make any itself."""
        share = quota / self.of
        return ceil(share + 2 * sqrt(share))


class ShardGoal(Goal):
    """A shard's share of a goal. Its attempts are not judged against others: merging does that."""

    def __init__(
        self,
        shard: Shard,
        quota: Mapping[str, int],
        source: Attempts,
        ledger: Ledger,
        patience: float = float("inf"),
    ) -> None:
        """A structure is given up after `patience` attempts in a row without a record."""
        targets = {name: shard.target(number) for name, number in quota.items()}
        super().__init__(targets, source, ledger)
        self._shard, self._patience = shard, patience
        self._barren: Counter[str] = Counter()
        self._open = set(targets)

    def next_structure(self) -> str | None:
        behind = [
            name
            for name, target in self.quota.items()
            if name in self._open and self.kept[name] < target
            if self._barren[name] < self._patience
        ]
        return min(behind, key=lambda n: self.kept[n] / self.quota[n]) if behind else None

    def numbers(self, structure: str) -> Iterator[int]:
        return self._shard.numbers(self.tried[structure])

    def count(self, structure: str, kept: bool) -> None:
        super().count(structure, kept)
        self._barren[structure] = 0 if kept else self._barren[structure] + 1

    def exhausted(self, structure: str) -> None:
        self._open.remove(structure)

    @property
    def card(self) -> dict[str, Any]:
        """What merging reads in the shard's card: how many attempts of each structure it made."""
        tried = {name: self.tried[name] for name in self.quota}
        return {"shard": str(self._shard), "tried": tried}
