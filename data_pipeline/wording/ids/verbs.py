"""What a relation says as a verb does: `livesIn`, `wrote`, `directed_by`, `carries_out`."""

import re
from dataclasses import replace

from data_pipeline.wording.ids.inflection import (
    ALONE,
    BARE,
    BASES,
    DONE_OR_DID,
    GROUPS,
    INTRANSITIVE,
    IRREGULAR,
    NOUNS_TOO,
    PARTICIPLE,
    PAST,
    PEOPLE_ACT,
    PEOPLE_DO,
    STATES,
    base_of,
    is_participle,
    of_gerund,
    past,
    singular,
    third,
)
from data_pipeline.wording.ids.objects import PARTICLES, is_done_to_it
from data_pipeline.wording.ids.predicates import (
    PREPOSITIONS,
    TIMES,
    Nouns,
    PlainWords,
    active,
    being,
    done_by,
    done_to,
    is_person,
    question_word,
    that_or_who,
)
from data_pipeline.wording.ids.roles import linked_words
from graphwalker.graphs.base import Direction

_COMPOUND = ("guest", "voice", "ghost", "stunt")
_DONE = (
    *("taught at", "led to", "built for", "fought for", "read at", "signed for", "signed with"),
    *("trained at", "trained under", "trained with", "operated in", "practiced at"),
    *("coached at", "hailed from", "donated to", "recorded with", "consulted for"),
    *("practised at", "researched at", "ruled over"),
)
"""Where the past is the participle, too, and somebody did it."""
_ADVERBS = (
    *("first", "last", "best", "also", "now", "once", "still", "later", "already", "currently"),
    *("often", "always", "never", "mostly", "sometimes", "most", "twice", "soon"),
)
_OVER = ("formerly", "previously", "once", "originally")
_NO_ADVERBS = ("family", "assembly", "supply", "reply", "monthly", "weekly", "daily", "yearly")
_HELD = ("fought", "played", "performed", "staged", "sung", "run")
_HAD = ("related", "associated", "connected", "linked", "based", "found", "left", "set", "part")
_PHRASAL = (
    *("set off", "set out", "started out", "teamed up", "signed up", "checked in", "dropped out"),
    *("moved out", "moved in", "showed up", "ended up", "split up", "stepped down", "logged in"),
    *("met up", "opened up", "branched out", "backed out", "linked up", "passed out", "headed off"),
)
"""What somebody did by two words: an expedition set off from a town."""
_GERUNDS_ALONE = ("feature", "involve", "use", "cause", "cover", "surround", "have", "target")


def plain_words(words: list[str], direction: Direction, nouns: Nouns) -> PlainWords | None:
    """Words for a hop whose relation is a verb or ends in a preposition; `None` for a noun.

    >>> plain_words(["works", "for"], Direction.OUT, Nouns("person", "company")).question
    'Which company does {x} work for?'
    """
    first, *rest = words
    if len(words) > 2 and words[1].endswith("ly") and words[1] not in _NO_ADVERBS:
        return plain_words([words[1], first, *words[2:]], direction, nouns)  # `held annually in`
    if len(words) > 1 and words[-1] == "by" and is_participle(words[-2]):
        return done_by(words[:-1], direction, nouns)
    if len(words) == 3 and words[2] == "by" and is_participle(first) and words[1] in PARTICLES:
        return done_by([first], direction, nouns, words[1])  # `looked after by`
    adverb = first in _ADVERBS or (first.endswith("ly") and first not in _NO_ADVERBS)
    if rest and adverb and first not in BASES and len(rest) == 1 and rest[0] in PREPOSITIONS:
        return being(" ".join(words), direction, nouns)  # `originally from`
    if rest and adverb and (first not in BASES or first == "last"):
        found = plain_words(rest, direction, nouns)
        if not found and rest[-1] != "by":  # not `first ascent by`
            found = linked_words(rest, direction, nouns)
        if found or rest[-1] != "by":
            return found and _with_adverb(first, found)
    if len(words) == 3 and (found := _to_do(words, direction, nouns)):
        return found
    if len(words) in (2, 3) and of_gerund(words[1]) and (first in PAST or base_of(first)):
        return _doing(words, direction, nouns)
    if len(words) > 2:
        found = _with_adjunct(words, direction, nouns) or _compound(words, direction, nouns)
        if found or (found := _event(words, direction, nouns)):
            return found
    if len(words) == 3 and first in BASES and _is_a_noun_of_a_verb(words):
        return being(f"a {first}-{' '.join(rest)}", direction, nouns)  # `follow up to`
    return _of_the_past(words, direction, nouns) or _of_the_present(words, direction, nouns)


def _to_do(words: list[str], direction: Direction, nouns: Nouns) -> PlainWords | None:
    """`aimed to climb`, `likes to eat`, `used to treat`."""
    first, link, base = words
    if link != "to" or not is_done_to_it(base):
        return None
    if base_of(first) or (first in PAST and (first not in PARTICIPLE or PAST[first] in _HOPE)):
        verb, aux = (base_of(first), "does") if base_of(first) else (PAST[first], "did")
        return active(verb, first, aux, [link, base], direction, nouns)
    return done_to(first, f"to {base}", direction, nouns) if is_participle(first) else None


_HOPE = ("aim", "hope", "plan", "wish", "want", "need", "try", "like", "love", "agree", "promise")


def _doing(words: list[str], direction: Direction, nouns: Nouns) -> PlainWords:
    """`died fighting`, `enjoys reading`."""
    first, gerund, *named = words
    led = Nouns(nouns.subject, nouns.object or " ".join(named))
    base, aux = (PAST[first], "did") if first in PAST else (base_of(first), "does")
    return active(base, first, aux, [gerund], direction, led)


def _with_adjunct(words: list[str], direction: Direction, nouns: Nouns) -> PlainWords | None:
    """`knows through work`, of persons at both ends: how they know one another, not whom."""
    verb, link, *how = words
    base = base_of(verb) or PAST.get(verb, "")
    if not base or base in INTRANSITIVE or link not in PREPOSITIONS or not how:
        return None
    persons = is_person(nouns.object) and not is_person(how[-1]) and link != "by"
    if how[-1] in PREPOSITIONS or not (persons or (link == "as" and base_of(verb))):
        return None
    aux, tail = "does" if base_of(verb) else "did", " ".join([link, *how])
    noun = nouns.found(direction)
    if direction is Direction.IN:
        clause = f"{verb} {{x}} {tail}"
        return PlainWords(
            f"the {noun or 'one'} {that_or_who(noun or 'one')} {clause}", clause, noun
        )
    question = f"{question_word(noun)} {aux} {{x}} {base} {tail}?"
    return PlainWords(f"the {noun or 'thing'} that {{x}} {verb} {tail}", "", noun, question)


_NOUN_OF_PARTICLE = ("up", "off", "out", "over", "down", "back", "in", "on")


def _is_a_noun_of_a_verb(words: list[str]) -> bool:
    first, particle, link = words
    one = not base_of(first) and first not in (*PAST, *BARE)
    return one and particle in _NOUN_OF_PARTICLE and link in ("to", "of", "from", "for")


def _event(words: list[str], direction: Direction, nouns: Nouns) -> PlainWords | None:
    """`career started in`: what a part of something did, or what was done to it."""
    *named, verb, link = words
    event = " ".join(named)
    if not named or link not in PREPOSITIONS or link == "by" or verb not in (*PAST, *PARTICIPLE):
        return None
    if any(word in PREPOSITIONS or word in (*PAST, *_COMPOUND) or base_of(word) for word in named):
        return None
    base = PAST.get(verb) or PARTICIPLE[verb]
    if base in PEOPLE_DO or base in ("play", "work", "serve", "compete", "appear", "nominate"):
        led = Nouns(nouns.subject, nouns.object or singular(event))  # `team played for`
        return plain_words([verb, link], direction, led)
    itself = base in INTRANSITIVE or verb not in PARTICIPLE or base in ("start", "begin", "end")
    done = f"{verb} {link}" if itself else f"was {verb} {link}"
    noun = nouns.found(direction)
    if direction is Direction.IN:
        return PlainWords(f"the {noun or 'entity'} whose {event} {done} {{x}}", "", noun)
    aux, verb = ("did", base) if itself else ("was", verb)
    question = f"{question_word(noun)} {aux} the {event} of {{x}} {verb} {link}?"
    phrase = f"the {noun or 'thing'} that the {event} of {{x}} {done}"
    return PlainWords(phrase, "", noun, question)


def _compound(words: list[str], direction: Direction, nouns: Nouns) -> PlainWords | None:
    """`guest starred in`, `dev depends on`: a verb with a word before it that is none."""
    before, verb, *rest = words
    if before in _COMPOUND and (base := PAST.get(verb)) in INTRANSITIVE:
        return active(f"{before} {base}", f"{before} {verb}", "did", rest, direction, nouns)
    base = base_of(verb)
    known = before in PREPOSITIONS or base_of(before) or is_participle(before) or before in PAST
    if base in INTRANSITIVE and base not in NOUNS_TOO and rest[0] in PREPOSITIONS and not known:
        return active(f"{before} {base}", f"{before} {verb}", "does", rest, direction, nouns)
    return None


def _of_the_past(words: list[str], direction: Direction, nouns: Nouns) -> PlainWords | None:
    """What somebody did (`wrote`, `acted in`), what was done `up for`, `out to` something."""
    first, *rest = words
    link = rest[0] if rest else ""
    if first in _HELD and link and nouns.object in TIMES and not is_person(nouns.subject):
        return done_to(first, link, direction, nouns)  # a battle that was fought in some year
    is_so = first in PARTICIPLE and first in STATES and f"{first} {link}" not in _DONE
    phrasal = f"{first} {link}" in _PHRASAL
    if first in PAST and (phrasal or not (is_so and link in PREPOSITIONS)):
        base = PAST[first]
        if link and first in PARTICIPLE and _was_done(base, nouns.subject):
            return done_to(first, link, direction, nouns) if len(rest) == 1 else None
        done = base in INTRANSITIVE or first not in PARTICIPLE or f"{first} {link}" in _DONE
        done = done or (base in PEOPLE_ACT and is_person(nouns.subject))
        done = done or f"{first} {link}" in _PHRASAL
        if (done or link not in PARTICLES) and _ends_well(rest):
            return active(base, first, "did", rest, direction, nouns)
    if not rest and first not in STATES and is_participle(first) and first not in PARTICIPLE:
        return active("", first, "did", rest, direction, nouns)
    if link in PARTICLES and rest[-1] in PREPOSITIONS and is_participle(first):
        return done_to(" ".join(words[:-1]), words[-1], direction, nouns)
    return None


def _was_done(base: str, subject: str) -> bool:
    """Whether a thing was served with something, where a person served with others."""
    known = bool(subject) and not is_person(subject)
    return known and base in DONE_OR_DID and subject.split()[-1] not in GROUPS


def _of_the_present(words: list[str], direction: Direction, nouns: Nouns) -> PlainWords | None:
    """What somebody does: `owns`, `works for`, `carries out`, `OWN`, `LIVE_IN`."""
    first, *rest = words
    base = base_of(first)
    if len(rest) == 1 and base and rest[0] in PARTICLES and rest[0] not in PREPOSITIONS:
        first, base, rest = f"{first} {rest[0]}", f"{base} {rest[0]}", []
    link = rest[0] if rest else ""
    plural = base in NOUNS_TOO and not link and _is_a_thing(base, nouns)
    if base in ("play", "study") and nouns.object not in ("", base):
        plural = False
    if base and _ends_well(rest) and not plural:
        return active(base, first, "does", rest, direction, nouns)
    if first in (*ALONE, *(BARE if link in PREPOSITIONS else ())) and _ends_well(rest):
        return active(first, third(first), "does", rest, direction, nouns)
    return None


def _is_a_thing(base: str, nouns: Nouns) -> bool:
    """Whether `hosts` are more than one host, and not what somebody does: by what they lead to."""
    found = nouns.object.split()[-1:]
    if not found or found[0] in (base, "number", "date", "year"):
        return True
    return is_person(nouns.object) and not is_person(nouns.subject)


def perfect(words: list[str]) -> list[str]:
    """`has won prize` as `won prize`; what one has, such as `has part`, stays."""
    if len(words) < 2 or words[0] not in ("has", "have"):
        return words
    if words[1] == "been" and len(words) > 2:
        return words[1:]
    if len(words) == 2 and words[1] in PARTICIPLE and words[1] not in _HAD:
        return [past(PARTICIPLE[words[1]])]  # `has installed`
    base, link = PARTICIPLE.get(words[1], ""), words[2:3]
    past_only = base in IRREGULAR and words[1] not in (*STATES, base, "left", "born", "found")
    if past_only or (base in INTRANSITIVE and link and link[0] in PREPOSITIONS):
        return [past(base), *words[2:]]
    return words


def as_present(words: list[str]) -> list[str]:
    """`containing` as `contains`, `playing for` as `plays for`; a noun such as `building` stays."""
    base = of_gerund(words[0])
    alone = len(words) == 1 and base in (*ALONE, *_GERUNDS_ALONE)
    linked = len(words) > 1 and words[1] in PREPOSITIONS and base in INTRANSITIVE
    return [third(base), *words[1:]] if base and (alone or linked) else words


def with_its_time(words: list[str], nouns: Nouns) -> list[str]:
    """A verb alone that leads to a date or a year with what it lacks: `founded in`, `expires on`.

    >>> with_its_time(["founded"], Nouns("company", "year"))
    ['founded', 'in']
    """
    if words[-1:] in (["born"], ["died"]) and len(words) == 1:
        event = "birth" if words == ["born"] else "death"
        if nouns.object in ("date", "year"):
            return [nouns.object, "of", event]
        return [*words, "in"] if nouns.object else [event]
    first = words[0]
    if len(words) == 2 and first in TIMES and is_participle(words[1]) and not nouns.object:
        return [words[1], "on" if first in ("date", "day") else "in"]
    verb = is_participle(first) or first in PAST or base_of(first)
    if len(words) == 1 and verb and nouns.object in ("date", "year"):
        return [first, "on" if nouns.object == "date" else "in"]
    return words


def _with_adverb(adverb: str, found: PlainWords) -> PlainWords:
    """`conceptually related to`, `formerly played for`: the adverb stands before the verb, behind
    `is` and `was`."""

    def put(text: str, behind: str) -> str:
        found = re.sub(rf"^({behind}(?:(?:is|was) )?)", rf"\g<1>{adverb} ", text)
        return found.replace(f" is {adverb}", f" was {adverb}") if adverb in _OVER else found

    phrase = put(found.phrase, r"the [^{}]*? (?:who|that|which) (?:\{x\} )?")
    if phrase == found.phrase and found.clause:  # `the part of {x}`
        phrase = f"the {found.noun or 'entity'} {that_or_who(found.noun or 'entity')} "
        phrase += put(found.clause, "")
    question = re.sub(r"(?<=\{x\}) ", f" {adverb} ", found.question, count=1)
    if adverb in _OVER:
        question = question.replace(" is {x}", " was {x}")
    return replace(
        found,
        phrase=phrase,
        clause=put(found.clause, "") if found.clause else "",
        question=question,
        nested="",
        final_question=put(found.final_question, r"\{x\} ") if found.final_question else "",
    )


def _ends_well(rest: list[str]) -> bool:
    """Nothing behind the verb, a preposition, or an object and its preposition."""
    return not rest or rest[-1] in PREPOSITIONS
