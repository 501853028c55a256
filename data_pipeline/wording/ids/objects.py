"""What stands behind a verb in an id and names what the relation leads to: `servesCuisine`."""

from data_pipeline.wording.ids.inflection import (
    BARE,
    BASES,
    DID,
    GIVEN,
    GROUPS,
    INTRANSITIVE,
    NOUNS_TOO,
    PARTICIPLE,
    PAST,
    STATES,
    base_of,
    is_adjective,
    is_participle,
    singular,
)
from data_pipeline.wording.ids.predicates import PREPOSITIONS, TIMES, Nouns, is_person

PARTICLES = (*PREPOSITIONS, "up", "out", "off", "down", "away", "together", "apart", "back")
_FIGURES = (
    *("count", "number", "total", "id", "url", "score", "rate", "rating", "level", "volume"),
    *("year", "date", "time", "place", "day", "age", "amount", "percentage", "quantity", "list"),
)
_NAMED_BY_ROLE = (
    *("part", "member", "citizen", "capital", "component", "resident", "employee", "head"),
    *("director", "president", "ceo", "founder", "leader", "chair", "dean", "mayor", "captain"),
    *("manager", "owner", "author", "sibling", "parent", "child", "friend", "spouse", "student"),
)
_OFFICES = ("speech", "state", "government", "parliament", "congress", "household", "mission")


def with_its_object(words: list[str], nouns: Nouns) -> tuple[list[str], Nouns]:
    """An id that ends in what it leads to, without that: `lives in city`, `serves cuisine`.

    >>> with_its_object(["serves", "cuisine"], Nouns())
    (['serves'], Nouns(subject='', object='cuisine'))
    """
    links = [place for place, word in enumerate(words) if place and word in PREPOSITIONS]
    end = links[0] + 1 if links else 1
    head, named = words[:end], [word for word in words[end:] if word not in ("the", "a", "an")]
    fits = named and _leads_somewhere(head, named) if links else _has_an_object(words[0])
    if not links and base_of(words[0]) in NOUNS_TOO and named:
        fits = named == nouns.object.split() or base_of(words[0]) in ("play", "study", "host")
    group = nouns.subject.split()[-1:] and nouns.subject.split()[-1] in GROUPS
    if not links and named == nouns.object.split() and (group or is_person(nouns.subject)):
        base = PAST.get(words[0], "")
        fits = fits or bool(base and words[0] not in STATES and base not in (*GIVEN, "refer"))
    to_do = links and words[links[0]] == "to" and named != nouns.object.split()
    to_do = to_do and len(named) == 1 and is_done_to_it(named[0])
    if not fits or not named or len(links) > 1 or named[0] in PARTICLES or to_do:
        return words, nouns
    if named[-1] in _FIGURES and not (links and named[-1] in TIMES):
        return words, nouns
    apart = links and words[links[0]] == "as"
    if links and is_person(nouns.object) and not is_person(named[-1]):
        apart = words[links[0]] != "by"
    if apart:
        base = base_of(words[0]) or PAST.get(words[0], "")
        if base and base not in INTRANSITIVE:
            return words, nouns  # `knows through work`
    if not links and is_participle(named[-1]):
        return words, nouns  # `goals scored`
    return head, Nouns(nouns.subject, nouns.object or " ".join([*named[:-1], singular(named[-1])]))


def is_done_to_it(base: str) -> bool:
    """Whether behind `to` it is what is to be done: `climb`, not the team of `moved_to_team`."""
    return base in BASES and base not in NOUNS_TOO and base not in _THINGS_TOO


_THINGS_TOO = (
    "team",
    "house",
    "cover",
    "design",
    "control",
    "trade",
    "support",
    "award",
    "limit",
    "bond",
)


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
        return True
    return verb in DID or (verb in PAST and verb not in PARTICIPLE)
