"""What a relation says of two things, as noun phrase, clause and question: what somebody does, what
was done to something, what it is."""

from dataclasses import dataclass

from data_pipeline.wording.ids.inflection import (
    AGENTS,
    PARTICIPLE,
    PEOPLE_DO,
    PLACES,
    STATES,
    english,
    participle,
    past,
    third,
)
from graphwalker.graphs.base import Direction

PREPOSITIONS = (
    *("of", "in", "by", "for", "on", "at", "to", "from", "with", "as", "about", "under", "near"),
    *("through", "into", "over", "after", "before", "during", "against", "within", "between"),
    *("onto", "upon", "like", "without", "across", "along", "toward", "towards", "above", "below"),
    *("behind", "beside", "beneath", "inside", "outside", "around", "beyond"),
    *("aboard", "alongside", "among", "throughout", "via", "until", "since", "than"),
)
TIMES = ("date", "year", "time", "day", "month")
PERSONS = tuple(english()["persons"]["nouns"].split())


@dataclass(frozen=True, slots=True)
class Nouns:
    """What a relation starts at and what it leads to: `paper` and `journal`."""

    subject: str = ""
    object: str = ""

    def found(self, direction: Direction) -> str:
        return self.object if direction is Direction.OUT else self.subject


@dataclass(frozen=True, slots=True)
class PlainWords:
    """How a hop is worded: a noun phrase, a clause and a question where they read well, the noun of
    what it finds."""

    phrase: str
    clause: str
    noun: str
    question: str = ""
    nested: str = ""
    """Another noun phrase, for inside of others: it ends on its slot, where `the place that {x}
    lives in` would put one preposition behind another."""
    final_question: str = ""
    """Another question, around long phrases: `{x} belongs to which club?`."""


NAMED: dict[str, str] = english()["named"]


def _named(words: list[str], noun: str) -> str:
    fits = _FIT.get(" ".join(words))
    if noun and (words[0] in ("belongs", "enrolled") or (fits and noun.split()[-1] not in fits)):
        return ""
    return NAMED.get(" ".join(words), "").replace("{noun}", noun or "thing")


_TOWNS = ("city", "town", "village", "place", "settlement", "municipality")
_SCHOOLS = ("school", "university", "college", "institution", "institute", "academy")
_FIT: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("lives in", "resides in"), _TOWNS),
    **dict.fromkeys(("educated at", "studied at", "graduated from"), _SCHOOLS),
    **{"written in": ("language",), "set in": (*_TOWNS, "country", "year"), "works in": ("place",)},
    **dict.fromkeys(("made of", "made from"), ("material", "substance", "metal", "fabric", "wood")),
    "published in": ("journal", "magazine", "newspaper", "proceedings", "series", "periodical"),
    **{"headquartered in": _TOWNS, "born in": (*_TOWNS, "country", "region")},
    **dict.fromkeys(("works for", "works at", "worked for"), ("company", "organization", "firm")),
}
"""Nouns of what may be called so: a country is nobody's home town."""


def _with_article(rest: list[str]) -> str:
    """`stake in` as a phrase has it: `a stake in`."""
    bare = rest[:1] and rest[0] in _WITHOUT_ARTICLE
    if len(rest) < 2 or bare or rest[0] in PREPOSITIONS or rest[-2].endswith("s"):
        return " ".join(rest)
    return f"{article(rest[0])} {' '.join(rest)}"


_WITHOUT_ARTICLE = (
    *("place", "part", "music", "software", "research", "money", "next", "close", "near"),
    *(
        "along",
        "up",
        "down",
        "out",
        "off",
        "away",
        "back",
        "together",
        "law",
        "medicine",
        "art",
        "data",
    ),
    *("power", "energy", "water", "heat", "theology", "philosophy", "mathematics", "physics"),
    *("history", "literature", "engineering", "effect", "control", "care", "charge", "authority"),
    *("experience", "expertise", "evidence", "influence", "permission", "responsibility"),
    *("jurisdiction", "ownership", "support", "help", "advice", "custody", "priority", "shape"),
    *("fealty", "allegiance", "loyalty", "homage", "asylum", "citizenship", "membership"),
    *("infrastructure", "equipment", "credit", "refuge", "war", "peace", "office", "residence"),
    *(
        "work",
        "lead",
        "well",
        "same",
        "best",
        "gold",
        "silver",
        "bronze",
        "first",
        "second",
        "third",
        "authority",
    ),
    *("funding", "training", "information", "knowledge", "command", "aid", "traffic", "parts"),
)
"""What stands behind a verb without an article: `has access to`, `takes care of`."""


def article(word: str) -> str:
    """`a` or `an`, by its letters."""
    if word.startswith(("uni", "eu", "one", "once")):
        return "a"
    return "an" if word[:1] in tuple("aeio") or word.startswith(("un", "um", "up")) else "a"


def that_or_who(noun: str) -> str:
    return "who" if noun.split()[-1] in PERSONS else "that"


def is_person(noun: str) -> bool:
    return noun.split()[-1:] != [] and noun.split()[-1] in PERSONS


def question_word(noun: str) -> str:
    """What a question begins with: `Who`, `Which company`, `What`."""
    return "Who" if noun == "person" else f"Which {noun}" if noun else "What"


_NEVER_UNDERGONE = (
    "have",
    "become",
    "remain",
    "lack",
    "resemble",
    "mean",
    "equal",
    "die",
    "expire",
)


def final_question(predicate: str, noun: str) -> str:
    """`{x} belongs to which club?`: its verb stands next to its subject, however long that is."""
    return f"{{x}} {predicate} {f'which {noun}' if noun and noun != 'person' else 'what'}?"


def active(
    base: str, verb: str, aux: str, rest: list[str], direction: Direction, nouns: Nouns
) -> PlainWords:
    """What somebody does or did: `owns`, `works for`, `acted in`."""
    tail = " ".join(filter(None, [_with_article(rest)]))
    done = f"{verb} {tail}".rstrip()
    if direction is Direction.IN:
        guess = "person" if base in PEOPLE_DO else ""
        noun = nouns.subject or guess
        that = that_or_who(noun or "one")
        return PlainWords(f"the {noun or 'one'} {that} {done} {{x}}", f"{done} {{x}}", noun)
    noun = nouns.object or ("place" if rest == ["in"] and base in ("live", "reside", "die") else "")
    question = f"{question_word(noun)} {aux} {{x}} {base} {tail}".rstrip() + "?" if base else ""
    if noun in TIMES and len(rest) == 1:
        return PlainWords(
            f"the {noun} {_in_or_on(noun, rest[0])} which {{x}} {verb}",
            "",
            noun,
            f"When {aux} {{x}} {base}?" if base else "",
        )
    finished = "was" if aux == "did" else "is"
    undergone = participle(base) if base else verb
    passive = not rest and base not in _NEVER_UNDERGONE
    clause = f"{finished} {undergone} by {{x}}" if passive else ""
    nested = _named([verb, *rest], noun)
    if passive:
        nested = f"the {noun or 'thing'} {undergone} by {{x}}"
    last = final_question(done, noun) if question and noun != "person" else ""
    return PlainWords(
        f"the {noun or 'thing'} that {{x}} {done}", clause, noun, question, nested, last
    )


def done_by(
    words: list[str], direction: Direction, nouns: Nouns, particle: str = "", still: bool = False
) -> PlainWords:
    """What was done to the subject, by the object: `directed by`, `art directed by`, with a
    particle `looked after by`. `still`: the id says that it is done now, as `is_run_by` does."""
    *how, done = words
    be = "is" if still or (done in STATES and done in PARTICIPLE) else "was"
    base = PARTICIPLE.get(done, "")
    verb = done if not base else past(base) if be == "was" else third(base)
    verb = " ".join(filter(None, [*how, verb, particle]))
    predicate = " ".join(filter(None, [*words, particle]))
    if direction is Direction.IN:
        noun = nouns.subject
        return PlainWords(
            f"the {noun or 'thing'} that {{x}} {verb}",
            f"{be} {predicate} by {{x}}",
            noun,
            nested=f"the {noun or 'thing'} {predicate} by {{x}}",
        )
    plain = not how and not particle
    noun = AGENTS[done] if plain and done in AGENTS else nouns.object
    if plain and done in AGENTS:
        question = (
            "" if nouns.object and that_or_who(nouns.object) == "that" else f"Who {verb} {{x}}?"
        )
        return PlainWords(f"the {noun} of {{x}}", f"{verb} {{x}}", nouns.object or noun, question)
    that = that_or_who(noun or "one")
    return PlainWords(f"the {noun or 'one'} {that} {verb} {{x}}", f"{verb} {{x}}", noun)


_STILL = ("made of", "made from", "written in", "found in", "found on", "driven by", "worn on")


def done_to(done: str, link: str, direction: Direction, nouns: Nouns) -> PlainWords:
    """What the subject is or was: `born in`, `published in`, `married to`."""
    still = done.split()[-1] in STATES or f"{done} {link}" in _STILL
    be = "is" if still else "was"
    if direction is Direction.IN:
        link = "on" if nouns.object == "date" and link == "in" else link
        noun = nouns.subject or ("person" if done == "born" else "")
        that = that_or_who(noun or "thing")
        predicate = f"{be} {done} {link} {{x}}"
        return PlainWords(f"the {noun or 'entity'} {that} {predicate}", predicate, noun)
    noun = nouns.object or ("place" if done in PLACES and link in ("in", "at") else "")
    if noun in TIMES and link in ("in", "on", "at", "since"):
        phrase = f"the {noun} {_in_or_on(noun, link)} which {{x}} {be} {done}"
        return PlainWords(phrase, "", noun, f"When {be} {{x}} {done}?")
    if done in PLACES and link in ("in", "at"):
        question = f"Where {be} {{x}} {done}?"
    else:
        question = f"{question_word(noun)} {be} {{x}} {done} {link}?"
    nested = _named([done, link], noun)
    last = final_question(f"{be} {done} {link}", noun) if noun != "person" else ""
    return PlainWords(
        f"the {noun or 'thing'} that {{x}} {be} {done} {link}", "", noun, question, nested, last
    )


def _in_or_on(noun: str, link: str) -> str:
    return {"date": "on", "day": "on", "time": "at"}.get(noun, "in") if link != "since" else link


def being(predicate: str, direction: Direction, nouns: Nouns) -> PlainWords:
    noun = nouns.found(direction)
    if direction is Direction.OUT:
        question = f"{question_word(noun)} is {{x}} {predicate}?"
        phrase = f"the {noun or 'thing'} that {{x}} is {predicate}"
        last = final_question(f"is {predicate}", noun) if noun != "person" else ""
        return PlainWords(phrase, "", noun, question, final_question=last)
    that = that_or_who(noun or "thing")
    return PlainWords(
        f"the {noun or 'entity'} {that} is {predicate} {{x}}", f"is {predicate} {{x}}", noun
    )


ONLY_ONE = (
    *(
        "capital",
        "ceo",
        "head",
        "owner",
        "president",
        "chairman",
        "king",
        "queen",
        "mayor",
        "leader",
    ),
    *("father", "mother", "wife", "husband", "author", "director", "sequel", "founder"),
)


_KIN = (
    *("spouse", "wife", "husband", "father", "mother", "sibling", "brother", "sister", "son"),
    *("daughter", "cousin", "uncle", "aunt", "nephew", "niece", "godparent", "godfather"),
)
_GENERAL = ("part", "instance", "type", "kind", "subclass", "example", "subset", "subtype")
"""Roles that say nothing of what has them."""


def role_of(words: list[str], direction: Direction, nouns: Nouns) -> PlainWords | None:
    """What the subject is of the object: `capital of`, `part of`, `brother of`."""
    if words[-1] != "of" or len(words) < 2:
        return None
    label, noun = " ".join(words[:-1]), nouns.object
    an = "the" if words[-2] in ONLY_ONE else article(label)
    if direction is Direction.IN:
        clause, general = f"is {an} {label} of {{x}}", label in _GENERAL
        noun = nouns.subject or ("" if general else label)
        named = f"the {noun} that {clause}" if general and noun else f"the {label} of {{x}}"
        return PlainWords(named, clause, noun)
    noun = noun or ("person" if words[-2] in _KIN else "")
    word = "Who" if that_or_who(noun or "thing") == "who" else "What"
    question = f"{word} is {{x}} {an} {label} of?"
    whose = f"the {noun or 'thing'} whose {label} is {{x}}"
    nested = "" if label in _GENERAL else whose
    phrase = f"the {noun or 'thing'} that {{x}} is {an} {label} of"
    last = final_question(f"is {an} {label} of", noun) if noun != "person" else ""
    return PlainWords(phrase, "", noun, question, nested, last)
