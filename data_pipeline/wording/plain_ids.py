"""Phrases from a relation id that is a few English words: `livesIn`, `has_genre`, `directed_by`."""

import re
from dataclasses import replace

from data_pipeline.wording.inflection import (
    BARE,
    DID,
    INTRANSITIVE,
    IRREGULAR,
    IS_TO,
    NOUNS_TOO,
    PARTICIPLE,
    PAST,
    STATES,
    base_of,
    english,
    is_adjective,
    is_participle,
    past,
    singular,
    third,
)
from data_pipeline.wording.predicates import (
    PREPOSITIONS,
    Nouns,
    PlainWords,
    active,
    article,
    being,
    done_by,
    done_to,
    question_word,
    role_of,
    that_or_who,
)
from graphwalker.graphs.base import Direction

JOINED: dict[str, str] = english()["joined"]


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


_PREFIX = re.compile(r"(?i)(?<![a-z])co[-_ ](?=[a-z])|^(?:up|down)[-_ ](?=[a-z]{4})")


def _hyphened(prefix: re.Match[str]) -> str:
    return f"{prefix[0][:-1]}-"


def plain_words(words: list[str], direction: Direction, nouns: Nouns) -> PlainWords | None:
    """Words for a hop whose relation is a verb or ends in a preposition; `None` for a noun.

    >>> plain_words(["works", "for"], Direction.OUT, Nouns("person", "company")).question
    'Which company does {x} work for?'
    """
    first, *rest = words
    if len(words) > 1 and words[-1] == "by" and is_participle(words[-2]):
        return done_by(words[:-1], direction, nouns)
    if len(words) == 3 and words[2] == "by" and is_participle(first) and words[1] in _PARTICLES:
        return done_by([first], direction, nouns, words[1])  # `looked after by`
    if rest and (first in _ADVERBS or first.endswith("ly")):
        found = plain_words(rest, direction, nouns)
        return found and _with_adverb(first, found)
    if len(words) > 2 and first in _COMPOUND and (base := PAST.get(words[1])) in INTRANSITIVE:
        verb = f"{first} {base}"  # `guest starred in`
        return active(verb, f"{first} {words[1]}", "did", rest[1:], direction, nouns)
    link = rest[0] if rest else ""
    if first in PAST and not (first in PARTICIPLE and first in STATES and link in PREPOSITIONS):
        base = PAST[first]
        done = base in INTRANSITIVE or first not in PARTICIPLE or f"{first} {link}" in _DONE
        if (done or link not in PREPOSITIONS) and _ends_well(rest):
            return active(base, first, "did", rest, direction, nouns)
    if not rest and first not in STATES and is_participle(first) and first not in PARTICIPLE:
        return active("", first, "did", rest, direction, nouns)
    if link in _PARTICLES and rest[-1] in PREPOSITIONS and is_participle(first):
        return done_to(" ".join(words[:-1]), words[-1], direction, nouns)
    base = base_of(first)
    plural = base in NOUNS_TOO and not link
    if base in ("play", "study") and nouns.object not in ("", base):
        plural = False
    if base and _ends_well(rest) and not plural:
        return active(base, first, "does", rest, direction, nouns)
    if first in (*_ALONE, *(BARE if link in PREPOSITIONS else ())) and _ends_well(rest):
        return active(first, third(first), "does", rest, direction, nouns)
    return None


_COMPOUND = ("guest", "voice", "ghost", "stunt")
_PARTICLES = (*PREPOSITIONS, "up", "out", "off", "down", "away")
_DONE = (
    *("taught at", "led to", "built for", "fought for", "read at", "signed for", "signed with"),
    *("trained at", "trained under", "trained with", "operated in", "practiced at", "coached at"),
    *("recorded with", "consulted for", "practised at", "researched at", "ruled over"),
)
"""Where the past is the participle, too, and somebody did it."""
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


_ADVERBS = ("first", "also", "now", "once", "still", "later", "already", "currently")


def _with_adverb(adverb: str, found: PlainWords) -> PlainWords:
    """`conceptually related to`, `formerly played for`: the adverb stands before the verb, behind
    `is` and `was`."""

    def put(text: str, behind: str) -> str:
        return re.sub(rf"^({behind}(?:(?:is|was) )?)", rf"\g<1>{adverb} ", text)

    phrase = put(found.phrase, r"the [^{}]*? (?:who|that) (?:\{x\} )?")
    question = re.sub(r"(?<=\{x\}) ", f" {adverb} ", found.question, count=1)
    return replace(
        found,
        phrase=phrase,
        clause=put(found.clause, "") if found.clause else "",
        question=question,
        nested="",
    )


def with_its_object(words: list[str], nouns: Nouns) -> tuple[list[str], Nouns]:
    """An id that ends in what it leads to, without that: `lives in city`, `serves cuisine`.

    >>> with_its_object(["serves", "cuisine"], Nouns())
    (['serves'], Nouns(subject='', object='cuisine'))
    """
    links = [place for place, word in enumerate(words) if place and word in PREPOSITIONS]
    end = links[0] + 1 if links else 1
    head, named = words[:end], [word for word in words[end:] if word not in ("the", "a", "an")]
    fits = named and _leads_somewhere(head, named) if links else _has_an_object(words[0])
    if not fits or not named or len(links) > 1 or (len(named) == 1 and named[0] in _FIGURES):
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
        return role_of(words, direction, nouns)
    if len(label) == 1 and last in _BEHIND_VERBS and _may_be_a_verb(label[0]):
        return active(singular(label[0]), label[0], "does", [last], direction, nouns)
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
            f"the {noun or 'entity'} {that_or_who(noun or 'thing')} {predicate}", predicate, noun
        )
    noun = nouns.object
    question = f"{question_word(noun)} does {{x}} have {held} {last}?"
    return PlainWords(f"the {noun or 'thing'} that {{x}} has {held} {last}", "", noun, question)


_ROLES = ("er", "or", "ist", "ian", "man", "ant", "member", "citizen", "student")
_BEHIND_VERBS = (
    *("with", "to", "into", "onto", "through", "upon", "against", "towards", "in", "on", "at"),
    *("from", "over", "under", "along", "across"),
)
_PLURALS = (
    *("offices", "roles", "branches", "operations", "items", "students", "customers", "shares"),
    *("stakes", "parts", "awards", "degrees", "positions", "seats", "campuses", "stores", "rights"),
    *("interests", "investments", "locations", "elections", "matches", "games", "goals", "points"),
    *("effects", "views", "visits", "trips", "exports", "imports", "children", "sales", "homes"),
    *("flights", "routes", "roads", "relations", "connections", "ties", "references", "friends"),
    *("partners", "members", "links", "relationships", "contracts", "treaties", "deals", "access"),
)


def _may_be_a_verb(word: str) -> bool:
    return word.endswith("s") and not word.endswith(("ss", "us", "is")) and word not in _PLURALS
