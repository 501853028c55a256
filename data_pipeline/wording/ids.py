"""English of relation ids: `worksFor` becomes `the company that {x} works for`.

An id is read as a predicate about its start, or else as a noun for what it leads to. One template
words each of the two.
"""

import re
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from data_pipeline.wording.english import (
    PARTICIPLES,
    PAST,
    PREPOSITIONS,
    TIMES,
    VALUES,
    base_of,
    capitals,
    english,
    is_person,
    noun_of_label,
    plural,
    singular,
    that_or_who,
    words_of,
    words_of_kind,
)
from data_pipeline.wording.predicates import (
    NOTHING_KNOWN,
    Nouns,
    Predicate,
    read_predicate,
    spell_out,
)
from graphwalker.graphs.base import FLATTENED, Direction

_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:.")
_OF_A_KIND = re.compile(r"[A-Za-z]\w*\.[A-Za-z][\w-]*")
_PATH = re.compile(r"/[a-z]/\w+")
"""ConceptNet's relations: `/r/UsedFor`."""


@dataclass(frozen=True, slots=True)
class HopWords:
    """How a hop is worded from its id alone; a text is `""` where none reads well."""

    phrase: str
    clause: str
    noun: str
    question: str = ""
    nested: str = ""
    """Another noun phrase, for inside of others: it ends on its slot."""
    final_question: str = ""
    """Another question, around long phrases: `{x} belongs to which club?`."""

    @property
    def question_word(self) -> str:
        return "Who" if is_person(self.noun) else "What"

    @property
    def plural(self) -> str:
        return plural(self.noun)


def generated_entry(
    relation: str, direction: Direction, nouns: Nouns = NOTHING_KNOWN, label: str = ""
) -> HopWords:
    """Word a hop by its id: the last segment names the relation, the one before it the domain.

    An id without a domain (`livesIn`, `has_genre`, an IRI) is read by its words, or by those of
    `label` where the graph has one; `nouns` say what it joins.

    >>> generated_entry("geography.river_delta.county", Direction.IN).phrase
    'the river delta whose county is {x}'
    >>> generated_entry("sports.team.countries_played_in", Direction.OUT).phrase
    'the country that {x} played in'
    """
    if relation in _table()["wording"]:
        return _table()["wording"][relation][direction]
    if is_plain(relation):
        if _OF_A_KIND.fullmatch(relation):
            kind, _, relation = relation.partition(".")
            nouns = Nouns(nouns.subject or " ".join(words_of(kind)), nouns.object)
        words = re.findall(r"[^\W_]+", label.lower()) if label else words_of(relation)
        return word_hop(words or ["relation"], direction, nouns)
    first, _, second = relation.partition(FLATTENED)
    domain, words = _halves(first)
    if relation in _table()["label"]:
        return name_hop(_table()["label"][relation], direction, domain)
    if second:
        words = _combine(domain, noun_of_label(words), noun_of_label(_halves(second)[1]))
    return word_hop(words.split(), direction, Nouns(domain))


def label_of(relation: str) -> str:
    """Return what a relation to values is called: `release date`."""
    known = _table()["label"].get(relation)
    words = _halves(relation)[1] if not is_plain(relation) else " ".join(words_of(relation))
    return known or capitals(noun_of_label(words))


def is_plain(relation: str) -> bool:
    """Whether an id has no domain in it, as Freebase's have: `livesIn`, an IRI; `person.works_for`
    has but a kind."""
    if _OF_A_KIND.fullmatch(relation) or _IRI.match(relation) or _PATH.fullmatch(relation):
        return True
    return not any(mark in relation for mark in "./")


@cache
def _table() -> dict[str, dict[str, Any]]:
    """Return the packaged table `labels.toml`; what a verb words, by direction."""
    text = files("data_pipeline.wording").joinpath("labels.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    wording = {
        row["id"]: {d: HopWords(row[d], row[f"clause_{d}"], row[f"noun_{d}"]) for d in Direction}
        for row in table["wording"]
    }
    return {**table, "wording": wording}


def _combine(domain: str, label: str, last: str) -> str:
    """Return one label for both halves of a flattened pair; back to the own kind it is a `fellow`
    one."""
    if last == domain:
        return f"fellow {last}"
    if set(last.split()) <= set(label.split()):
        return label
    linked = label.split()[-1] in PREPOSITIONS
    if set(label.split()) <= set(last.split()) or linked or len(f"{label} {last}".split()) > 3:
        return last  # `regular dubbing performance language` means no more than `language`
    return f"{label} {last}"


def _halves(relation: str) -> tuple[str, str]:
    """Return the domain as a noun and the words of the property."""
    parts = [part for part in relation.replace("/", ".").split(".") if part] or ["relation"]
    # The lone `s` of `owner_s` is no word.
    words = [" ".join(w for w in words_of(part) if w != "s") or "relation" for part in parts[-2:]]
    *named, last = words[0].split() if len(words) > 1 else ["thing"]
    domain = " ".join([*named, last if last == "games" else singular(last)])
    return _table()["domain"].get(domain, capitals(domain)), words[-1]


def word_hop(words: list[str], direction: Direction, nouns: Nouns) -> HopWords:
    """Word a hop whose relation is these words, between things of these kinds.

    >>> word_hop(["works", "for"], Direction.OUT, Nouns("person", "company")).phrase
    'the company that {x} works for'
    >>> word_hop(["genre"], Direction.IN, Nouns("film", "genre")).phrase
    'the film whose genre is {x}'
    """
    words = spell_out(words, nouns)
    if words == ["instance", "of"] and direction is Direction.OUT:
        question = "What kind of thing is {x}?"
        return HopWords("the kind of thing that {x} is", "", "kind of thing", question)
    predicate = read_predicate(words, nouns)
    found = _say(predicate, direction, nouns) if predicate else _name(words, direction, nouns)
    texts = (found.phrase, found.clause, found.noun, found.question)
    return HopWords(*map(capitals, (*texts, found.nested, found.final_question)))


def name_hop(label: str, direction: Direction, subject: str) -> HopWords:
    """Word a hop whose relation is a noun: `the genre of {x}`, `the film whose genre is {x}`."""
    if direction is Direction.OUT:
        return HopWords(f"the {label} of {{x}}", f"is the {label} of {{x}}", label)
    its = "their" if is_person(subject) else "its"
    clause = f"has {{x}} as {its} {label}"
    return HopWords(f"the {subject} whose {label} is {{x}}", clause, subject)


def _name(words: list[str], direction: Direction, nouns: Nouns) -> HopWords:
    kind, skipped = nouns.subject.split(), PREPOSITIONS | {"has", "have", "the", "is"}
    if kind and words[-len(kind) - 1 :] == ["of", *kind]:
        words = words[: -len(kind) - 1]  # `head_of_department` of a department
    while len(words) > 1 and words[0] in skipped:
        words = words[1:]
    while len(words) > 1 and words[-1] in skipped:
        words = words[:-1]
    if kind and words[: len(kind)] == kind and len(words) > len(kind):
        words = words[len(kind) :]  # `recipeIngredient` of a recipe is its ingredient
    label = capitals(noun_of_label(" ".join(word for word in words if word != "the") or "relation"))
    made = name_hop(label, direction, nouns.subject or "thing")
    # What is found stays what it is: `Which city is the seat of X?`.
    known = direction is Direction.OUT and nouns.object not in ("", *VALUES)
    return replace(made, noun=nouns.object) if known and not is_person(made.noun) else made


def _say(predicate: Predicate, direction: Direction, nouns: Nouns) -> HopWords:
    """Word a predicate: `the company that {x} works for`, `the person who works for {x}`."""
    nouns = Nouns(nouns.subject, nouns.object or predicate.object)
    if predicate.flipped:
        straight = replace(predicate, flipped=False, object="")
        found = _say(straight, direction.reverse, Nouns(nouns.object, nouns.subject))
        _, *done = predicate.passive.split() or [""]
        agent = english()["agents"].get(done[0], "") if len(done) == 2 else ""
        if agent and direction is Direction.OUT:
            found = replace(found, phrase=f"the {agent} of {{x}}", noun=nouns.object or agent)
        return found
    noun, role = nouns.at_end(direction), predicate.role
    if direction is Direction.OUT:
        return _ask(predicate, noun)
    says = predicate.says if "{x}" in predicate.says else f"{predicate.says} {{x}}"
    if role and role not in words_of_kind("general_roles"):
        return HopWords(f"the {role} of {{x}}", says, noun or role)
    verbs = {base_of(word) or PAST.get(word) or PARTICIPLES.get(word) for word in says.split()[:2]}
    noun = noun or ("person" if verbs & words_of_kind("people_do") else "")
    return HopWords(
        f"the {noun or 'one'} {that_or_who(noun or 'one')} {says}", says, noun or "thing"
    )


def _ask(predicate: Predicate, noun: str) -> HopWords:
    """Word what a predicate leads to."""
    says = predicate.says.replace("{x} ", "")
    verb, _, link = says.rpartition(" ")
    where = verb.rpartition(" ")[2] in words_of_kind("places") and link in ("in", "at")
    noun = noun or ("place" if where or says in ("lives in", "resides in") else "")
    asks = f"{predicate.auxiliary} {{x}} {predicate.bare.replace('{x} ', '')}"
    if noun in TIMES and link in ("in", "on", "at", "since"):
        link = {"date": "on", "day": "on", "time": "at"}.get(noun, "in")
        question = f"When {asks.rpartition(' ')[0]}?"
        return HopWords(f"the {noun} {link} which {{x}} {verb}", "", noun, question)
    word = "Who" if noun == "person" else f"Which {noun}" if noun else "What"
    question = f"Where {asks.rpartition(' ')[0]}?" if where else f"{word} {asks}?"
    last = f"{{x}} {says} {f'which {noun}' if noun else 'what'}?"
    thing, nested, role = noun or "thing", "", predicate.role
    if predicate.passive:
        undergone = re.sub(r"^(?:is|was) ", "", predicate.passive)
        nested = f"the {thing} {'that ' * (undergone == predicate.passive)}{undergone} {{x}}"
    elif role and role not in words_of_kind("general_roles"):
        nested = f"the {thing} whose {role} is {{x}}"
    return HopWords(
        f"the {thing} that {{x}} {says}",
        f"{predicate.passive} {{x}}" if predicate.passive else "",
        thing,
        question if predicate.auxiliary else "",
        _nested_noun(says, noun) or nested,
        last if noun != "person" else "",
    )


def _nested_noun(says: str, noun: str) -> str:
    """Return `the employer of {x}` for `works for`, where the noun may be called so."""
    key = re.sub(r"^(?:is|was) (?:a )?", "", says).replace("owns a", "owns")
    if noun and noun.split()[-1] not in english()["fits"].get(key, noun).split():
        return ""
    return english()["named"].get(key, "").replace("{noun}", noun or "thing")
