"""Streams of attempts, what they yield, and which stream the next attempt is of."""

from collections import deque
from collections.abc import Container, Iterable
from functools import cache
from typing import NamedTuple

from data_pipeline.walks.lookahead import TOPICS
from data_pipeline.walks.sampler import TOPICS as BLIND_TOPICS

AHEAD = "+"
STEP = "~"


class Stream(NamedTuple):
    """Attempts of one kind, numbered from 0. Its name stands in the ids of what they make.

    >>> [str(Stream("2-hop")), str(Stream("2-hop", 1)), str(Stream("5-hop", 1, 2))]
    ['2-hop', '2-hop~1', '5-hop~1+2']
    """

    structure: str
    step: int = 0
    """How often the rule of plausibility has given way."""
    level: int | None = None
    """Where walks are drawn ahead (`LookaheadWalker`), how often the relations that they keep off
    have become more."""

    def __str__(self) -> str:
        step = f"{STEP}{self.step}" if self.step else ""
        return f"{self.structure}{step}{'' if self.level is None else f'{AHEAD}{self.level}'}"


@cache
def parse_stream(name: str) -> Stream:
    """Inverse of `str(stream)`."""
    rest, ahead, level = name.partition(AHEAD)
    structure, _, step = rest.partition(STEP)
    return Stream(structure, int(step or 0), int(level) if ahead else None)


WINDOW, KEPT, LOST = 200, 120, 60
"""Walks are drawn ahead where of the last `WINDOW` blind attempts fewer than `KEPT` were kept, or
`LOST` ended nowhere."""
DEAD_END, RELATION_SHARE = "dead_end", "relation_share"
"""Why a walk was not drawn, and why one is dropped that takes a relation which has its share."""
FULL = 8
"""Attempts that end because a relation has its share, after which walks keep off such relations
from the start."""
AHEAD_COUNTS = TOPICS // BLIND_TOPICS
"""Blind attempts that one counts for which is drawn ahead, where none of them is kept: it starts
from so many more entities."""
LEVELS = 12
"""Times that they come to keep off more relations."""


class _Attempted:
    """The attempts of one stream, in their order."""

    def __init__(self) -> None:
        self.tried = 0
        self.productive = 0
        """Attempts up to the last one that was kept."""
        self.full = 0
        """Those that ended because a relation has its share."""
        self._kept, self._lost = deque[int](maxlen=KEPT), deque[int](maxlen=LOST)

    def add(self, number: int, reason: str) -> None:
        self.tried += 1
        if not reason:
            self.productive = number + 1
            self._kept.append(number)
        elif reason == DEAD_END:
            self._lost.append(number)
        self.full += reason == RELATION_SHARE

    @property
    def is_poor(self) -> bool:
        before = self.tried - 1 - WINDOW
        few = (self._kept[0] if len(self._kept) == KEPT else -1) < before
        return few or (len(self._lost) == LOST and self._lost[0] > before)


class Yields:
    """Follows from the endings of all attempts alone, in any order in which each stream's own
    order is kept: a run that is resumed goes the same way."""

    def __init__(
        self, structures: Iterable[str], steps: int, patience: int, ahead: Container[str]
    ) -> None:
        """`steps` of the rule of plausibility, each for as long as at most `patience` attempts in a
        row keep nothing; `ahead`: structures that may be drawn ahead."""
        self._patience = patience
        self._of: dict[str, list[list[str]]] = {
            name: [
                [str(Stream(name, step, level)) for level in _levels(name in ahead)]
                for step in range(steps)
            ]
            for name in structures
        }
        self._attempted = {stream: _Attempted() for stream in self.streams}
        self._next: dict[str, str | None] = {}
        """Of each structure, until its next attempt is counted."""

    @property
    def streams(self) -> list[str]:
        """Every stream that there may be, structure by structure, in the order of their use."""
        return [name for steps in self._of.values() for step in steps for name in step]

    def add(self, stream: str, number: int, reason: str) -> None:
        """Count an attempt by why it was dropped, `""` where it was kept."""
        self._attempted[stream].add(number, reason)
        self._next.pop(parse_stream(stream).structure, None)

    def stream(self, structure: str) -> str | None:
        """The stream of the structure's next attempt; `None` where it is exhausted."""
        if structure not in self._next:
            steps = (s for s in self._of[structure] if self._fruitless(s) < self._patience)
            step = next(steps, None)
            self._next[structure] = self._within(step) if step else None
        return self._next[structure]

    def _fruitless(self, step: list[str]) -> int:
        """Attempts since the last one that was kept."""
        found = 0
        for name in reversed(step):
            attempted = self._attempted[name]
            if attempted.tried:
                vain = attempted.tried - attempted.productive
                found += vain if name == step[0] else vain * AHEAD_COUNTS
                if attempted.productive:
                    break
        return found

    def _within(self, step: list[str]) -> str:
        blind, *levels = step
        if not levels or not self._attempted[blind].is_poor:
            return blind
        return next((n for n in levels if self._attempted[n].full < FULL), levels[-1])


def _levels(ahead: bool) -> list[int | None]:
    return [None, *(range(LEVELS) if ahead else ())]
