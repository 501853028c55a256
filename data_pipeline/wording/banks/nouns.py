"""Does the noun that a question asks for fit its answers? `what rivers ...` finds rivers."""

import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from graphwalker.graphs.base import Entity

_OPENING = r"^(?:in |on |at |to )?(?:what|which)(?: (?:other|famous|big|major|main|us|rock|boy))* "


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a noun asks for."""

    one_of: frozenset[str] | None
    none_of: frozenset[str]
    named: tuple[str, ...]

    def is_met(self, answer: Entity, kinds: Sequence[str]) -> bool:
        if self.named:
            return any(part in answer.name.lower() for part in self.named)
        if not kinds:
            return True
        fit = self.one_of is None or not self.one_of.isdisjoint(kinds)
        return fit and self.none_of.isdisjoint(kinds)


@cache
def _nouns() -> tuple[re.Pattern[str], dict[str, _Wanted]]:
    """What finds the noun of a question, and what every noun asks for."""
    path = files("data_pipeline.wording").joinpath("banks", "nouns.toml")
    known: dict[str, _Wanted] = {}
    for row in tomllib.loads(path.read_text(encoding="utf-8"))["noun"]:
        fit = frozenset(row["one_of"]) if "one_of" in row else None
        wanted = _Wanted(fit, frozenset(row.get("none_of", ())), tuple(row.get("named", ())))
        known.update(dict.fromkeys(row["words"], wanted))
    words = "|".join(sorted(map(re.escape, known), key=len, reverse=True))
    return re.compile(rf"{_OPENING}({words})\b(?! of\b)", re.IGNORECASE), known


def fits(form: str, answers: Iterable[Entity], types: Callable[[str], Sequence[str]]) -> bool:
    """Whether all answers whose types are known are what the question's noun says.

    >>> fits("what rivers are in {x}", [Entity("m", "Nile")], lambda _: ["geography.river"])
    True
    >>> fits("what rivers are in {x}", [Entity("m", "Cairo")], lambda _: ["location.citytown"])
    False
    """
    wanted = _wanted(form)
    return not wanted or all(wanted.is_met(answer, types(answer.id)) for answer in answers)


@lru_cache(1 << 14)
def _wanted(form: str) -> _Wanted | None:
    """What the noun of a question asks for, where it has a known one."""
    pattern, known = _nouns()
    found = pattern.match(form)
    return known[found[1].lower()] if found else None
