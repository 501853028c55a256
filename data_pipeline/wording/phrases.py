"""Phrases made from a relation id, for graphs whose relations nobody has put into words."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from data_pipeline.wording.inflection import NO_PARTICIPLES, pluralised, singular
from data_pipeline.wording.plain_ids import (
    JOINED,
    linked_words,
    perfect,
    plain_words,
    with_its_object,
    words_of,
)
from data_pipeline.wording.predicates import PERSONS, PREPOSITIONS, Nouns, being
from graphwalker.graphs.base import FLATTENED, Direction

CAPITALS = {
    **{
        word: word.upper()
        for word in ("tv", "us", "ncaa", "snl", "nfl", "gdp", "fifa", "iucn", "ceo", "imdb")
    },
    **{word: word.capitalize() for word in ("netflix", "olympic", "olympics", "oscar", "nobel")},
}
ACTIVE = ("participated", "appeared", "competed", "served", "lived", "worked", "played")
"""Participles of what the subject did, not what was done to it."""
LINKS = ("of", "in", "by", "for", "on", "at", "to", "from", "with", "as")
PARTICIPLES = (
    "ed",
    "ing",
    "won",
    "written",
    "held",
    "taught",
    "spoken",
    "sung",
    "born",
    "owned",
    "known",
)


NOTHING_KNOWN = Nouns()
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:.")
_PATH = re.compile(r"/[a-z]/\w+")
"""ConceptNet's relations: `/r/UsedFor`."""


@dataclass(frozen=True, slots=True)
class HopWords:
    """How a hop is worded from its id alone; `clause` is `""` where none reads well."""

    phrase: str
    clause: str
    noun: str
    question: str = ""
    nested: str = ""
    """Another noun phrase, for inside of others."""

    @property
    def question_word(self) -> str:
        return "Who" if self.noun.split()[-1] in PERSONS else "What"

    @property
    def plural(self) -> str:
        return pluralised(self.noun)


def generated_entry(
    relation: str, direction: Direction, nouns: Nouns = NOTHING_KNOWN, label: str = ""
) -> HopWords:
    """Words for a hop: the last segment names the relation, the one before it the domain.

    An id without a domain (`livesIn`, `has_genre`, an IRI) is read as English words, those of
    `label` where the graph has one; `nouns` say what it joins.

    >>> generated_entry("geography.river_delta.county", Direction.OUT).phrase
    'the county of {x}'
    >>> generated_entry("geography.river_delta.county", Direction.IN).phrase
    'the river delta whose county is {x}'
    >>> generated_entry("sports.team.countries_played_in", Direction.OUT).phrase
    'the country that {x} played in'
    """
    if relation in _table()["wording"]:
        return _table()["wording"][relation][direction]
    if is_plain(relation):
        words = words_of(relation) if not label else re.findall(r"[^\W_]+", label.lower())
        default = "thing" if relation.isupper() else "entity"
        return _from_words(words or ["relation"], direction, nouns, default)
    first, _, second = relation.partition(FLATTENED)
    domain, label = _halves(first)
    if relation in _table()["label"]:
        return _plain(domain, _table()["label"][relation], direction)
    last = _halves(second)[1] if second else ""
    if last and last.split()[-1] in LINKS and label.split()[-1] not in LINKS:
        return _through(domain, label, last, direction)
    return _labelled(domain, _combined(domain, label, last) if last else label, direction)


def is_plain(relation: str) -> bool:
    """Whether an id has no domain in it, as Freebase's have: `livesIn`, an IRI."""
    if _IRI.match(relation) or _PATH.fullmatch(relation):
        return True
    return not any(mark in relation for mark in "./")


def _from_words(words: list[str], direction: Direction, nouns: Nouns, default: str) -> HopWords:
    """Words for a relation that is a few English words; `default`: what nobody knows more of."""
    words = JOINED.get(" ".join(words), " ".join(words)).split()
    while len(words) > 1 and words[0] in ("is", "was", "are", "the"):
        words = words[1:]
    words, led = with_its_object(perfect(words), nouns)
    found = plain_words(words, direction, led) or linked_words(words, direction, led)
    if len(words) > 2 and words[0] in PREPOSITIONS and words[-1] in PREPOSITIONS:
        found = being(" ".join(words), direction, led)  # `at war with`
    if found:
        return HopWords(
            *map(_capitals, (found.phrase, found.clause, found.noun or "thing", found.question)),
            nested=_capitals(found.nested),
        )
    while len(words) > 1 and (words[0] in PREPOSITIONS or words[0] in ("has", "have", "the")):
        words = words[1:]
    kind = nouns.subject.split()
    if kind and words[: len(kind)] == kind and len(words) > len(kind):
        words = words[len(kind) :]  # `recipeIngredient` of a recipe is its ingredient
    label = _capitals(noun_label(" ".join(word for word in words if word != "the") or "relation"))
    made = _labelled(nouns.subject or default, label, direction)
    known = nouns.object if direction is Direction.OUT else ""
    # A person stays one whatever the relation calls them: `Who is the chief of X?`.
    if known.split()[-1:] and known.split()[-1] in PERSONS and made.noun not in PERSONS:
        return HopWords(made.phrase, made.clause, known)
    return made


def _labelled(domain: str, label: str, direction: Direction) -> HopWords:
    done, link, *rest = [*label.split(), ""]
    if done.endswith(PARTICIPLES) and link in LINKS and any(rest) and done not in NO_PARTICIPLES:
        noun = noun_label(" ".join(filter(None, rest)))
        return _done(domain, noun, f"{done} {link}", direction)
    if label.split()[-1] in LINKS:
        return _linked(domain, label, direction)
    return _plain(domain, label, direction)


@cache
def _table() -> dict[str, dict[str, Any]]:
    """The packaged table `labels.toml`; what a verb words, by direction."""
    text = files("data_pipeline.wording").joinpath("labels.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    wording = {
        row["id"]: {d: HopWords(row[d], row[f"clause_{d}"], row[f"noun_{d}"]) for d in Direction}
        for row in table["wording"]
    }
    return {**table, "wording": wording}


def _plain(domain: str, label: str, direction: Direction) -> HopWords:
    if direction is Direction.OUT:
        return HopWords(f"the {label} of {{x}}", f"is the {label} of {{x}}", label)
    its = "their" if domain.split()[-1] in PERSONS else "its"
    return HopWords(f"the {domain} whose {label} is {{x}}", f"has {{x}} as {its} {label}", domain)


def _linked(domain: str, label: str, direction: Direction) -> HopWords:
    """Labels that end in a preposition: `influenced by`, `category of`, `olympics attended by`."""
    *words, link = label.removeprefix("is ").split()
    if not words:  # a relation that is a preposition alone, such as `in`
        return _being(domain, link, direction)
    if len(words) > 1 and words[-1].endswith(PARTICIPLES) and singular(words[-2]) != words[-2]:
        noun = " ".join([*words[:-2], singular(words[-2])])
        return _done(domain, noun, f"{words[-1]} {link}", direction)
    participle = words[-1].endswith(PARTICIPLES) and words[-1] not in NO_PARTICIPLES
    if not participle and link in ("of", "for") and words[-1] != "guilty":
        label = f"{'an' if words[0][0] in 'aeio' else 'a'} {' '.join(words)} {link}"
    return _being(domain, label, direction)


def _being(domain: str, label: str, direction: Direction) -> HopWords:
    if direction is Direction.OUT:
        return HopWords(f"the thing that {{x}} is {label}", f"is what {{x}} is {label}", "thing")
    return HopWords(f"the {domain} that is {label} {{x}}", f"is {label} {{x}}", domain)


def _done(domain: str, noun: str, done: str, direction: Direction) -> HopWords:
    """What was done, and what to: `the country that {x} is spoken in`, `the sport that {x} played
    in`."""
    did = done if done.split()[0] in ACTIVE else f"is {done}"
    if direction is Direction.OUT:
        return HopWords(f"the {noun} that {{x}} {did}", f"is the {noun} that {{x}} {did}", noun)
    return HopWords(f"the {domain} that {did} {{x}}", f"{did} {{x}}", domain)


def _through(domain: str, label: str, last: str, direction: Direction) -> HopWords:
    """Flattened pairs whose second half ends in a preposition: winners, then `honored for`."""
    if direction is Direction.OUT:
        return HopWords(f"the thing that the {label} of {{x}} is {last}", "", "thing")
    return HopWords(f"the {domain} whose {label} is {last} {{x}}", "", domain)


def _combined(domain: str, label: str, last: str) -> str:
    """One label for both halves of a flattened pair; back to the own kind it is a `fellow` one."""
    if last == domain:
        return f"fellow {last}"
    if set(last.split()) <= set(label.split()):
        return label
    if set(label.split()) <= set(last.split()) or label.split()[-1] in LINKS:
        return last
    if len(label.split()) + len(last.split()) > 3:
        return last  # `regular dubbing performance language` means no more than `language`
    return f"{label} {last}"


def _halves(relation: str) -> tuple[str, str]:
    """The words of the domain and of the label; of an IRI only its last part means something."""
    if _IRI.match(relation):
        return "entity", _capitals(noun_label(_local_words(relation) or "relation"))
    parts = [part for part in relation.replace("/", ".").split(".") if part] or ["relation"]
    label = " ".join(_split(parts[-1])) or "relation"
    words = _split(parts[-2]) if len(parts) > 1 else []
    *named, last = words or ["entity"]
    domain = " ".join([*named, last if last == "games" else singular(last)])
    return _table()["domain"].get(domain, _capitals(domain)), _capitals(noun_label(label))


def _local_words(iri: str) -> str:
    """The words of an IRI's last part: `placeOfBirth` in `http://x.org/rel#placeOfBirth`."""
    last = re.split(r"[#/:]", iri.rstrip("#/:"))[-1]
    return " ".join(_split(last))


def _capitals(words: str) -> str:
    return " ".join(
        word.upper() if re.fullmatch(r"p\d+", word) else CAPITALS.get(word, word)
        for word in words.split()
    )


def _split(segment: str) -> list[str]:
    """Its words; the lone `s` of `owner_s` is none."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", segment)
    words = [word for word in re.findall(r"[^\W_]+", spaced.lower()) if word != "s"]
    return ["included" if word == "includes" else word for word in words]


def noun_label(label: str) -> str:
    """The label as a singular noun: `films in this genre` becomes `film`.

    >>> noun_label("films executive produced")
    'executive produced film'
    """
    words = label.split()
    links = [i for i, word in enumerate(words) if word in LINKS]
    if "this" in words and links and links[0] > 0:
        words, links = words[: links[0]], []
    last = (links[0] if links and links[0] > 0 else len(words)) - 1
    if not links and len(words) > 1 and words[-1].endswith(PARTICIPLES):
        first = singular(words[0])
        if first != words[0]:
            return " ".join([*words[1:], first])
        done = words[-1]
        if not done.endswith("ing") and done not in NO_PARTICIPLES:
            return " ".join([done, *words[:-2], singular(words[-2])])
        return " ".join(words)
    if "or" in words or "and" in words:
        return " ".join("or" if w == "and" else singular(w) for w in words)
    words[last] = singular(words[last])
    return " ".join(words)
