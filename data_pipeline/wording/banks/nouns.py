"""Does the noun that a question asks for fit its answers? `what rivers ...` finds rivers."""

import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from data_pipeline.wording.english import plural
from data_pipeline.wording.kinds_of_nodes import SAYS_NOTHING, type_noun
from graphwalker.graphs.base import Entity

Types = Callable[[str], Sequence[str]]
"""The types of an entity, by its id."""

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
def nouns_by_type() -> dict[str, tuple[str, ...]]:
    """Return the nouns of the types of Freebase that questions are made for (`types.toml`)."""
    path = files("data_pipeline.wording").joinpath("banks", "types.toml")
    rows = tomllib.loads(path.read_text(encoding="utf-8"))["type"]
    return {kind: tuple(row["nouns"]) for row in rows for kind in row["ids"]}


@cache
def _table() -> dict[str, Any]:
    path = files("data_pipeline.wording").joinpath("banks", "nouns.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


@cache
def _nouns() -> tuple[re.Pattern[str], dict[str, _Wanted]]:
    """What finds the noun of a question, and what every noun asks for."""
    known: dict[str, _Wanted] = {}
    for row in _table()["noun"]:
        fit = frozenset(row["one_of"]) if "one_of" in row else None
        wanted = _Wanted(fit, frozenset(row.get("none_of", ())), tuple(row.get("named", ())))
        known.update(dict.fromkeys(row["words"], wanted))
    words = "|".join(sorted(map(re.escape, known), key=len, reverse=True))
    return re.compile(rf"{_OPENING}({words})\b(?! of\b)", re.IGNORECASE), known


def fits(form: str, answers: Iterable[Entity], types: Types) -> bool:
    """Whether all answers whose types are known are what the question's noun says.

    >>> fits("what rivers are in {x}", [Entity("m", "Nile")], lambda _: ["geography.river"])
    True
    >>> fits("what rivers are in {x}", [Entity("m", "Cairo")], lambda _: ["location.citytown"])
    False
    """
    wanted = _wanted(form)
    return not wanted or all(wanted.is_met(answer, types(answer.id)) for answer in answers)


@lru_cache(1 << 12)
def nouns_of_type(kind: str) -> tuple[str, ...]:
    """The nouns that ask for things of a type, singular and plural first; none for a type by which
    nobody asks. Types of Freebase are in the table; elsewhere a type's own name is its noun.

    >>> nouns_of_type("location.us_county"), nouns_of_type("http://x.org/ns#RailwayStation")
    (('county', 'counties'), ('railway station', 'railway stations'))
    >>> nouns_of_type("common.topic")
    ()
    """
    if kind in nouns_by_type():
        return nouns_by_type()[kind]
    if "." in kind and not {"/", ":"} & set(kind):  # another type of Freebase
        return ()
    noun = type_noun(re.split(r"[/#:]", kind)[-1])
    return () if noun in SAYS_NOTHING or not noun.isascii() else (noun, plural(noun))


def tells_apart(kind: str, candidates: Sequence[Entity], types: Types) -> bool:
    """Whether some of the candidates, not all, are of the type, and nobody would call the others by
    its nouns: none has such a noun in its name, or types that the nouns fit, too.

    >>> kinds = {"Spain": ["location.country"], "Biscay": ["location.location"]}
    >>> tells_apart("location.country", [Entity(i, i) for i in kinds], kinds.__getitem__)
    True
    """
    nouns = nouns_of_type(kind)
    if not nouns:
        return False
    found = {candidate: types(candidate.id) for candidate in candidates}
    left = {candidate: kinds for candidate, kinds in found.items() if kind not in kinds}
    if len(left) in (0, len(found)) or not all(found.values()):
        return False
    names = (f" {candidate.name.casefold()} " for candidate in left)
    if any(f" {noun} " in name for name in names for noun in nouns):
        return False
    if kind not in nouns_by_type():
        return True
    others = set(_table()["others"].get(kind, ()))
    if others and any(others.isdisjoint(kinds) for kinds in left.values()):
        return False
    wanted = _nouns()[1][nouns[0]]
    return all(wanted.is_met(c, kinds) != (c in left) for c, kinds in found.items())


def asks_by_type(form: str, kind: str) -> str:
    """The noun of a type that a whole question asks by, `""` where it asks by none.

    >>> asks_by_type("what countries border {x}", "location.country")
    'countries'
    """
    found = _nouns()[0].match(form)
    noun = found[1].lower() if found else ""
    return noun if noun in nouns_of_type(kind) else ""


@lru_cache(1 << 14)
def _wanted(form: str) -> _Wanted | None:
    """What the noun of a question asks for, where it has a known one."""
    pattern, known = _nouns()
    found = pattern.match(form)
    return known[found[1].lower()] if found else None
