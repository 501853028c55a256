"""Do the words of a question fit a gender that the graph knows? Nobody's wife is a man."""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from graphwalker.graphs.base import Direction, KnowledgeGraph

GENDER = "people.person.gender"
MALE, FEMALE = "male", "female"
GenderOf = Callable[[str], str]
"""The gender of an entity by its id, `""` where nobody knows."""
_HERS = (
    "wife|wives|mother|mom|sister|sisters|daughter|daughters|girlfriend|girlfriends|actress|bride"
)
_HIS = "husband|father|dad|brother|brothers|son|sons|boyfriend|boyfriends"
_FOUND = {FEMALE: rf"\b(?:{_HERS}|queen|women|girls)\b", MALE: rf"\b(?:{_HIS}|king|men)\b"}
"""Words for what a question finds."""
_START = {
    FEMALE: rf"\b(?:her|she)\b|\{{x\}} the (?:{_HERS}) of|^whose (?:{_HERS}) |calls \{{x\}} mom",
    MALE: rf"\b(?:his|he|him)\b|\{{x\}} the (?:{_HIS}) of|^whose (?:{_HIS}) |calls \{{x\}} dad",
}
"""Words for what it starts from."""
_OTHER = {FEMALE: MALE, MALE: FEMALE}


def genders_of(graph: KnowledgeGraph) -> GenderOf:
    """Return the genders of a Freebase graph, remembered; of any other graph none is known."""
    if GENDER not in graph.relation_ids():
        return lambda _: ""

    @lru_cache(maxsize=100_000)
    def gender(entity_id: str) -> str:
        found = graph.step(entity_id, GENDER, Direction.OUT, 2)
        names = {end.name.lower() for end in found}
        return names.pop() if len(names) == 1 and names <= {MALE, FEMALE} else ""

    return gender


def suits(form: str, start: str, found: Iterable[str], gender: GenderOf) -> bool:
    """Return whether no word of the form is wrong of the entity it starts from or of those it
    finds, by their ids.

    >>> known = {"m.ann": "female", "m.bob": "male"}.get
    >>> suits("who is {x}'s wife", "m.bob", ["m.ann"], lambda one: known(one, ""))
    True
    >>> suits("who is {x}'s wife", "m.ann", ["m.bob"], lambda one: known(one, ""))
    False
    """
    starts, wrong = _wrong_genders(form)
    if starts:
        return gender(start) not in starts
    # "Who are her brothers and sisters?" finds both.
    return len(wrong) != 1 or wrong.isdisjoint(map(gender, found))


@lru_cache(1 << 14)
def _wrong_genders(form: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the genders that are wrong of what the form starts from, and of what it finds."""
    starts, found = (
        frozenset(_OTHER[kind] for kind, pattern in words.items() if re.search(pattern, form))
        for words in (_START, _FOUND)
    )
    return starts, found
