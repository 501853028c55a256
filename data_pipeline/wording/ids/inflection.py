"""English words in relation ids: which are verbs, their forms, and those of nouns."""

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def english() -> dict[str, Any]:
    """The packaged table `english.toml`."""
    text = files("data_pipeline.wording").joinpath("english.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _kind(name: str) -> tuple[str, ...]:
    return tuple(english()["kinds"][name].split())


IRREGULAR: dict[str, list[str]] = english()["irregular"]
DOUBLED = frozenset(english()["doubled"].split())
INTRANSITIVE, NOUNS_TOO = _kind("intransitive"), _kind("nouns_too")
STATES, PLACES = _kind("states"), _kind("places")
PEOPLE_DO, DID = _kind("people_do"), _kind("did")
BARE, ADJECTIVES, IS_TO = _kind("bare"), _kind("adjectives"), _kind("is_to")
PEOPLE_ACT, DONE_OR_DID, GROUPS = _kind("people_act"), _kind("done_or_did"), _kind("groups")
ALONE, GIVEN, GIVERS = _kind("alone"), _kind("given"), _kind("givers")
AGENTS: dict[str, str] = english()["agents"]
NO_PARTICIPLES = ("seed", "breed", "speed", "feed", "bed", "sacred", "naked", "hundred", "kindred")


def third(base: str) -> str:
    """The verb as one does it now: `owns`, `studies`, `carries out`."""
    if " " in base:
        return " ".join([third(base.split()[0]), *base.split()[1:]])
    if base == "have":
        return "has"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ies"
    return base + ("es" if base.endswith(("s", "x", "ch", "sh", "o")) else "s")


def past(base: str) -> str:
    """The verb as one did it: `owned`, `wrote`, `carried out`."""
    if " " in base:
        return " ".join([past(base.split()[0]), *base.split()[1:]])
    if base in IRREGULAR:
        return IRREGULAR[base][0]
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ied"
    if base in DOUBLED or re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]", base):
        return base + base[-1] + "ed"
    return base + ("d" if base.endswith("e") else "ed")


def participle(base: str) -> str:
    """What was done to it: `is owned`, `was written`, `was taken over`."""
    if " " in base:
        return " ".join([participle(base.split()[0]), *base.split()[1:]])
    return IRREGULAR[base][1] if base in IRREGULAR else past(base)


BASES = (*english()["regular"].split(), *IRREGULAR)
THIRD = {third(base): base for base in BASES}
PAST = {past(base): base for base in BASES}
_TOO = {"shown": "show", "proven": "prove", "gotten": "get", "lit": "light", "learnt": "learn"}
_TOO |= {"burnt": "burn", "spelt": "spell", "dreamt": "dream", "mown": "mow", "shaven": "shave"}
PARTICIPLE = {participle(base): base for base in BASES} | _TOO


def base_of(word: str) -> str:
    """The verb that a third person is of, `""` where it is of none.

    >>> base_of("treats"), base_of("amplifies"), base_of("genres")
    ('treat', 'amplify', '')
    """
    if word in THIRD:
        return THIRD[word]
    before, hyphen, verb = word.partition("-")
    if hyphen and (base := base_of(verb)):
        return f"{before}-{base}"
    if word.endswith("ifies") and len(word) > 7:
        return word[:-3] + "y"
    known = len(word) > 7 and word.endswith(_VERBS_END) and word not in _ATES
    return word[: -2 if word.endswith("shes") else -1] if known else ""


_VERBS_END = ("ates", "izes", "lyses", "duces", "scribes", "ceives", "ishes", "alises")
_ATES = (
    *("candidates", "certificates", "templates", "associates", "delegates", "affiliates", "plates"),
    *("coordinates", "climates", "graduates", "substrates", "aggregates", "duplicates", "debates"),
    *("chocolates", "updates", "advocates", "electorates", "flatmates", "classmates", "teammates"),
    *("roommates", "surrogates", "magnates", "primates", "conglomerates", "estimates", "mandates"),
    *("laureates", "vertebrates", "invertebrates", "sulfates", "phosphates", "carbonates"),
    *("doctorates", "inmates", "syndicates", "radishes", "subordinates", "carbohydrates"),
)
"""Nouns that end as verbs do."""


def of_gerund(word: str) -> str:
    """The verb of `containing`, `using`, `running`, `""` where there is none."""
    stem = word.removesuffix("ing")
    if stem == word or len(stem) < 3:
        return ""
    undoubled = stem[:-1] if stem[-1:] == stem[-2:-1] else stem
    return next((base for base in (stem, f"{stem}e", undoubled) if base in BASES), "")


def for_many(verb: str) -> str:
    """The verb as two do it: `are`, `attend`."""
    return {"is": "are", "was": "were", "has": "have"}.get(verb) or base_of(verb) or singular(verb)


def is_adjective(word: str) -> bool:
    """A known one, or one that ends as few other words do."""
    return word in ADJECTIVES or (
        word.endswith(("able", "ible", "ous", "ful")) and word not in ("table", "cable", "variable")
    )


def is_participle(word: str) -> bool:
    """Of a known verb, or of one that ends as most do."""
    return word in PARTICIPLE or (word.endswith("ed") and word not in NO_PARTICIPLES)


PLURALS = {
    **{"children": "child", "people": "person", "media": "medium", "alumni": "graduate"},
    **{"campuses": "campus", "includes": "included", "women": "woman", "men": "man"},
    **{f"{word}s": word for word in ("movie", "calorie", "cookie", "zombie", "rookie", "prairie")},
    **{"indices": "index", "matrices": "matrix", "criteria": "criterion", "bacteria": "bacterium"},
    **{"analyses": "analysis", "diagnoses": "diagnosis", "theses": "thesis", "buses": "bus"},
    **{"viruses": "virus", "wolves": "wolf", "leaves": "leaf", "wives": "wife", "lives": "life"},
}
_ODD = {"child": "children", "person": "people", "man": "men", "woman": "women"}
UNCHANGED = ("ss", "us", "is", "news", "series", "species", "headquarters", "olympics")


def singular(word: str) -> str:
    """Of a noun in the plural; a word that is none stays."""
    if word in PLURALS:
        return PLURALS[word]
    if len(word) < 4 or word.endswith(UNCHANGED) or not word.endswith("s"):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    return word[:-1]


def pluralised(noun: str) -> str:
    """A plain English plural of a generated noun."""
    *first, last = noun.split(" ")
    if last in _ODD:
        return " ".join([*first, _ODD[last]])
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    if noun.endswith(("ss", "x", "ch", "sh")):
        return noun + "es"
    if noun.endswith("s"):
        return noun
    return noun + "s"
