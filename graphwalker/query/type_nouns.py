"""By which nouns a question asks for a type of entity: `countries` for `location.country`."""

import re
import tomllib
from collections.abc import Collection, Iterable, Sequence
from functools import cache, lru_cache
from importlib.resources import files

LONGEST = 3
"""Words of the longest noun that is looked for in a text."""


@cache
def table() -> dict[str, tuple[str, ...]]:
    """The nouns of the types of Freebase that questions are made for, by `type_nouns.toml`."""
    return _rows("type")


@cache
def all_nouns() -> dict[str, tuple[str, ...]]:
    """As `table`, and the nouns of more types that people ask for."""
    return {**_rows("type"), **_rows("wanted")}


@cache
def _known() -> frozenset[str]:
    return frozenset(noun for nouns in all_nouns().values() for noun in nouns)


def _rows(name: str) -> dict[str, tuple[str, ...]]:
    text = files("graphwalker.query").joinpath("type_nouns.toml").read_text(encoding="utf-8")
    rows = tomllib.loads(text)[name]
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
    if kind in all_nouns():
        return all_nouns()[kind]
    noun = last_words(kind)
    return (noun, _plural(noun)) if noun else ()


def has_noun(kind: str) -> bool:
    """Whether questions ask by this type: of Freebase's those in `table`, of other graphs all.

    >>> has_noun("location.country"), has_noun("common.topic"), has_noun("Person")
    (True, False, True)
    """
    return kind in table() or not is_of_freebase(kind)


def is_of_freebase(kind: str) -> bool:
    """Whether the id of a type is one of Freebase, `domain.type`.

    >>> is_of_freebase("location.country"), is_of_freebase("http://x.org/ns#Country")
    (True, False)
    """
    return "." in kind and not {"/", ":"} & set(kind)


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


def wanted_noun(text: str, kinds: Collection[str]) -> str:
    """The noun that a question asks for behind "what" or "which", if things of one of these types
    are called by it, else "". One type of Freebase stands for all of those that people ask for.

    >>> wanted_noun("what three countries border Oslo?", ["common.topic"])
    'countries'
    >>> wanted_noun("what three castles does Ann own?", ["http://x.org/ns#Castle"])
    'castles'
    >>> wanted_noun("who rules the country?", ["location.country"])
    ''
    """
    known = {noun for kind in kinds for noun in nouns_of(kind) if not is_of_freebase(kind)}
    if any(is_of_freebase(kind) for kind in kinds):
        known |= _known()
    words = re.findall(r"[^\W_]+", text.lower())
    after = next((k + 1 for k, word in enumerate(words) if word in ("what", "which")), len(words))
    runs = (
        " ".join(words[start : start + size])
        for start in (after, after + 1)
        for size in range(LONGEST, 0, -1)
    )
    return next((run for run in runs if run in known), "")


def _plural(noun: str) -> str:
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")
