"""Phrases from a relation id that is a few English words: `livesIn`, `has_genre`, `directed_by`."""

from data_pipeline.wording.ids.auxiliaries import auxiliary_words
from data_pipeline.wording.ids.inflection import is_adjective, is_participle, singular
from data_pipeline.wording.ids.objects import with_its_object
from data_pipeline.wording.ids.predicates import (
    PERSONS,
    PREPOSITIONS,
    Nouns,
    PlainWords,
    active,
    being,
    done_by,
)
from data_pipeline.wording.ids.roles import between, by_kinds, linked_words
from data_pipeline.wording.ids.verbs import as_present, perfect, plain_words, with_its_time
from data_pipeline.wording.ids.words import spelled_out
from data_pipeline.wording.ids.words import words_of as words_of
from data_pipeline.wording.labels import LINKS, HopWords, capitals, labelled, noun_label
from graphwalker.graphs.base import Direction


def from_words(words: list[str], direction: Direction, nouns: Nouns, default: str) -> HopWords:
    """Words for a relation that is a few English words; `default`: what nobody knows more of."""
    words = perfect(spelled_out(words, nouns))
    if words[0] == "been":
        words = ["was", *words[1:]]
    found = auxiliary_words(words, direction, nouns) or _done_still(words, direction, nouns)
    is_one = words[0] in ("is", "was", "are")
    while len(words) > 1 and words[0] in ("is", "was", "are", "the"):
        words = words[1:]
    found = found or _kind_of_thing(words, direction)
    if not found:
        words = with_its_time(as_present(perfect(by_kinds(words, nouns))), nouns)
        found = _verb_or_role(words, direction, nouns, is_one)
    if found:
        return HopWords(
            *map(capitals, (found.phrase, found.clause, found.noun or "thing", found.question)),
            nested=capitals(found.nested),
            final_question=capitals(found.final_question),
        )
    return _named_by(words, direction, nouns, default)


def _verb_or_role(
    words: list[str], direction: Direction, nouns: Nouns, is_one: bool
) -> PlainWords | None:
    """Words of a verb, a role or a place; `None` for a noun."""
    if found := between(words, direction, nouns):
        return found
    words, nouns = with_its_object(words, nouns)
    found = plain_words(words, direction, nouns)
    found = found or linked_words(words, direction, nouns, is_one)
    if not found and is_one and words[0] not in PREPOSITIONS and not is_adjective(words[0]):
        found = linked_words([*words, "of"], direction, nouns)  # `is_capital` of a country
    if not found and words[0] in PREPOSITIONS:
        found = _placed(words, direction, nouns)
    return found


def _done_still(words: list[str], direction: Direction, nouns: Nouns) -> PlainWords | None:
    """`is run by`: what the id says is done now."""
    if len(words) != 3 or words[0] not in ("is", "are") or words[2] != "by":
        return None
    if not is_participle(words[1]):
        return None
    return done_by([words[1]], direction, nouns, still=True)


def _kind_of_thing(words: list[str], direction: Direction) -> PlainWords | None:
    """Of `instance of`, which leads to what something is."""
    if words != ["instance", "of"] or direction is Direction.IN:
        return None
    question = "What kind of thing is {x}?"
    return PlainWords("the kind of thing that {x} is", "", "kind of thing", question)


_MOVES = {"to": ("go", "goes"), "from": ("come", "comes"), "via": ("go", "goes")}


def _placed(words: list[str], direction: Direction, nouns: Nouns) -> PlainWords | None:
    """A preposition alone, or before what it leads to: `near`, `to_station`, `at war with`; `in
    region` is the region of something."""
    first, *rest = words
    if rest and words[-1] in PREPOSITIONS:
        return being(" ".join(words), direction, nouns)
    if not rest and first in LINKS:
        return None
    if rest and first in ("in", "of", "on", "at", "by", "for", "with", "as", "about"):
        return None
    led = Nouns(nouns.subject, nouns.object or singular(" ".join(rest)))
    if first in _MOVES and rest:
        base, verb = _MOVES[first]
        return active(base, verb, "does", [first], direction, led)
    return being(first, direction, led)


_COMPARED = (
    *("broader", "narrower", "related", "nearest", "nearby", "next", "previous", "higher", "lower"),
    *("larger", "smaller", "older", "younger", "similar", "adjacent"),
)


def _named_by(words: list[str], direction: Direction, nouns: Nouns, default: str) -> HopWords:
    """Words for a relation whose id is a noun: `manufacturer`, `has_genre`, `recipeIngredient`."""
    while len(words) > 1 and (words[0] in PREPOSITIONS or words[0] in ("has", "have", "the")):
        words = words[1:]
    kind = nouns.subject.split()
    if kind and words[: len(kind)] == kind and len(words) > len(kind):
        words = words[len(kind) :]  # `recipeIngredient` of a recipe is its ingredient
    if words[0] in _COMPARED and len(words) == 1:
        words = [*words, *(nouns.object or "thing").split()]
    label = capitals(noun_label(" ".join(word for word in words if word != "the") or "relation"))
    made = labelled(nouns.subject or default, label, direction)
    known = nouns.object if direction is Direction.OUT else ""
    # What is found stays what it is: `Who is the chief of X?`, `Which city is the seat of X?`.
    if known and known not in ("number", "date", "year") and made.noun not in PERSONS:
        return HopWords(made.phrase, made.clause, known)
    return made
