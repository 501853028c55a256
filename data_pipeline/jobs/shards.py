"""Shards of a data job: a job array makes a run in n parts; merging gives the whole run."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, takewhile
from pathlib import Path
from typing import Any

from data_pipeline.jobs.goals import Attempts, Goal, Streams, make_units
from data_pipeline.jobs.ledger import RUN, Ledger, Unit, unit_of
from graphwalker.errors import UserError
from graphwalker.files import read_json, read_jsonl
from graphwalker.jobs.shard import Shard, shard_folders
from graphwalker.workers import Pool


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

    def exhaust(self, structure: str) -> None:
        self._open.remove(structure)

    @property
    def card(self) -> dict[str, Any]:
        """What merging reads in the shard's card: how many attempts of each structure it made."""
        tried = {name: self.tried[name] for name in self.quota}
        return {"shard": str(self._shard), "tried": tried}


CARD = "datacard.json"
"""Written last: a shard that has one is finished."""
AGAIN = "make that shard again"


class Shards:
    """All shards of a run, each of them finished."""

    def __init__(self, out: Path) -> None:
        """Raises `UserError` naming a shard that is missing, unfinished or of another making."""
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
        """The attempts to come of each structure. The pool makes those that no shard has tried.

        Raises `UserError` when an attempt that a shard counts is not in its files.
        """
        return {name: self._stream(goal, pool, name) for name in goal.streams}

    def _stream(self, goal: Goal, pool: Pool[Any, Unit], structure: str) -> Iterator[Unit]:
        source, start = goal.source, goal.tried[structure]
        untried = (k for k in count(start) if not self._holds(structure, k))
        missing = make_units(goal, pool, structure, untried)
        lanes = [Lane(folder, goal.files, structure, source) for folder in self.folders]
        for k in takewhile(lambda k: source.job(structure, k) is not None, count()):
            held = self._holds(structure, k)
            unit = lanes[k % len(lanes)].take(source.unit(structure, k)) if held else []
            if k >= start:
                yield unit if held else next(missing)

    def _holds(self, structure: str, k: int) -> bool:
        of = len(self.folders)
        return k // of < self._tried[k % of].get(structure, 0)


class Lane:
    """One structure's attempts in one shard, read side by side from its files."""

    def __init__(
        self, folder: Path, files: Sequence[str], structure: str, source: Attempts
    ) -> None:
        self._folder, self._endings = folder, files[-2:]
        self._readers = {
            name: (r for r in read_jsonl(folder / name) if source.structure_of(r) == structure)
            for name in files
        }
        self._heads = {name: next(reader, None) for name, reader in self._readers.items()}

    def take(self, name: str) -> Unit:
        """The records of the next attempt. Raises `UserError` unless it is `name`."""
        unit: Unit = []
        for file, head in self._heads.items():
            if head is not None and unit_of(head) == name:
                unit.append((file, head))
                self._heads[file] = next(self._readers[file], None)
        if not unit or unit[-1][0] not in self._endings:
            raise UserError(
                f"{self._folder}: attempt {name} is missing: remove the folder and make that "
                "shard again"
            )
        return unit


def _tried_counts(folder: Path) -> dict[str, int]:
    tried = read_json(folder / CARD, AGAIN).get("tried")
    if not isinstance(tried, dict):
        raise UserError(f"{folder / CARD} is not the card of a shard: make that shard again")
    return tried
