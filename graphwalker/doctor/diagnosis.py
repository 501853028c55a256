"""A diagnosis: what was looked at, what was found, and the next move where it is wrong."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from graphwalker.errors import GraphWalkerError

Health = Literal["ok", "note", "wrong"]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """`wrong`: the run would fail or do something else than was asked for."""

    what: str
    verdict: Health
    found: str
    next: str = ""


def ok(what: str, found: str) -> Diagnosis:
    """Note that it is as the run needs it."""
    return Diagnosis(what, "ok", found)


def note(what: str, found: str, advice: str = "") -> Diagnosis:
    """Note what is not needed, as far as is known."""
    return Diagnosis(what, "note", found, advice)


def wrong(what: str, found: str, advice: str) -> Diagnosis:
    """Note what has to be mended first."""
    return Diagnosis(what, "wrong", found, advice)


def looked_at(what: str, advice: str, look: Callable[[], str]) -> Iterator[Diagnosis]:
    """`ok` with what `look` says; `wrong` with the first line of the error that it raises."""
    try:
        yield ok(what, look())
    except (GraphWalkerError, OSError, ValueError) as error:
        lines = str(error).splitlines() or [type(error).__name__]
        yield wrong(what, lines[0], advice)
