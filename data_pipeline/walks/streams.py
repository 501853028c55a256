"""Streams of attempts: of which structure, under which step of the rule, drawn ahead or not."""

from functools import cache
from typing import NamedTuple

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
