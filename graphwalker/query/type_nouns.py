"""By which nouns a question asks for a type of entity: `countries` for `location.country`."""

import re
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from importlib.resources import files

LONGEST = 3
"""Words of the longest noun that is looked for in a text."""


@cache
def table() -> dict[str, tuple[str, ...]]:
    """The nouns of the types of Freebase that people ask for, by `type_nouns.toml`."""
    text = files("graphwalker.query").joinpath("type_nouns.toml").read_text(encoding="utf-8")
    rows = tomllib.loads(text)["type"]
    return {kind: tuple(row["nouns"]) for row in rows for kind in row["ids"]}


def last_words(some_id: str) -> str:
    """The last words of an id of a relation or a type, whatever separates them.

    >>> last_words("location.us_county"), last_words("http://x.org/p#bornIn")
    ('us county', 'born in')
    """
    last = re.split(r"[./:#]", some_id.rstrip("./:#"))[-1]
    return " ".join(re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", last).lower()))


@lru_cache(1 << 14)
def nouns_of(kind: str) -> tuple[str, ...]:
    """What things of a type are called, singular and plural first; else the last part of its id.

    >>> nouns_of("location.us_county"), nouns_of("http://x.org/ns#RailwayStation")
    (('county', 'counties'), ('railway station', 'railway stations'))
    """
    if kind in table():
        return table()[kind]
    noun = last_words(kind)
    return (noun, _plural(noun)) if noun else ()


def has_noun(kind: str) -> bool:
    """Whether people ask by this type: of Freebase's those in the table, of other graphs all.

    >>> has_noun("location.country"), has_noun("common.topic"), has_noun("Person")
    (True, False, True)
    """
    return kind in table() or "." not in kind or "/" in kind or ":" in kind


def is_called(noun: str, kinds: Iterable[str]) -> bool:
    """Whether something of these types is called by the noun.

    >>> is_called("countries", ["common.topic", "location.country"])
    True
    """
    return any(noun in nouns_of(kind) for kind in kinds)


def phrases_in(text: str) -> Sequence[str]:
    """Every run of words of a text that may be a noun, the longest first, in lower case.

    >>> list(phrases_in("What bays?"))
    ['what bays', 'what', 'bays']
    """
    words = re.findall(r"[^\W_]+", text.lower())
    runs = (
        " ".join(words[start : start + size])
        for size in range(LONGEST, 0, -1)
        for start in range(len(words) - size + 1)
    )
    return list(dict.fromkeys(runs))


def _plural(noun: str) -> str:
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")
