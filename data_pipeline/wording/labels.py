"""Words around a noun that a relation gives what it finds: `the genre of {x}`, and around a noun
with a participle or a preposition: `the country that {x} played in`."""

import re
from dataclasses import dataclass

from data_pipeline.wording.ids.inflection import NO_PARTICIPLES, pluralised, singular
from data_pipeline.wording.ids.predicates import PERSONS
from graphwalker.graphs.base import Direction

CAPITALS = {
    **{
        word: word.upper()
        for word in ("tv", "us", "ncaa", "snl", "nfl", "gdp", "fifa", "iucn", "ceo", "imdb")
    },
    **{word: word.upper() for word in ("ects", "cfo", "cto", "coo", "vin", "sku", "isbn")},
    "phd": "PhD",
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


@dataclass(frozen=True, slots=True)
class HopWords:
    """How a hop is worded from its id alone; `clause` is `""` where none reads well."""

    phrase: str
    clause: str
    noun: str
    question: str = ""
    nested: str = ""
    """Another noun phrase, for inside of others."""
    final_question: str = ""
    """Another question, around long phrases."""

    @property
    def question_word(self) -> str:
        return "Who" if self.noun.split()[-1] in PERSONS else "What"

    @property
    def plural(self) -> str:
        return pluralised(self.noun)


def labelled(domain: str, label: str, direction: Direction) -> HopWords:
    done, link, *rest = [*label.split(), ""]
    if done.endswith(PARTICIPLES) and link in LINKS and any(rest) and done not in NO_PARTICIPLES:
        noun = noun_label(" ".join(filter(None, rest)))
        return _done(domain, noun, f"{done} {link}", direction)
    if label.split()[-1] in LINKS:
        return _linked(domain, label, direction)
    return named(domain, label, direction)


def named(domain: str, label: str, direction: Direction) -> HopWords:
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


def capitals(words: str) -> str:
    return " ".join(
        word.upper() if re.fullmatch(r"p\d+", word) else CAPITALS.get(word, word)
        for word in words.split()
    )


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
