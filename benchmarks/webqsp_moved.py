"""Questions of SimpleQuestions about other entities than the graph has, asked of some that it has.

Most of its subjects are not on the FB15k slice, but most of its relations are. How people ask for
them is worth as much there: "where was X born" is a way of asking for `place_of_birth` of anybody.
The file gives no name for a subject, so its mention is found by its words: they are rarer than
others, and what is left of the question often stands around other mentions, too.
"""

import math
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph
from graphwalker.ranking.words import stem, stems

Way = tuple[str, Direction]
WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
LONGEST = 8
"""Words of a mention, at most."""
COMMON = 7.0
"""Logarithm of how rare a word is from which on it speaks for a mention: 1 in 1,100 questions."""
AROUND = 2.0
"""What it speaks for a mention that the words around it stand around another, too."""
FRAME_SHARE, FRAME_COUNT = 0.04, 3
"""A word is of the relation, not of a mention, if so many of the relation's questions have it."""
AGAINST, FORBIDDEN = -3.0, -6.0
"""What such a word, and one that the relation's id has, speaks for a mention."""


@dataclass(frozen=True)
class Asked:
    """A question of the file: its subject and relation as the file names them."""

    id: str
    subject: str
    relation: str
    text: str


@dataclass(slots=True)
class Mentions:
    """Where questions name their subjects. Counts are of all questions that it was made of."""

    questions: int
    of_word: Counter[str] = field(default_factory=Counter)
    """Questions that have the word."""
    of_frame: Counter[tuple[Sequence[str], Sequence[str]]] = field(default_factory=Counter)
    """Different questions that have these words before and after something."""
    by_relation: dict[str, Counter[str]] = field(default_factory=dict)
    """Of a relation's questions: those that have the word; under "", how many there are."""

    @classmethod
    def of(cls, texts: Iterable[str], asked: Iterable[Asked]) -> Self:
        """Counted in all these texts, and by relation in the questions of one."""
        found = [_words(text) for text in texts]
        counts = cls(len(found), Counter(word for words in found for word in set(words)))
        for words in set(found):
            counts.of_frame.update((words[:i], words[j:]) for i, j in _spans(len(words)))
        for one in asked:
            of = counts.by_relation.setdefault(one.relation, Counter())
            of.update(["", *set(_words(one.text))])
        return counts

    def find(self, one: Asked) -> tuple[int, int] | None:
        """Where in the text the mention begins and ends; `None` where no word speaks for one."""
        words = _words(one.text)
        values = [self._value(word, one.relation) for word in words]
        best, chosen = 0.0, None
        for i, j in _spans(len(words)):
            around = self.of_frame[words[:i], words[j:]] > 1
            value = sum(values[i:j]) + (AROUND if around else 0.0)
            if value > best:
                best, chosen = value, (i, j)
        if chosen is None:
            return None
        places = [match.span() for match in WORD.finditer(one.text)]
        return places[chosen[0]][0], places[chosen[1] - 1][1]

    def _value(self, word: str, relation: str) -> float:
        if stem(word) in stems(relation):
            return FORBIDDEN
        value = math.log(self.questions / max(1, self.of_word[word])) - COMMON
        of = self.by_relation.get(relation, Counter[str]())
        if of[word] >= FRAME_COUNT and of[word] > FRAME_SHARE * of[""]:
            return min(value, AGAINST)
        return value


class Ways:
    """How a graph leads from an entity to what a relation says: by it, or against its inverse, as
    some facts have the one and some the other."""

    def __init__(self, graph: KnowledgeGraph, inverse: Mapping[str, str]) -> None:
        self._graph, self._inverse = graph, inverse
        self._having: dict[Way, list[int]] = {}
        for place in range(graph.size):
            for side in Direction:
                for relation, _ in graph.relations(graph.entity_at(place).id, side):
                    self._having.setdefault((relation, side), []).append(place)

    def places(self, relation: str) -> list[int]:
        """Of the entities that one of the ways leads on from."""
        return sorted({place for way in self._of(relation) for place in self._having.get(way, ())})

    def taken(self, entity_id: str, relation: str) -> tuple[str, list[Entity]]:
        """The way that leads to the most entities, `~` before an inverse relation, and those."""
        found = [(way, self._graph.step(entity_id, *way)) for way in self._of(relation)]
        (way, side), ends = max(found, key=lambda one: len(one[1]))
        return ("~" if side is Direction.IN else "") + way, ends

    def _of(self, relation: str) -> list[Way]:
        inverse = self._inverse.get(relation)
        return [(relation, Direction.OUT), *([(inverse, Direction.IN)] if inverse else [])]


def moved(
    asked: Iterable[Asked], mentions: Mentions, ways: Ways, graph: KnowledgeGraph, seed: int
) -> Iterator[tuple[Asked, Entity, list[Entity]]]:
    """The questions with an entity of the graph for their subject, that entity, and what it leads
    to. Those whose subject leads on itself stay as they are; those whose mention is not found, or
    whose relation the graph does not have, are left out."""
    for one in asked:
        relation, ends = ways.taken(one.subject, one.relation)
        if ends:
            topic = Entity(one.subject, graph.name(one.subject))
            yield replace(one, relation=relation), topic, ends
            continue
        places, mention = ways.places(one.relation), mentions.find(one)
        if places and mention:
            rng = random.Random(f"{seed} {one.id}")  # of the question alone: others may come
            topic = graph.entity_at(rng.choice(places))
            text = one.text[: mention[0]] + topic.name + one.text[mention[1] :]
            relation, ends = ways.taken(topic.id, one.relation)
            yield Asked(one.id, topic.id, relation, text), topic, ends


def _words(text: str) -> tuple[str, ...]:
    return tuple(match.group().casefold() for match in WORD.finditer(text))


def _spans(count: int) -> Iterator[tuple[int, int]]:
    for i in range(count):
        for j in range(i + 1, min(count, i + LONGEST) + 1):
            yield i, j
