"""The words of a relation id: where one ends and the next begins, short forms spelled out."""

import re

from data_pipeline.wording.ids.inflection import PARTICIPLE, PAST, THIRD, base_of, english
from data_pipeline.wording.ids.predicates import PREPOSITIONS, Nouns

JOINED: dict[str, str] = english()["joined"]
SHORT: dict[str, str] = english()["short"]
UNITS: dict[str, str] = english()["units"]
BEFORE_VERBS = tuple(english()["kinds"]["before_verbs"].split())
MEASURED_IN = tuple(unit.split()[-1] for unit in UNITS.values())
_JOINED_ROLES = tuple(english()["kinds"]["joined_roles"].split())
_POINTS = ("id", "ids", "ref", "fk", "key", "iri", "uri")
"""What an id ends in that leads to a thing by its key: `customer_id`."""


def words_of(relation: str) -> list[str]:
    """The words of an id, of an IRI those of its last part.

    >>> words_of("http://dbpedia.org/ontology/birthPlace")
    ['birth', 'place']
    """
    last = re.split(r"[#/:]", relation.rstrip("#/:"))[-1]
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", last)
    found = re.sub(
        r"(?i)(?<![a-z])co[-_ ](?=[a-z])|^(?:up|down)[-_ ](?=[a-z]{4})", _hyphened, spaced
    )
    words = re.findall(r"(?i)(?<![a-z])(?:co|up|down)-[a-z]+|[^\W_]+", found)
    return [word.lower() for word in words] or ["relation"]


def _hyphened(prefix: re.Match[str]) -> str:
    return f"{prefix[0][:-1]}-"


def spelled_out(words: list[str], nouns: Nouns) -> list[str]:
    """The words as one would say them: `worksfor` in two, `hq` as headquarters, without `_id`.

    >>> spelled_out(["worksfor"], Nouns()), spelled_out(["hq", "city"], Nouns())
    (['works', 'for'], ['headquarters', 'city'])
    >>> spelled_out(["customer", "id"], Nouns("order", "customer"))
    ['customer']
    >>> spelled_out(["length", "km"], Nouns())
    ['length', 'in', 'km']
    """
    if " ".join(words) in JOINED:
        return JOINED[" ".join(words)].split()
    if len(words) == 1:
        words = _apart(words[0])
    named = nouns.object and nouns.object not in ("number", "date", "year")
    if len(words) > 1 and named and (words[-1] in _POINTS or words[-1] == "name"):
        words = words[:-1]
    words = _as_one(words)
    numbered = re.fullmatch(r"([a-z]{3,})\d{1,2}", words[-1])
    if numbered:  # `author1`, `author2`: two columns of one kind
        words = [*words[:-1], numbered[1]]
    if len(words) > 1 and words[0] in ("num", "nr", "number", "nbr") and words[1] != "of":
        return ["number", "of", *words[1:]]
    if len(words) > 1 and words[-1] in UNITS and not base_of(words[0]):
        words = [*words[:-1], *UNITS[words[-1]].split()]
    if "time" in words[:-1] and words[-1] in ("min", "mins", "minutes"):
        words = [*words[:-1], "in", "minutes"]
    if len(words) > 1 and words[-1] == "no":
        words = [*words[:-1], "number"]
    found = " ".join(SHORT.get(word, word) for word in words)
    return JOINED.get(found, found).split()


def _as_one(words: list[str]) -> list[str]:
    """`peer reviewed` as one verb, `on call engineer` with one word before the noun."""
    if len(words) > 1 and words[0] in BEFORE_VERBS and words[1].endswith("ed"):
        return [f"{words[0]}-{words[1]}", *words[2:]]
    if len(words) == 3 and words[:2] in _BEFORE_NOUNS and words[2] not in PREPOSITIONS:
        return ["-".join(words[:2]), words[2]]
    return words


_BEFORE_NOUNS = (
    *(["on", "call"], ["on", "site"], ["on", "duty"], ["in", "house"], ["off", "label"]),
    *(["in", "flight"], ["after", "sales"], ["check", "in"], ["check", "out"], ["log", "in"]),
    *(["pick", "up"], ["drop", "off"], ["start", "up"], ["follow", "up"], ["sign", "up"]),
)


def _apart(word: str) -> list[str]:
    """`livesin` as `lives in`, `ispartof` as `is part of`; a word that is one stays."""
    if word.startswith("has") and len(word) > 6 and not word.startswith("hash"):
        return ["has", *_apart(word[3:])]
    if word.startswith("is") and len(found := _apart(word[2:])) > 1:
        return found
    for link in sorted(PREPOSITIONS, key=len, reverse=True):
        head = word.removesuffix(link)
        if head == word or len(head) < 3 or word in ("leftover", "within"):
            continue
        verb = head in THIRD or head in PAST or head in PARTICIPLE
        if verb or (link == "of" and head in _JOINED_ROLES):
            return [head, link]
    return [word]
