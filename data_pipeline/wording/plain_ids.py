"""Phrases from a relation id that is a few English words: `livesIn`, `has_genre`, `directed_by`."""

import re
from dataclasses import dataclass

from data_pipeline.wording.inflection import (
    AGENTS,
    BARE,
    DID,
    INTRANSITIVE,
    IRREGULAR,
    IS_TO,
    NOUNS_TOO,
    PARTICIPLE,
    PAST,
    PEOPLE_DO,
    PLACES,
    STATES,
    base_of,
    english,
    is_adjective,
    is_participle,
    participle,
    past,
    singular,
    third,
)
from graphwalker.graphs.base import Direction

PREPOSITIONS = (
    *("of", "in", "by", "for", "on", "at", "to", "from", "with", "as", "about", "under", "near"),
    *("through", "into", "over", "after", "before", "during", "against", "within", "between"),
    *("onto", "upon", "like", "without", "across", "along", "toward", "towards"),
)
JOINED: dict[str, str] = english()["joined"]
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


NAMED: dict[str, str] = english()["named"]


def _named(words: list[str], noun: str) -> str:
    if noun and words[0] in ("belongs", "enrolled"):
        return ""
    return NAMED.get(" ".join(words), "").replace("{noun}", noun or "thing")


def words_of(relation: str) -> list[str]:
    """The words of an id, of an IRI those of its last part.

    >>> words_of("http://dbpedia.org/ontology/birthPlace")
    ['birth', 'place']
    """
    last = re.split(r"[#/:]", relation.rstrip("#/:"))[-1]
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", last)
    found = re.sub(r"(?i)(?<![a-z])(co|up|down)[-_ ](?=[a-z])", r"\1-", spaced)
    words = re.findall(r"(?i)(?<![a-z])(?:co|up|down)-[a-z]+|[^\W_]+", found)
    return [word.lower() for word in words] or ["relation"]


def plain_words(words: list[str], direction: Direction, nouns: Nouns) -> PlainWords | None:
    """Words for a hop whose relation is a verb or ends in a preposition; `None` for a noun.

    >>> plain_words(["works", "for"], Direction.OUT, Nouns("person", "company")).question
    'Which company does {x} work for?'
    """
    first, *rest = words
    if len(words) > 1 and words[-1] == "by" and is_participle(words[-2]):
        return _by(words[:-1], direction, nouns)
    if len(words) == 3 and first.endswith("ly") and is_participle(words[1]):
        first, rest = f"{first} {words[1]}", rest[1:]  # `conceptually related to`
        return _passive(first, rest[0], direction, nouns) if rest[0] in PREPOSITIONS else None
    link = rest[0] if rest else ""
    if first in PAST and not (first in PARTICIPLE and first in STATES and link in PREPOSITIONS):
        base = PAST[first]
        if (base in INTRANSITIVE or link not in PREPOSITIONS) and _ends_well(rest):
            return _active(base, first, "did", rest, direction, nouns)
    if link in PREPOSITIONS and len(words) == 2 and is_participle(first):
        return _passive(first, link, direction, nouns)
    base = base_of(first)
    plural = base in NOUNS_TOO and not link
    if base in ("play", "study") and nouns.object not in ("", base):
        plural = False
    if base and _ends_well(rest) and not plural:
        return _active(base, first, "does", rest, direction, nouns)
    if first in (*_ALONE, *(BARE if link in PREPOSITIONS else ())) and _ends_well(rest):
        return _active(first, third(first), "does", rest, direction, nouns)
    return None


_ALONE = ("own", "know", "follow", "contain", "include", "manage", "cite", "employ", "belong")


def perfect(words: list[str]) -> list[str]:
    """`has won prize` as `won prize`; what one has, such as `has part`, stays."""
    if len(words) < 2 or words[0] not in ("has", "have"):
        return words
    base, link = PARTICIPLE.get(words[1], ""), words[2:3]
    past_only = base in IRREGULAR and words[1] not in (*STATES, base, "left", "born", "found")
    if past_only or (base in INTRANSITIVE and link and link[0] in PREPOSITIONS):
        return [past(base), *words[2:]]
    return words


def with_its_object(words: list[str], nouns: Nouns) -> tuple[list[str], Nouns]:
    """An id that ends in what it leads to, without that: `lives in city`, `serves cuisine`.

    >>> with_its_object(["serves", "cuisine"], Nouns())
    (['serves'], Nouns(subject='', object='cuisine'))
    """
    links = [place for place, word in enumerate(words) if place and word in PREPOSITIONS]
    end = links[0] + 1 if links else 1
    head, named = words[:end], [word for word in words[end:] if word not in ("the", "a", "an")]
    fits = named and _leads_somewhere(head, named) if links else _has_an_object(words[0])
    if not fits or not named or len(links) > 1 or named[-1] in _FIGURES:
        return words, nouns
    return head, Nouns(nouns.subject, nouns.object or " ".join([*named[:-1], singular(named[-1])]))


_FIGURES = ("count", "number", "total", "id", "url", "score", "rate", "rating", "level", "volume")
_NAMED_BY_ROLE = (
    *("part", "member", "citizen", "capital", "component", "resident", "employee", "head"),
    *("director", "president", "ceo", "founder", "leader", "chair", "dean", "mayor", "captain"),
    *("manager", "owner", "author", "sibling", "parent", "child", "friend", "spouse", "student"),
)
_OFFICES = ("state", "government", "parliament", "congress", "household", "mission")


def _leads_somewhere(head: list[str], named: list[str]) -> bool:
    """Whether what stands behind the preposition is what the relation leads to; `date of birth`
    leads to a date."""
    first, link = head[0], head[-1]
    base = base_of(first)
    if base and (link != "of" or base == "consist"):
        return base in INTRANSITIVE or base not in NOUNS_TOO
    if len(head) > 2:
        return first in PAST and first not in STATES
    if link == "of" and first in _NAMED_BY_ROLE:
        return named[0] not in _OFFICES
    return first in BARE or is_participle(first) or first in PAST or is_adjective(first)


def _has_an_object(verb: str) -> bool:
    base = base_of(verb)
    if base and base != "have":
        return base not in NOUNS_TOO or base in ("play", "study")
    return verb in DID or (verb in PAST and verb not in PARTICIPLE)


def _ends_well(rest: list[str]) -> bool:
    """Nothing behind the verb, a preposition, or an object and its preposition."""
    return not rest or rest[-1] in PREPOSITIONS


def _with_article(rest: list[str]) -> str:
    """`stake in` as a phrase has it: `a stake in`."""
    bare = rest[:1] and rest[0] in _WITHOUT_ARTICLE
    if len(rest) < 2 or bare or rest[0] in PREPOSITIONS or rest[-2].endswith("s"):
        return " ".join(rest)
    return f"{article(rest[0])} {' '.join(rest)}"


_WITHOUT_ARTICLE = (
    *("place", "part", "music", "software", "research", "money", "next", "close", "near"),
    *("along", "up", "down", "out", "away", "back", "together"),
)


def article(word: str) -> str:
    """`a` or `an`, by its letters."""
    return "an" if word[:1] in tuple("aeio") or word.startswith(("un", "um", "up")) else "a"


def _that(noun: str) -> str:
    return "who" if noun.split()[-1] in PERSONS else "that"


def _question_word(noun: str) -> str:
    """What a question begins with: `Who`, `Which company`, `What`."""
    return "Who" if noun == "person" else f"Which {noun}" if noun else "What"


def _active(
    base: str, verb: str, aux: str, rest: list[str], direction: Direction, nouns: Nouns
) -> PlainWords:
    """What somebody does or did: `owns`, `works for`, `acted in`."""
    tail = " ".join(filter(None, [_with_article(rest)]))
    done = f"{verb} {tail}".rstrip()
    if direction is Direction.IN:
        guess = "person" if base in PEOPLE_DO else ""
        noun = nouns.subject or guess
        that = _that(noun or "one")
        return PlainWords(f"the {noun or 'one'} {that} {done} {{x}}", f"{done} {{x}}", noun)
    noun = nouns.object or ("place" if rest == ["in"] and base in ("live", "reside", "die") else "")
    question = f"{_question_word(noun)} {aux} {{x}} {base} {tail}".rstrip() + "?"
    finished = "was" if aux == "did" else "is"
    clause = f"{finished} {participle(base)} by {{x}}" if not rest else ""
    nested = _named([verb, *rest], noun)
    if not rest and base != "have":
        nested = f"the {noun or 'thing'} {participle(base)} by {{x}}"
    return PlainWords(f"the {noun or 'thing'} that {{x}} {done}", clause, noun, question, nested)


def _by(words: list[str], direction: Direction, nouns: Nouns) -> PlainWords:
    """What was done to the subject, by the object: `directed by`, `art directed by`."""
    done = words[-1]
    be = "is" if done in STATES and done in PARTICIPLE else "was"
    base = PARTICIPLE.get(done, "")
    verb = done if not base else past(base) if be == "was" else third(base)
    predicate = " ".join(words)
    if direction is Direction.IN:
        noun = nouns.subject
        return PlainWords(
            f"the {noun or 'thing'} that {{x}} {verb}"
            if len(words) == 1
            else f"the {noun or 'thing'} that {be} {predicate} by {{x}}",
            f"{be} {predicate} by {{x}}",
            noun,
            nested=f"the {noun or 'thing'} {predicate} by {{x}}",
        )
    noun = AGENTS.get(done, nouns.object) if not nouns.object or done in AGENTS else nouns.object
    if len(words) > 1:
        return PlainWords(f"the {noun or 'one'} that {{x}} {be} {predicate} by", "", noun)
    if done in AGENTS:
        question = "" if nouns.object and _that(nouns.object) == "that" else f"Who {verb} {{x}}?"
        return PlainWords(f"the {noun} of {{x}}", f"{verb} {{x}}", nouns.object or noun, question)
    that = _that(noun or "one")
    return PlainWords(f"the {noun or 'one'} {that} {verb} {{x}}", f"{verb} {{x}}", noun)


_STILL = ("made of", "made from", "written in", "found in", "found on", "driven by", "worn on")


def _passive(done: str, link: str, direction: Direction, nouns: Nouns) -> PlainWords:
    """What the subject is or was: `born in`, `published in`, `married to`."""
    still = done.split()[-1] in STATES or f"{done} {link}" in _STILL
    be = "is" if still else "was"
    if direction is Direction.IN:
        noun = nouns.subject or ("person" if done == "born" else "")
        that = _that(noun or "thing")
        predicate = f"{be} {done} {link} {{x}}"
        return PlainWords(f"the {noun or 'entity'} {that} {predicate}", predicate, noun)
    noun = nouns.object or ("place" if done in PLACES and link in ("in", "at") else "")
    if done in PLACES and link in ("in", "at"):
        question = f"Where {be} {{x}} {done}?"
    else:
        question = f"{_question_word(noun)} {be} {{x}} {done} {link}?"
    nested = _named([done, link], noun)
    return PlainWords(
        f"the {noun or 'thing'} that {{x}} {be} {done} {link}", "", noun, question, nested
    )


def linked_words(words: list[str], direction: Direction, nouns: Nouns) -> PlainWords | None:
    """Words for a relation that ends in a preposition:
    `capital_of`, `similar_to`, `citizen_in`; `None` where there is none."""
    *label, last = words
    if last not in PREPOSITIONS or not label:
        return None
    if label[0] in PREPOSITIONS or any(word in PREPOSITIONS for word in label):
        return None
    if is_adjective(label[0]) and len(label) == 1:
        return being(" ".join(words), direction, nouns)
    if last == "of":
        return _role(words, direction, nouns)
    if len(label) == 1 and last in _BEHIND_VERBS and _may_be_a_verb(label[0]):
        return _active(singular(label[0]), label[0], "does", [last], direction, nouns)
    named = " ".join(label)
    if label[-1] in IS_TO or label[-1].endswith(
        ("er", "or", "ist", "ian", "man", "ant", "member", "citizen", "student")
    ):
        return being(f"{article(named)} {named} {last}", direction, nouns)
    an = "the" if label[0] == "same" else article(named)
    held = named if named.endswith("s") else f"{an} {named}"
    if direction is Direction.IN:
        noun = nouns.subject
        predicate = f"has {held} {last} {{x}}"
        return PlainWords(
            f"the {noun or 'entity'} {_that(noun or 'thing')} {predicate}", predicate, noun
        )
    noun = nouns.object
    question = f"{_question_word(noun)} does {{x}} have {held} {last}?"
    return PlainWords(f"the {noun or 'thing'} that {{x}} has {held} {last}", "", noun, question)


_ROLES = ("er", "or", "ist", "ian", "man", "ant", "member", "citizen", "student")
_BEHIND_VERBS = ("with", "to", "into", "onto", "through", "upon", "against", "towards")
_PLURALS = (
    *("flights", "routes", "roads", "relations", "connections", "ties", "references", "friends"),
    *("partners", "members", "links", "relationships", "contracts", "treaties", "deals", "access"),
)


def _may_be_a_verb(word: str) -> bool:
    return word.endswith("s") and not word.endswith(("ss", "us", "is")) and word not in _PLURALS


def being(predicate: str, direction: Direction, nouns: Nouns) -> PlainWords:
    noun = nouns.found(direction)
    if direction is Direction.OUT:
        question = f"{_question_word(noun)} is {{x}} {predicate}?"
        return PlainWords(f"the {noun or 'thing'} that {{x}} is {predicate}", "", noun, question)
    that = _that(noun or "thing")
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


def _role(words: list[str], direction: Direction, nouns: Nouns) -> PlainWords | None:
    """What the subject is of the object: `capital of`, `part of`, `brother of`."""
    if words[-1] != "of" or len(words) < 2:
        return None
    label, noun = " ".join(words[:-1]), nouns.object
    an = "the" if words[-2] in ONLY_ONE else article(label)
    if direction is Direction.IN:
        return PlainWords(f"the {label} of {{x}}", f"is {an} {label} of {{x}}", label)
    word = "Who" if _that(noun or "thing") == "who" else "What"
    question = f"{word} is {{x}} {an} {label} of?"
    whose = f"the {noun or 'thing'} whose {label} is {{x}}"
    nested = "" if label in ("part", "instance", "type", "kind", "subclass", "example") else whose
    phrase = f"the {noun or 'thing'} that {{x}} is {an} {label} of"
    return PlainWords(phrase, "", noun, question, nested)
