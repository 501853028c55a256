"""What the words of a relation say of its start: what it does, what was done to it, what it is."""

import re
from dataclasses import dataclass, replace

from data_pipeline.wording.english import (
    BASES,
    PARTICIPLES,
    PAST,
    PERSONS,
    PREPOSITIONS,
    VALUES,
    article,
    base_of,
    english,
    is_participle,
    is_person,
    participle,
    past_tense,
    singular,
    third_person,
    words_of_kind,
)
from graphwalker.graphs.base import Direction


@dataclass(frozen=True, slots=True)
class Nouns:
    """What a relation starts at and what it leads to: `paper` and `journal`."""

    subject: str = ""
    object: str = ""

    def at_end(self, direction: Direction) -> str:
        return self.object if direction is Direction.OUT else self.subject


NOTHING_KNOWN = Nouns()


@dataclass(frozen=True, slots=True)
class Predicate:
    """What a relation says of its start."""

    says: str
    """`works for`, `is located in`."""
    auxiliary: str
    """`does`, `is`, `may`: with `bare` behind the subject it asks."""
    bare: str
    passive: str = ""
    """What the end undergoes, where it stands right behind the verb: `is owned by`."""
    role: str = ""
    """What the start is of the end: `member` of `member_of`."""
    object: str = ""
    """What the id itself says that it leads to: `city` of `lives_in_city`."""
    flipped: bool = False
    """Whether it is said of the end: `directed_by`."""


def spell_out(words: list[str], nouns: Nouns) -> list[str]:
    """Return the words as one would say them.

    >>> spell_out(["hq", "city"], Nouns()), spell_out(["customer", "id"], Nouns("", "customer"))
    (['headquarters', 'city'], ['customer'])
    """
    joined, short, units = (english()[name] for name in ("joined", "short", "units"))
    if len(words) == 1:
        words = _take_apart(words[0])
    if words[-1] in ("id", "ids", "ref", "fk", "key", "iri", "uri", "name") and len(words) > 1:
        words = words[:-1] if nouns.object not in ("", *VALUES) else words
    words = [*words[:-1], re.sub(r"(?<=[a-z]{3})\d{1,2}$", "", words[-1])]  # `author1`
    if len(words) > 1 and words[0] in ("num", "nr", "number", "nbr") and words[1] != "of":
        return ["number", "of", *words[1:]]
    if len(words) > 1 and words[-1] in units and not base_of(words[0]):
        words = [*words[:-1], *units[words[-1]].split()]
    text = " ".join(short.get(word, word) for word in words)
    return joined.get(text, text).split()


def _take_apart(word: str) -> list[str]:
    """Return `livesin` as `lives in`; a word that is one stays."""
    for link in sorted(PREPOSITIONS, key=lambda one: (-len(one), one)):
        head = word.removesuffix(link)
        if head != word and len(head) > 2 and (base_of(head) or head in PARTICIPLES):
            return [head, link]
    return [word]


def read_predicate(words: list[str], nouns: Nouns) -> Predicate | None:
    """Return what the words say of the start; `None` where they are a noun."""
    first, *rest = words
    if rest and first in words_of_kind("modals"):
        tail, named = _split(rest[1:])
        bare = " ".join([rest[0], *tail])
        passive = "" if tail else f"{first} be {participle(rest[0])} by"
        return Predicate(f"{first} {bare}", first, bare, passive, object=named)
    if rest and first in ("has", "have"):
        if rest[0] == "been" and len(rest) > 1:
            return _be(" ".join(rest[1:]), "was")
        linked = len(rest) > 1 and rest[-1] in PREPOSITIONS
        if not linked and rest[0] not in PARTICIPLES:
            return None
        words = [past_tense(PARTICIPLES[rest[0]]), *rest[1:]] if rest[0] in PARTICIPLES else rest
    is_one = first in ("is", "was", "are") and bool(rest)
    if is_one:
        words = rest
        if len(rest) == 1 and is_participle(rest[0]):
            return _be(rest[0], "was" if first == "was" else "is")
    adverb = words[0] if len(words) > 1 and _is_adverb(words[0]) else ""
    words = words[1:] if adverb else words
    if "by" in words[1:]:
        found = _read_agent(words, nouns, is_one)
    elif words[0] in PREPOSITIONS:
        found = _be(" ".join(words)) if len(words) == 1 or words[-1] in PREPOSITIONS else None
    elif len(words) > 2 and words[-1] in PREPOSITIONS and is_participle(words[-2]):
        found = _read_verb(words[-2:], nouns)  # `countries_played_in`
        named = " ".join([*words[:-3], singular(words[-3])])
        found = found and replace(found, object=named)
    else:
        found = _read_verb(words, nouns) or _read_role(words, nouns, is_one)
    return _put(adverb, found) if adverb and found else found


def _is_adverb(word: str) -> bool:
    return word in words_of_kind("adverbs") or (
        word.endswith("ly") and word not in words_of_kind("no_adverbs")
    )


def _put(adverb: str, found: Predicate) -> Predicate:
    """Return the predicate with an adverb before its verb, behind `is` and `was`."""
    be, _, rest = found.says.partition(" ")
    if be in ("is", "was"):
        be = "was" if adverb in ("formerly", "previously", "originally") else be
        return replace(_be(f"{adverb} {rest}", be), object=found.object)
    says, bare = f"{adverb} {found.says}", f"{adverb} {found.bare}"
    return replace(found, says=says, bare=bare, passive="", role="")


def _be(rest: str, be: str = "is", object: str = "", role: str = "") -> Predicate:
    return Predicate(f"{be} {rest}", be, rest, object=object, role=role)


def _do(base: str, is_past: bool, tail: list[str], named: str) -> Predicate:
    """Return what one does or did: `owns`, `acted in`, `owns a stake in`."""
    bare = PREPOSITIONS | words_of_kind("without_article") | {"{x}"}
    if len(tail) > 1 and tail[0] not in bare and not tail[-2].endswith("s"):
        tail = [article(tail[0]), *tail]
    auxiliary, verb = ("did", past_tense) if is_past else ("does", third_person)
    transitive = not tail and base not in words_of_kind("never_undergone")
    passive = f"{'was' if is_past else 'is'} {participle(base)} by" if transitive else ""
    says, bare = (" ".join([form, *tail]) for form in (verb(base), base))
    return Predicate(says, auxiliary, bare, passive, object=named)


def _read_agent(words: list[str], nouns: Nouns, still: bool) -> Predicate | None:
    """Return the predicate of `directed_by`, `looked_after_by`, `motivated_by_goal`."""
    place = words.index("by", 1)
    verb, named = words[:place], [*words[place + 1 : -1], *map(singular, words[place + 1 :][-1:])]
    while len(verb) > 1 and not is_participle(verb[0]):
        verb = verb[1:]  # `movie_directed_by` of a movie
    if not is_participle(verb[0]) or PREPOSITIONS & {*named}:
        return None
    done, *particle = verb
    base = PARTICIPLES.get(done, done)
    still = still or done in words_of_kind("states")
    form = third_person(base) if still else past_tense(base) if base != done else done
    says, bare = (" ".join([one, *particle]) for one in (form, base))
    passive = f"{'is' if still else 'was'} {' '.join(verb)} by"
    auxiliary = "does" if still else "did"
    return Predicate(says, auxiliary, bare, passive, object=" ".join(named), flipped=True)


def _split(rest: list[str]) -> tuple[list[str], str]:
    """Split what stands behind a verb: what belongs to it, and the noun of what it leads to."""
    links = [k for k, word in enumerate(rest) if word in PREPOSITIONS]
    named = rest[links[0] + 1 :] if links else rest
    if not named or len(links) > 1 or named[0] in words_of_kind("particles"):
        return rest, ""  # `works_for`, `competes_for_food_with`
    if links and rest[links[0]] in ("as", "through", "to"):
        return (["{x}", *rest] if rest[links[0]] != "to" else rest), ""  # `cites_as_authority`
    return rest[: links[0] + 1] if links else [], " ".join([*named[:-1], singular(named[-1])])


def _read_verb(words: list[str], nouns: Nouns) -> Predicate | None:
    """Return the predicate of `owns`, `acted_in`, `located_in`, `serves_cuisine`, `LIVE_IN`."""
    first, *rest = words
    tail, named = _split(rest)
    person, linked = is_person(nouns.subject), bool(tail)
    if base := base_of(first):
        noun = base in words_of_kind("nouns_too") and not linked
        things = nouns.object not in ("", base, *VALUES) and person >= is_person(nouns.object)
        fits = nouns.object in ("", named) if named else things
        figure = not linked and rest[-1:] != [nouns.object] and {*rest} & words_of_kind("figures")
        return None if figure or (noun and not fits) else _do(base, False, tail, named)
    stem = first.removesuffix("ing")
    gerund = next((b for b in (stem, f"{stem}e", stem[:-1]) if b in BASES), "")
    base = first if stem == first else gerund
    if (linked or not rest) and base in words_of_kind("bare" if linked else "alone"):
        return _do(base, False, tail, named)
    if first not in PAST and not is_participle(first):
        return None
    base = PAST.get(first) or PARTICIPLES.get(first, "")
    only_past = first in PAST and first not in PARTICIPLES
    if not linked:
        did = only_past or first in words_of_kind("did") or (person and named == nouns.object)
        if rest and not did:
            return None  # `registered_office`
        if not rest and nouns.object in ("date", "year"):
            return _be(f"{first} {'on' if nouns.object == 'date' else 'in'}", "was")
        given = base in ("award", "prescribe", "assign", "grant", "issue")
        if given and nouns.subject == "patient":
            return _be(first, "was")
        return _do(base, True, [], named) if base else Predicate(first, "", "", object=named)
    group = nouns.subject.rpartition(" ")[2] in words_of_kind("groups")
    particles = words_of_kind("particles") | {"{x}"}
    did = base in words_of_kind("intransitive") or only_past
    did = did or tail[0] not in PREPOSITIONS | particles
    did = did or (base in words_of_kind("people_act") and (not nouns.subject or person or group))
    did = did or (tail[0] == "to" and len(tail) > 1)  # `aimed_to_climb`
    if first in PAST and did:
        return _do(base, True, tail, named)
    be = "is" if first in words_of_kind("states") else "was"
    return _be(" ".join([first, *tail]), be, object=named) if is_participle(first) else None


def _read_role(words: list[str], nouns: Nouns, is_one: bool) -> Predicate | None:
    """Return the predicate of `capital_of`, `similar_to`, `member_of_party`, `has_effect_on`."""
    thing, person = nouns.object, is_person(nouns.subject)
    if not PREPOSITIONS & {*words}:
        of_thing = person and thing not in ("", *VALUES) and not is_person(thing)
        if not (is_one or (of_thing and is_person(words[-1]))):
            return None
        words = [*words, "of"]  # `DIRECTOR` of a film, `is_capital` of a country
    place = next(k for k, word in enumerate(words) if word in PREPOSITIONS)
    label, link, named = words[:place], words[place], words[place + 1 :]
    what, noun = " ".join(label), " ".join(map(singular, named))
    an = "the" if label[-1] in words_of_kind("only_one") else article(what)
    if what in words_of_kind("without_article") or label[-1].endswith("s"):
        an = ""
    held = f"{an} {what} {link}".lstrip()
    if what in words_of_kind("adjectives") or what.endswith(("able", "ible", "ous", "ful")):
        return _be(f"{what} {link}", object=noun)
    if link == "of":
        theirs = is_person(thing) and not person and is_person(label[-1])
        if (named and label[-1] not in ("member", "part", "citizen", "resident")) or theirs:
            return None  # `date_of_birth`; the person whom a club has as its `head_of`
        return _be(held, object=noun, role=what)
    if named and (thing.split()[-1:] != named[-1:] or label[-1] in nouns.subject.split()):
        return _be(link, object=noun) if what == nouns.subject else None
    if is_one or link in ("to", "with") or label[-1] in PERSONS:
        return _be(held, object=noun)
    return Predicate(f"has {held}", "does", f"have {held}", object=noun)
