"""What the words of a relation say of its start: what it does, what was done to it, what it is."""

from dataclasses import dataclass, replace

from data_pipeline.wording.english import (
    BASES,
    PARTICIPLES,
    PAST,
    PERSONS,
    PREPOSITIONS,
    TIMES,
    VALUES,
    article,
    base_of,
    is_adjective,
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

    def found(self, direction: Direction) -> str:
        return self.object if direction is Direction.OUT else self.subject


@dataclass(frozen=True, slots=True)
class Predicate:
    """What a relation says of its start."""

    says: str
    """`works for`, `is located in`; `{x}` where the end stands inside: `cites {x} as authority`."""
    auxiliary: str
    """`does`, `is`, `may`: with `bare` behind the subject it asks."""
    bare: str
    passive: str = ""
    """What the end undergoes, where it stands right behind the verb: `is owned by`."""
    role: str = ""
    """What the start is of the end: `member` of `member_of`."""
    object: str = ""
    """What the id itself says that it leads to: `city` of `lives_in_city`."""
    part: str = ""
    """What of the start it is said of: `career` of `career_started_in`."""
    flipped: bool = False
    """Whether it is said of the end: `directed_by`."""


def read_predicate(words: list[str], nouns: Nouns) -> Predicate | None:
    """Return what the words say of the start; `None` where they are a noun."""
    first, *rest = words
    if rest and first in words_of_kind("modals") and (rest[0] in (*BASES, "be") or first == "may"):
        tail, named = _split(rest[1:], nouns)
        passive = "" if tail or rest[0] == "be" else f"{first} be {participle(rest[0])} by"
        bare = " ".join([rest[0], *tail])
        return Predicate(f"{first} {bare}", first, bare, passive, object=named)
    if rest and first in ("has", "have"):
        if rest[0] == "been" and len(rest) > 1:
            first, *rest = "was", *rest[1:]
        elif rest[0] in PARTICIPLES and rest[0] not in words_of_kind("had"):
            first, *rest = past_tense(PARTICIPLES[rest[0]]), *rest[1:]  # `has won prize`
        else:
            first, *rest = rest
    be = first if rest and first in ("is", "was", "are") else ""
    if be:
        if len(rest) == 1 and is_participle(rest[0]):
            return _being(rest[0], "was" if be == "was" else "is")  # `was_awarded`
        first, *rest = rest
    if rest and rest[0].endswith("ly") and rest[0] not in words_of_kind("no_adverbs"):
        first, *rest = rest[0], first, *rest[1:]  # `held annually in`
    words = [first, *rest]
    if "by" in words[1:] and (found := _done_by(words, nouns, be in ("is", "are"))):
        return found
    if first in PREPOSITIONS:
        return _placed(words)
    found = _with_adverb(words, nouns) or _verb(words, nouns)
    return found or _verb_behind(words, nouns) or _role(words, nouns, bool(be))


def _being(
    predicate: str, be: str = "is", object: str = "", role: str = "", part: str = ""
) -> Predicate:
    return Predicate(f"{be} {predicate}", be, predicate, object=object, role=role, part=part)


def _doing(base: str, is_past: bool, tail: list[str], named: str) -> Predicate:
    """Return what one does or did: `owns`, `acted in`, `owns a stake in`."""
    bare = PREPOSITIONS | words_of_kind("without_article") | {"{x}"}
    if len(tail) > 1 and tail[0] not in bare and not tail[-2].endswith("s"):
        tail = [article(tail[0]), *tail]
    auxiliary, verb = ("did", past_tense) if is_past else ("does", third_person)
    undergone = not tail and base not in words_of_kind("never_undergone")
    passive = f"{'was' if is_past else 'is'} {participle(base)} by" if undergone else ""
    says, behind = (" ".join([form, *tail]) for form in (verb(base), base))
    return Predicate(says, auxiliary, behind, passive, object=named)


def _done_by(words: list[str], nouns: Nouns, still: bool) -> Predicate | None:
    """Return the predicate of `directed_by`, `looked_after_by`, `motivated_by_goal`."""
    place = words.index("by", 1)
    *how, done = words[:place]
    named = " ".join([*words[place + 1 : -1], singular(words[-1])]) if words[place + 1 :] else ""
    particle = [done] if how and not is_participle(done) else []
    if particle:
        *how, done = how
    if PREPOSITIONS & {*words[place + 1 :]}:
        return None  # `related_by_marriage_to`
    if not is_participle(done):
        part = " ".join(words[:place])  # `music_by`
        be = "are" if part.endswith("s") else "is"
        return None if named else _being("by", be, part=part)
    if how == nouns.subject.split():
        how = []  # `movie_directed_by` of a movie
    base = PARTICIPLES.get(done, "")
    still = still or done in words_of_kind("states")
    verb = (third_person(base) if still else past_tense(base)) if base else done
    says, undergone, behind = (
        " ".join([*how, form, *particle]) for form in (verb, done, base or done)
    )
    passive, auxiliary = f"{'is' if still else 'was'} {undergone} by", "does" if still else "did"
    return Predicate(says, auxiliary if base else "", behind, passive, object=named, flipped=True)


def _placed(words: list[str]) -> Predicate | None:
    """Return the predicate of `near`, `at_war_with`, `to_station`; `in_region` is a noun."""
    first, *rest = words
    if not rest or words[-1] in PREPOSITIONS:
        return _being(" ".join(words))
    if first in ("in", "of", "on", "at", "by", "for", "with", "as", "about"):
        return None
    named, moves = singular(" ".join(rest)), {"to": "go", "from": "come", "via": "go"}
    return (
        _doing(moves[first], False, [first], named)
        if first in moves
        else _being(first, object=named)
    )


def _split(rest: list[str], nouns: Nouns) -> tuple[list[str], str]:
    """Split what stands behind a verb: what belongs to it, and the noun of what it leads to."""
    links = [k for k, word in enumerate(rest) if word in PREPOSITIONS]
    link = rest[links[0]] if links else ""
    named = rest[links[0] + 1 :] if links else rest
    named = [word for word in named if word not in ("the", "a", "an")]
    if not named or len(links) > 1 or named[0] in words_of_kind("particles"):
        return rest, ""  # `works_for`, `competes_for_food_with`
    verb = named[0] in BASES - words_of_kind("nouns_too") and named != nouns.object.split()
    if link == "to" and verb:
        return rest, ""  # `aimed_to_climb`
    if link == "as" or (link and is_person(nouns.object) and not is_person(named[-1])):
        return ["{x}", *rest], ""  # `cites_as_authority`, `knows_through_work`
    return rest[: links[0] + 1] if links else [], " ".join([*named[:-1], singular(named[-1])])


def _verb(words: list[str], nouns: Nouns) -> Predicate | None:
    """Return the predicate of `owns`, `acted_in`, `located_in`, `serves_cuisine`, `LIVE_IN`."""
    first, *rest = words
    (tail, named), end = _split(rest, nouns), nouns.object
    if not tail and rest and rest[-1] in words_of_kind("figures") and rest[-1] != end:
        return None  # `likes_count`
    if rest and is_participle(rest[0]) and base_of(first) in words_of_kind("nouns_too"):
        return None  # `lists_featured_in`
    if base := base_of(first):
        things = end not in ("", base, *VALUES) and is_person(nouns.subject) >= is_person(end)
        noun = base in words_of_kind("nouns_too") and not tail
        return (
            None
            if noun and not (end in ("", named) if named else things)
            else _doing(base, False, tail, named)
        )
    linked = bool(tail) and tail[0] in PREPOSITIONS
    if first in words_of_kind("bare" if linked else "alone") and (linked or not rest):
        return _doing(first, False, tail, named)
    stem = first.removesuffix("ing")
    if stem != first and (
        base := next((b for b in (stem, f"{stem}e", stem[:-1]) if b in BASES), "")
    ):
        fits = (
            words_of_kind("intransitive")
            if linked
            else words_of_kind("alone") | words_of_kind("gerunds")
        )
        return _doing(base, False, tail, named) if base in fits and (linked or not rest) else None
    if first in PAST or is_participle(first):
        return _of_the_past(first, tail, named, nouns)
    return None


def _of_the_past(first: str, tail: list[str], named: str, nouns: Nouns) -> Predicate | None:
    """Return what somebody did (`wrote`, `acted_in`), or what was done (`published_in`)."""
    base, person = PAST.get(first, PARTICIPLES.get(first, "")), is_person(nouns.subject)
    states, intransitive = words_of_kind("states"), base in words_of_kind("intransitive")
    only_past = first in PAST and first not in PARTICIPLES
    start = nouns.subject.split()[-1:]
    if not tail:
        if named.endswith("ing") and intransitive:
            return _doing(base, True, [named], "")  # `died_fighting`
        if named:
            by_object = named == nouns.object and person and first not in states
            if not (by_object or only_past or first in words_of_kind("did")):
                return None  # `registered_office`
        elif nouns.object in ("date", "year"):
            return _being(f"{first} {'on' if nouns.object == 'date' else 'in'}", "was")
        elif base in words_of_kind("given") and person and not {*start} & words_of_kind("givers"):
            return _being(first, "was")  # the drug that a patient was `prescribed`
        elif first == "born":
            return None
        return (
            _doing(base, True, [], named)
            if base
            else Predicate(first, "", "", f"was {first} by", object=named)
        )
    phrase = f"{first} {tail[0]}"
    did = intransitive or only_past or phrase in words_of_kind("did_it")
    did = did or tail[0] not in PREPOSITIONS | words_of_kind("particles") | {"{x}"}
    did = did or (base in words_of_kind("people_act") and person)
    thing = (
        (start or nouns.object in TIMES) and not person and not {*start} & words_of_kind("groups")
    )
    if first in PAST and did and not (thing and base in words_of_kind("done_or_did")):
        return _doing(base, True, tail, named)
    if nouns.object == "date" and tail[-1] == "in":
        tail = [*tail[:-1], "on"]
    be = "is" if first in states or phrase in words_of_kind("still") else "was"
    return _being(" ".join([first, *tail]), be, object=named) if is_participle(first) else None


def _with_adverb(words: list[str], nouns: Nouns) -> Predicate | None:
    """Return the predicate of `formerly_played_for`, `also_known_as`, `guest_starred_in`."""
    adverb, *rest = words
    ends = adverb.endswith("ly") and adverb not in words_of_kind("no_adverbs")
    if not rest or not (ends or adverb in words_of_kind("adverbs") | words_of_kind("compound")):
        return None
    if len(rest) == 1 and rest[0] in PREPOSITIONS:
        return _being(" ".join(words))
    found = _verb(rest, nouns) or (_role(rest, nouns, False) if ends else None)
    return found and _put(adverb, found)


def _put(adverb: str, found: Predicate) -> Predicate:
    """Return the predicate with an adverb before its verb, behind `is` and `was`."""
    be, _, rest = found.says.partition(" ")
    says, bare = f"{adverb} {found.says}", f"{adverb} {found.bare}"
    if be in ("is", "was"):
        be = "was" if adverb in ("formerly", "previously", "once", "originally") else be
        says, bare = f"{be} {adverb} {rest}", f"{adverb} {rest}"
    auxiliary = be if be in ("is", "was") else found.auxiliary
    return replace(found, says=says, bare=bare, auxiliary=auxiliary, passive="", role="")


def _verb_behind(words: list[str], nouns: Nouns) -> Predicate | None:
    """Return the predicate of `career_started_in`, `teams_played_for`, `award_received`."""
    place = next((k for k, word in enumerate(words) if k and _is_verbal(word)), 0)
    before, verb = words[:place], words[place]
    if not place or PREPOSITIONS & {*before} or _is_verbal(before[0]):
        return None
    base = PAST.get(verb) or PARTICIPLES.get(verb) or base_of(verb)
    found = _verb(words[place:], nouns) if base else None
    if not found:
        return None
    linked, noun = words[-1] in PREPOSITIONS, " ".join([*before[:-1], singular(before[-1])])
    if base_of(verb):
        return _put(before[0], found) if linked and place == 1 else None  # `dev_depends_on`
    if before[0] in TIMES and not linked:
        return _being(f"{verb} {'on' if before[0] == 'date' else 'in'}", "was", object=before[0])
    if before != noun.split() or not linked or base in words_of_kind("people_do"):
        return replace(found, object=noun)
    started = words_of_kind("intransitive") | {"start", "begin", "end"}
    if verb in PARTICIPLES and base not in started:
        found = _being(" ".join(words[place:]), "was")
    return replace(found, part=" ".join(before), passive="")


def _is_verbal(word: str) -> bool:
    verb = base_of(word)
    known = bool(verb) and verb not in words_of_kind("nouns_too")
    return known or word in PAST or word in words_of_kind("bare") or is_participle(word)


def _role(words: list[str], nouns: Nouns, is_one: bool) -> Predicate | None:
    """Return the predicate of `capital_of`, `similar_to`, `member_of_party`, `has_effect_on`."""
    start, end = nouns.subject.split()[-1:], nouns.object.split()[-1:]
    person, links = is_person(nouns.subject), PREPOSITIONS & {*words}
    of_thing = person and end and nouns.object not in VALUES and not is_person(nouns.object)
    if not links and (
        (of_thing and is_person(words[-1])) or (is_one and not is_adjective(words[0]))
    ):
        words = [*words, "of"]  # `DIRECTOR` of a film, `is_capital` of a country
    places = [k for k, word in enumerate(words) if k and word in PREPOSITIONS]
    if not places or _is_verbal(words[0]):
        return None
    if len(places) > 1:
        return (
            _being(f"{article(words[0])} {' '.join(words)}") if words[-1] in PREPOSITIONS else None
        )
    label, link, named = words[: places[0]], words[places[0]], words[places[0] + 1 :]
    what, last = " ".join(label), label[-1]
    noun = " ".join([*named[:-1], singular(named[-1])]) if named else ""
    an = "the" if last in words_of_kind("only_one") | {"same"} else article(what)
    if what in words_of_kind("without_article") - {"same"} or last.endswith("s"):
        an = ""
    adjective = is_adjective(what) or what in words_of_kind("where")
    if link == "of" and not adjective:
        office = named and (
            last not in words_of_kind("named_by_role") or named[0] in words_of_kind("offices")
        )
        theirs = is_person(nouns.object) and start and not person and is_person(last)
        if (
            office
            or named[-1:] == start != end
            or (not named and (theirs or label[-1:] == end != start))
        ):
            return None  # the person whom a club has as its `head_of`
        return _being(f"{an} {what} of".lstrip(), object=noun, role=what)
    mutual = link == "with" and last.endswith("s") and is_person(singular(last))
    if adjective or mutual or link == "than" or label[0] == "not":
        return _being(f"{what} {link}", object=noun)
    if named and (
        singular(named[-1]) not in end if end else link not in ("in", "on", "at", "within")
    ):
        return None  # `quantity_in_stock` is a number
    if named and named[-1] in words_of_kind("measures").union(TIMES):
        return None
    if what.replace(" ", "") == nouns.subject.replace(" ", ""):
        return _being(link, object=noun)  # `room_in_building` of a room
    doer = last.endswith(("er", "or", "ist", "ian", "ant")) and last not in BASES
    role = (
        "-" in last
        or last in PERSONS | words_of_kind("is_to") | {"same"}
        or (doer and (person or not start))
    )
    if is_one or role or (link == "for" and not person and last not in words_of_kind("had_for")):
        return _being(f"{an} {what} {link}".lstrip(), object=noun)
    held = f"{an} {what} {link}".lstrip()
    return Predicate(f"has {held}", "does", f"have {held}", object=noun)
