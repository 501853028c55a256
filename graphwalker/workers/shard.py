"""A shard: one of the n parts in which a job array makes a run."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from math import ceil, sqrt
from pathlib import Path
from typing import TypeVar

from graphwalker.errors import UserError

FOLDER = "shards"
MOST_SHARDS = 10_000
"""Parts of an array; Slurm takes 1,001 as it is installed."""
T = TypeVar("T")


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
        index, of = (min(int(one[:9]), 10**8) for one in found.groups()) if found else (1, 0)
        if index >= of or of > MOST_SHARDS:
            raise UserError(
                f"--shard {text[:40]}: write i/n with i from 0 to n-1, as in 0/8, and n up to "
                f"{MOST_SHARDS:,}"
            )
        return cls(index, of)

    def __str__(self) -> str:
        return f"{self.index}/{self.of}"

    def folder(self, out: Path) -> Path:
        """Return where the shard of the run at `out` lies."""
        return out / FOLDER / f"{self.index}-of-{self.of}"

    def numbers(self, done: int) -> Iterator[int]:
        """Return the attempts of a structure that are its part, behind the first `done` of them."""
        return count(self.index + done * self.of, self.of)

    def target(self, quota: int) -> int:
        """Records to make for a quota of the whole run: a share, and two standard deviations of a
        share, so that merging seldom has to make any itself."""
        share = quota / self.of
        return ceil(share + 2 * sqrt(share))

    def part(self, items: Sequence[T]) -> list[T]:
        """Return the shard's share of a list: every n-th of its items."""
        return list(items[self.index :: self.of])


def shard_folders(out: Path, mark: str) -> list[Path]:
    """Get the shards' folders of a run in order, each with the file `mark`, which is written last.

    Raises `UserError` naming the shards that are missing or unfinished.
    """
    folders = [path for path in (out / FOLDER).glob("*-of-*") if path.is_dir()]
    if not folders:
        raise UserError(f"{out / FOLDER}: no shards here; make them with --shard i/n --out {out}")
    numbers = {path.name.partition("-of-")[2] for path in folders}
    if len(numbers) > 1:
        raise UserError(
            f"{out / FOLDER} holds shards of {' and of '.join(sorted(numbers))}: "
            "remove those of one array"
        )
    of = Shard.parse(f"0/{numbers.pop()}").of
    wanted = [out / FOLDER / f"{k}-of-{of}" for k in range(of)]
    lacking = [str(k) for k, path in enumerate(wanted) if not (path / mark).is_file()]
    if lacking:
        raise UserError(
            f"{out / FOLDER}: {len(lacking)} of {of} shards are missing or unfinished: "
            f"{','.join(lacking)}; run them again (sbatch --array={','.join(lacking)})"
        )
    return wanted
