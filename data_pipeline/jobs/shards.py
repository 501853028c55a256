"""Shards of a data job: a job array makes a run in n parts; merging gives the whole run."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import count, takewhile
from pathlib import Path
from typing import Any

from data_pipeline.jobs.goals import Attempts, Goal, Streams, make_units
from data_pipeline.jobs.ledger import RUN, Ledger, Unit, read_attempts, unit_of
from graphwalker.errors import UserError
from graphwalker.files import read_json
from graphwalker.runs import CARD
from graphwalker.workers.pool import Pool
from graphwalker.workers.shard import Shard, shard_folders


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
        """Give up a structure after `patience` attempts in a row without a record."""
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

    def exhaust(self, structure: str) -> None:
        self._open.remove(structure)

    @property
    def card(self) -> dict[str, Any]:
        """What merging reads in the shard's card: how many attempts of each structure it made."""
        tried = {name: self.tried[name] for name in self.quota}
        return {"shard": str(self._shard), "tried": tried}


AGAIN = "make that shard again"


class Shards:
    """All shards of a run, each of them finished."""

    def __init__(self, out: Path) -> None:
        """Raise `UserError` naming a shard that is missing, unfinished, or of another run."""
        self.folders = shard_folders(out, CARD)
        self._tried = [_tried_counts(folder) for folder in self.folders]
        runs = [read_json(folder / RUN, AGAIN) for folder in self.folders]
        self.run = {key: value for key, value in runs[0].items() if key != "shard"}
        """What they were made from: stage, graph, config."""
        for k, (folder, run) in enumerate(zip(self.folders, runs, strict=True)):
            if run != {**self.run, "shard": f"{k}/{len(runs)}"}:
                raise UserError(
                    f"{folder} was made with other settings, or on another graph, than "
                    f"{self.folders[0]}: remove it and make that shard again"
                )

    def streams(self, goal: Goal, pool: Pool[Any, Unit]) -> Streams:
        """Get the attempts to come of each structure. The pool makes those that no shard has tried.

        Raises `UserError` when an attempt that a shard counts is not in its files.
        """
        return Streams(goal, partial(self._stream, goal, pool))

    def _stream(self, goal: Goal, pool: Pool[Any, Unit], structure: str) -> Iterator[Unit]:
        source, start = goal.source, goal.tried[structure]
        untried = (k for k in count(start) if not self._holds(structure, k))
        missing = make_units(goal, pool, structure, untried)
        held = [_attempts_of(folder, structure, source) for folder in self.folders]
        for k in takewhile(lambda k: source.job(structure, k) is not None, count()):
            if self._holds(structure, k):
                unit = _take(held[k % len(held)], source.unit(structure, k))
                if k >= start:
                    yield unit
            elif k >= start:
                yield next(missing)

    def _holds(self, structure: str, k: int) -> bool:
        of = len(self.folders)
        return k // of < self._tried[k % of].get(structure, 0)


def _tried_counts(folder: Path) -> dict[str, int]:
    tried = read_json(folder / CARD, AGAIN).get("tried")
    if not isinstance(tried, dict):
        raise UserError(f"{folder / CARD} is not the card of a shard: make that shard again")
    return tried


def _attempts_of(folder: Path, structure: str, source: Attempts) -> Iterator[Unit]:
    """Yield a shard's attempts of one structure, in their order."""
    for unit in read_attempts(folder):
        if source.structure_of(unit[-1][1]) == structure:
            yield unit


def _take(attempts: Iterator[Unit], name: str) -> Unit:
    unit = next(attempts, None)
    if unit is None or unit_of(unit[-1][1]) != name:
        raise UserError(
            f"attempt {name} is missing in its shard: remove the shard's folder and make it again"
        )
    return unit
