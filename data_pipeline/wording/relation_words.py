"""Words for a relation from its id: `worksFor` becomes `the company that {x} works for`.

An id is read as a predicate about its start (predicates.py), or else as a noun that it gives what
it leads to. One template words each of the two.
"""

import re
from dataclasses import dataclass, replace

from data_pipeline.wording.english import (
    BASES,
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
    take_apart,
    that_or_who,
    words_of_kind,
)
from data_pipeline.wording.predicates import Nouns, Predicate, read_predicate
from graphwalker.graphs.base import Direction


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
    if words[0] in words_of_kind("compared") and len(words) == 1:
        words = [*words, *(nouns.object or "thing").split()]
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
        agent = english()["agents"].get(predicate.passive.split()[1], "")
        if agent and direction is Direction.OUT and len(predicate.passive.split()) == 3:
            found = replace(found, phrase=f"the {agent} of {{x}}", noun=nouns.object or agent)
        return found
    noun, part, role = nouns.found(direction), predicate.part, predicate.role
    noun = noun or ("person" if role in words_of_kind("kin") else "")
    if direction is Direction.OUT:
        return _ask(predicate, noun)
    says = predicate.says if "{x}" in predicate.says else f"{predicate.says} {{x}}"
    if role and role not in words_of_kind("general_roles"):
        return HopWords(f"the {role} of {{x}}", says, noun or role)
    verbs = {base_of(word) or PAST.get(word) or PARTICIPLES.get(word) for word in says.split()[:2]}
    noun = noun or ("person" if verbs & words_of_kind("people_do") else "")
    who = f"whose {part}" if part else that_or_who(noun or "one")
    return HopWords(f"the {noun or 'one'} {who} {says}", "" if part else says, noun or "thing")


def _ask(predicate: Predicate, noun: str) -> HopWords:
    """Word what a predicate leads to."""
    says = predicate.says.replace("{x} ", "")
    verb, _, link = says.rpartition(" ")
    x = f"the {predicate.part} of {{x}}" if predicate.part else "{x}"
    where = verb.rpartition(" ")[2] in words_of_kind("places") and link in ("in", "at")
    noun = noun or ("place" if where or says in ("lives in", "resides in") else "")
    asks = f"{predicate.auxiliary} {x} {predicate.bare.replace('{x} ', '')}"
    if noun in TIMES and link in ("in", "on", "at", "since"):
        link = {"date": "on", "day": "on", "time": "at"}.get(noun, "in")
        question = f"When {asks.rpartition(' ')[0]}?"
        return HopWords(f"the {noun} {link} which {x} {verb}", "", noun, question)
    word = "Who" if noun == "person" else f"Which {noun}" if noun else "What"
    question = f"Where {asks.rpartition(' ')[0]}?" if where else f"{word} {asks}?"
    last = f"{x} {says} {f'which {noun}' if noun else 'what'}?"
    thing, nested, role = noun or "thing", "", predicate.role
    if predicate.passive:
        undergone = re.sub(r"^(?:is|was) ", "", predicate.passive)
        nested = f"the {thing} {'that ' * (undergone == predicate.passive)}{undergone} {{x}}"
    elif role and role not in words_of_kind("general_roles"):
        nested = f"the {thing} whose {role} is {{x}}"
    return HopWords(
        f"the {thing} that {x} {says}",
        f"{predicate.passive} {{x}}" if predicate.passive else "",
        thing,
        question if predicate.auxiliary else "",
        _nested_noun(says, noun) or nested,
        last if noun != "person" and not predicate.part else "",
    )


def _nested_noun(says: str, noun: str) -> str:
    """Return `the employer of {x}` for `works for`, where the noun may be called so."""
    key = re.sub(r"^(?:is|was) ", "", says)
    if noun and noun.split()[-1] not in english()["fits"].get(key, noun).split():
        return ""
    return english()["named"].get(key, "").replace("{noun}", noun or "thing")


def spell_out(words: list[str], nouns: Nouns) -> list[str]:
    """Return the words as one would say them.

    >>> spell_out(["worksfor"], Nouns()), spell_out(["hq", "city"], Nouns())
    (['works', 'for'], ['headquarters', 'city'])
    >>> spell_out(["customer", "id"], Nouns("order", "customer"))
    ['customer']
    """
    joined, short, units = (english()[name] for name in ("joined", "short", "units"))
    if " ".join(words) in joined:
        return joined[" ".join(words)].split()
    if len(words) == 1:
        words = take_apart(words[0])
    keys = ("id", "ids", "ref", "fk", "key", "iri", "uri", "name")
    if len(words) > 1 and nouns.object not in ("", *VALUES) and words[-1] in keys:
        words = words[:-1]
    if len(words) > 1 and words[0] in words_of_kind("before_verbs") and words[1].endswith("ed"):
        words = [f"{words[0]}-{words[1]}", *words[2:]]
    verb = words[0] in BASES and words[0] not in {*PAST} | words_of_kind("bare")
    if len(words) > 2 and verb and words[1] in ("up", "off", "out", "over", "down", "back"):
        words = [f"{words[0]}-{words[1]}", *words[2:]]  # `follow_up_to`
    words = [*words[:-1], re.sub(r"(?<=[a-z]{3})\d{1,2}$", "", words[-1])]  # `author1`
    if len(words) > 1 and words[0] in ("num", "nr", "number", "nbr") and words[1] != "of":
        return ["number", "of", *words[1:]]
    if len(words) > 1 and words[-1] in units and not base_of(words[0]):
        words = [*words[:-1], *units[words[-1]].split()]
    if len(words) > 1 and words[-1] == "no":
        words = [*words[:-1], "number"]
    text = " ".join(short.get(word, word) for word in words)
    return joined.get(text, text).split()
