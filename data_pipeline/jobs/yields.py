"""What attempts yield: of each structure, which stream of attempts the next one is of."""

from collections import deque
from collections.abc import Container, Iterable

from data_pipeline.walks.lookahead import TOPICS
from data_pipeline.walks.sampler import TOPICS as BLIND_TOPICS
from data_pipeline.walks.streams import Stream

WINDOW, KEPT = 200, 20
"""Walks are drawn ahead where fewer than `KEPT` of the last `WINDOW` blind attempts were kept."""
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
        self._last = deque[int](maxlen=KEPT)

    def kept(self, number: int) -> None:
        self.productive = number + 1
        self._last.append(number)

    @property
    def is_poor(self) -> bool:
        first = self._last[0] if len(self._last) == KEPT else -1
        return self.tried - 1 - first > WINDOW


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

    @property
    def streams(self) -> list[str]:
        """Every stream that there may be, structure by structure, in the order of their use."""
        return [name for steps in self._of.values() for step in steps for name in step]

    def add(self, stream: str, number: int, kept: bool, is_full: bool) -> None:
        """Count the ending of an attempt. `is_full`: a relation had its share."""
        attempted = self._attempted[stream]
        attempted.tried += 1
        attempted.full += is_full
        if kept:
            attempted.kept(number)

    def stream(self, structure: str) -> str | None:
        """The stream of the structure's next attempt; `None` where it is exhausted."""
        for step in self._of[structure]:
            if self._fruitless(step) < self._patience:
                return self._within(step)
        return None

    def _fruitless(self, step: list[str]) -> int:
        """Attempts since the last one that was kept."""
        found = 0
        for place, name in reversed([*enumerate(step)]):
            attempted = self._attempted[name]
            vain = attempted.tried - attempted.productive
            found += vain * AHEAD_COUNTS if place else vain
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
