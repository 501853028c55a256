"""Streams of attempts at a structure, and which of them the next attempt is of."""

from collections import deque
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

STEP, LEVEL = "~", "+"
RELATION_SHARE = "relation_share"
"""Why a walk is dropped that takes a relation which has its share."""
WINDOW, FULL = 40, 20
"""A stream ends where of its last `WINDOW` attempts `FULL` were dropped for that: the next one
avoids such relations from the start."""


class Stream(NamedTuple):
    """Attempts of one kind, numbered from 0. Its name stands in the ids of what they make.

    >>> [str(Stream("2-hop")), str(Stream("2-hop", 1)), str(Stream("5-hop", 1, 2))]
    ['2-hop', '2-hop~1', '5-hop~1+2']
    """

    structure: str
    step: int = 0
    """How often the rule of plausibility has given way."""
    level: int = 0
    """How often the relations that it avoids have become more."""

    def __str__(self) -> str:
        step = f"{STEP}{self.step}" if self.step else ""
        return f"{self.structure}{step}{f'{LEVEL}{self.level}' if self.level else ''}"


@cache
def parse_stream(name: str) -> Stream:
    """Inverse of `str(stream)`."""
    rest, _, level = name.partition(LEVEL)
    structure, _, step = rest.partition(STEP)
    return Stream(structure, int(step or 0), int(level or 0))


class _Attempted:
    """The attempts of one stream, in their order."""

    def __init__(self) -> None:
        self.tried = 0
        self.productive = 0
        """Attempts up to the last one that was kept."""
        self._full = deque[int](maxlen=FULL)

    def add(self, number: int, reason: str) -> None:
        self.tried += 1
        if not reason:
            self.productive = number + 1
        elif reason == RELATION_SHARE:
            self._full.append(number)

    @property
    def is_over(self) -> bool:
        return len(self._full) == FULL and self._full[0] >= self.tried - WINDOW


class StreamOrder:
    """Follows from the endings of all attempts alone, in any order in which each stream's own
    order is kept: a run that is resumed goes the same way."""

    def __init__(self, structures: Iterable[str], steps: int, patience: int) -> None:
        """`steps` of the rule of plausibility, each for as long as at most `patience` attempts in a
        row keep nothing."""
        self._patience = patience
        self._levels = {name: [[_Attempted()] for _ in range(steps)] for name in structures}
        """Of each structure, for each step, the streams in the order of their use."""
        self._next: dict[str, str | None] = {}
        """Of each structure, until its next attempt is counted."""

    def add(self, stream: str, number: int, reason: str) -> None:
        """Count an attempt by why it was dropped, `""` where it was kept."""
        structure, step, level = parse_stream(stream)
        levels = self._levels[structure][step]
        levels += [_Attempted() for _ in range(level + 1 - len(levels))]
        levels[level].add(number, reason)
        self._next.pop(structure, None)

    def stream(self, structure: str) -> str | None:
        """Return the stream of the structure's next attempt; `None` where it is exhausted."""
        if structure not in self._next:
            self._next[structure] = self._find(structure)
        return self._next[structure]

    def _find(self, structure: str) -> str | None:
        for step, levels in enumerate(self._levels[structure]):
            if _fruitless(levels) < self._patience:
                if levels[-1].is_over:
                    levels.append(_Attempted())
                return str(Stream(structure, step, len(levels) - 1))
        return None


def _fruitless(levels: list[_Attempted]) -> int:
    """Attempts since the last one that was kept."""
    found = 0
    for attempted in reversed(levels):
        found += attempted.tried - attempted.productive
        if attempted.productive:
            break
    return found
