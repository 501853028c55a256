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
from dataclasses import dataclass, field
from typing import Self

from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph
from graphwalker.ranking.words import stem, stems

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


def moved(
    asked: Sequence[Asked],
    mentions: Mentions,
    having: Mapping[str, Sequence[int]],
    graph: KnowledgeGraph,
    seed: int,
) -> Iterator[tuple[Asked, Entity, list[Entity]]]:
    """The questions with an entity of the graph for their subject, that entity, and what its
    relation leads to. `having` has the places of the entities that a relation leads on from.
    Questions whose mention is not found, or whose relation the graph does not have, are left out.
    """
    for one in asked:
        places, mention = having.get(one.relation, ()), mentions.find(one)
        if places and mention:
            rng = random.Random(f"{seed} {one.id}")  # of the question alone: others may come
            topic = graph.entity_at(rng.choice(places))
            text = one.text[: mention[0]] + topic.name + one.text[mention[1] :]
            ends = graph.step(topic.id, one.relation, Direction.OUT)
            yield Asked(one.id, topic.id, one.relation, text), topic, ends


def _words(text: str) -> tuple[str, ...]:
    return tuple(match.group().casefold() for match in WORD.finditer(text))


def _spans(count: int) -> Iterator[tuple[int, int]]:
    for i in range(count):
        for j in range(i + 1, min(count, i + LONGEST) + 1):
            yield i, j
