"""Ids with `may`, `can` or `been` in them, and what somebody was given: `may_treat`,
`can_be_used_in`, `was_awarded`."""

from dataclasses import replace

from data_pipeline.wording.ids.inflection import (
    BASES,
    GIVEN,
    GIVERS,
    PARTICIPLE,
    PAST,
    is_participle,
    participle,
    third,
)
from data_pipeline.wording.ids.objects import with_its_object
from data_pipeline.wording.ids.predicates import (
    PERSONS,
    Nouns,
    PlainWords,
    question_word,
    that_or_who,
)
from graphwalker.graphs.base import Direction

MODALS = ("may", "can", "could", "might", "must", "should", "shall", "will", "would")


def auxiliary_words(words: list[str], direction: Direction, nouns: Nouns) -> PlainWords | None:
    """Words for a hop whose id has an auxiliary in it; `None` for any other.

    >>> auxiliary_words(["may", "treat"], Direction.OUT, Nouns("drug", "disease")).phrase
    'the disease that {x} may treat'
    """
    first, *rest = words
    if first in MODALS and len(rest) > 1 and rest[0] == "be":
        return _may_be(first, rest[1:], direction, nouns)
    if first in MODALS and rest and (rest[0] in BASES or len(rest) > 1 or first != "will"):
        return _may(first, rest, direction, nouns)
    if rest and first in ("is", "was", "are") and len(rest) == 1 and is_participle(rest[0]):
        return _undergone(f"{'was' if first == 'was' else 'is'} {rest[0]}", direction, nouns)
    person = (nouns.subject.split() or [""])[-1]
    if len(words) == 1 and PAST.get(first) in GIVEN and person in PERSONS and person not in GIVERS:
        given = _undergone(f"was {first}", direction, nouns)
        if direction is Direction.IN:
            return given
        nested = f"the {given.noun or 'thing'} {first} to {{x}}"
        return replace(given, clause=f"was {first} to {{x}}", nested=nested)
    return None


def _may(modal: str, words: list[str], direction: Direction, nouns: Nouns) -> PlainWords:
    base = words[0]
    (_, *tail), led = with_its_object([third(base), *words[1:]], nouns)
    done = " ".join([base, *tail])
    if direction is Direction.IN:
        noun = led.subject
        that = that_or_who(noun or "one")
        return PlainWords(
            f"the {noun or 'one'} {that} {modal} {done} {{x}}", f"{modal} {done} {{x}}", noun
        )
    noun = led.object
    question = f"{question_word(noun)} {modal} {{x}} {done}?"
    passive = "" if tail else f"{modal} be {participle(base)} by {{x}}"
    nested = f"the {noun or 'thing'} that {passive}" if passive else ""
    phrase = f"the {noun or 'thing'} that {{x}} {modal} {done}"
    return PlainWords(phrase, passive, noun, question, nested)


def _may_be(modal: str, words: list[str], direction: Direction, nouns: Nouns) -> PlainWords:
    head, led = with_its_object(words, nouns)
    noun = led.found(direction)
    that = that_or_who(noun or "thing")
    base = PARTICIPLE.get(head[0], "")
    predicate = f"{modal} be {' '.join(head)}"
    if head[-1] == "by" and base:
        if direction is Direction.OUT:
            clause = f"{modal} {base} {{x}}"
            return PlainWords(f"the {noun or 'one'} {that} {clause}", clause, noun)
        nested = f"the {noun or 'thing'} {that} {predicate} {{x}}"
        phrase = f"the {noun or 'thing'} that {{x}} {modal} {base}"
        return PlainWords(phrase, f"{predicate} {{x}}", noun, nested=nested)
    if direction is Direction.IN:
        phrase = f"the {noun or 'entity'} {that} {predicate} {{x}}"
        return PlainWords(phrase, f"{predicate} {{x}}", noun)
    question = f"{question_word(noun)} {modal} {{x}} be {' '.join(head)}?"
    return PlainWords(f"the {noun or 'thing'} that {{x}} {predicate}", "", noun, question)


def _undergone(done: str, direction: Direction, nouns: Nouns) -> PlainWords:
    """`the award that Ana was awarded`."""
    noun = nouns.found(direction)
    if direction is Direction.IN:
        that = that_or_who(noun or "thing")
        return PlainWords(f"the {noun or 'entity'} {that} {done} {{x}}", f"{done} {{x}}", noun)
    be, verb = done.split(" ", 1)
    question = f"{question_word(noun)} {be} {{x}} {verb}?"
    return PlainWords(f"the {noun or 'thing'} that {{x}} {done}", "", noun, question)
