"""Shards of a data job: a job array makes a run in n parts; merging gives the whole run."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from data_pipeline.jobs.goals import Attempts, Goal
from data_pipeline.jobs.ledger import Ledger
from graphwalker.jobs.shard import Shard


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
