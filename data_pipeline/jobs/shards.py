"""Shards: a job array makes a run in n parts, and merging them gives the bytes of the whole run."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from math import ceil, sqrt
from pathlib import Path
from typing import Any

from data_pipeline.jobs.ledger import Ledger, Progress
from graphwalker.errors import UserError

FOLDER = "shards"

Unit = list[tuple[str, dict[str, Any]]]
"""The (file, record) pairs of one attempt, its ending last."""
Room = Callable[[], int]
"""How many more records are wanted now."""


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


def make_share(
    ledger: Ledger,
    quota: Mapping[str, int],
    units: Callable[[str, Iterator[int], Room], Iterator[Unit]],
    structure_of: Callable[[Mapping[str, Any]], str],
    shard: Shard,
    patience: int,
    progress: Progress | None,
) -> dict[str, int]:
    """Make a shard's attempts until each structure has its target, or has none to give any more.

    `units(structure, numbers, room)` makes the attempts of those numbers, `room` of them at most
    ahead of their reader; they are not judged against other attempts. Returns how many attempts of
    each structure there are now.
    """
    targets = {name: shard.target(number) for name, number in quota.items()}
    made, _ = ledger.endings
    tried, kept, barren = Counter[str](), Counter[str](), Counter[str]()
    for name in ledger.endings:
        for structure in map(structure_of, ledger.records(name)):
            tried[structure] += 1
            kept[structure] += name == made
    streams = {
        name: units(name, shard.numbers(tried[name]), _room(targets, kept, name))
        for name in targets
    }
    while open_ones := [name for name in streams if kept[name] < targets[name]]:
        structure = min(open_ones, key=lambda name: kept[name] / targets[name])
        unit = next(streams[structure], None) if barren[structure] < patience else None
        if unit is None:
            del streams[structure]
            continue
        ledger.write(unit)
        tried[structure] += 1
        good = unit[-1][0] == made
        kept[structure] += good
        barren[structure] = 0 if good else barren[structure] + 1
        if progress and good:
            progress(kept.total(), sum(targets.values()), f"shard {shard}")
    return {name: tried[name] for name in targets}


def _room(targets: Mapping[str, int], kept: Mapping[str, int], name: str) -> Room:
    return lambda: targets[name] - kept[name]
