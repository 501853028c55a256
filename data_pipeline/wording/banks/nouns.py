"""Does the noun that a question asks for fit its answers? `what rivers ...` finds rivers."""

import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.resources import files

from graphwalker.graphs.base import Entity

_ASKED = r"^(?:in |on |at |to )?(?:what|which)(?: (?:other|famous|big|major|main|us|rock|boy))* "


@cache
def _nouns() -> tuple[re.Pattern[str], dict[str, tuple[frozenset[str] | None, frozenset[str]]]]:
    """What finds the noun of a question, and of every noun the types that fit and that do not."""
    path = files("data_pipeline.wording").joinpath("banks", "nouns.toml")
    known: dict[str, tuple[frozenset[str] | None, frozenset[str]]] = {}
    for row in tomllib.loads(path.read_text(encoding="utf-8"))["noun"]:
        fit = frozenset(row["one_of"]) if "one_of" in row else None
        known.update(dict.fromkeys(row["words"], (fit, frozenset(row.get("none_of", ())))))
    words = "|".join(sorted(map(re.escape, known), key=len, reverse=True))
    return re.compile(rf"{_ASKED}({words})\b(?! of\b)", re.IGNORECASE), known


def fits(form: str, answers: Iterable[Entity], types: Callable[[str], Sequence[str]]) -> bool:
    """Whether all answers whose types are known are what the question's noun says.

    >>> fits("what rivers are in {x}", [Entity("m", "Nile")], lambda _: ["geography.river"])
    True
    >>> fits("what rivers are in {x}", [Entity("m", "Cairo")], lambda _: ["location.citytown"])
    False
    """
    pattern, known = _nouns()
    found = pattern.match(form)
    if not found:
        return True
    one_of, none_of = known[found[1].lower()]
    return all(
        (one_of is None or not one_of.isdisjoint(kinds)) and none_of.isdisjoint(kinds)
        for kinds in (types(answer.id) for answer in answers)
        if kinds
    )
