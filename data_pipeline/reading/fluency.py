"""Fluency: how usual the words of a question are beside each other, by pairs in other questions."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from graphwalker.question import Question

TOKEN = re.compile(r"@|\w+(?:'\w+)?|[?,]")
NAME = "@"
ARTICLES = ("the", "a", "an")
SMOOTHING = 1.0
"""How many times a word counts as seen behind one that is new to it, shared out as words are."""


def words_of(question: Question) -> list[str]:
    """The words of a question in lower case, the names of its topic entities as `@`, its ends
    marked."""
    text = question.text
    names = {topic.name for topic in question.topic_entities} - {""}
    for name in sorted(names, key=lambda name: (-len(name), name)):
        text = re.sub(re.escape(name), f" {NAME} ", text, flags=re.IGNORECASE)
    found = TOKEN.findall(text.lower())
    return ["^", *found, "$"]


class Pairs:
    """A language model of word pairs, backed off to single words."""

    def __init__(self, texts: Iterable[Sequence[str]]) -> None:
        self._single: Counter[str] = Counter()
        self._pairs: Counter[tuple[str, str]] = Counter()
        self._before: Counter[str] = Counter()
        for words in texts:
            self._single.update(words)
            self._pairs.update(pairwise(words))
            self._before.update(words[:-1])
        self._total = sum(self._single.values()) + len(self._single) + 1

    def log_probabilities(self, words: Sequence[str]) -> list[float]:
        """Of each word behind the one before it."""
        return [math.log(self._probability(a, b)) for a, b in pairwise(words)]

    def missing_article(self, words: Sequence[str]) -> float:
        """How much likelier the likeliest place for an article is with one than without, in nats;
        0 where none is."""
        gains = (
            math.log(self._probability(a, article) * self._probability(article, b))
            - math.log(self._probability(a, b))
            for a, b in pairwise(words)
            if a not in ARTICLES and b not in ARTICLES
            for article in ARTICLES
        )
        return max(gains, default=0.0)

    def _probability(self, before: str, word: str) -> float:
        single = (self._single[word] + 1) / self._total
        seen = self._pairs[before, word] + SMOOTHING * single
        return seen / (self._before[before] + SMOOTHING)
