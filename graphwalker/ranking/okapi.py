"""The index of Okapi BM25 over a few short texts, as `rank_bm25` computes it, number by number.

A list of relations is ranked once or twice and its words are few: plain Python takes a part of the
time that arrays take for it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from math import log

K1, B, EPSILON = 1.5, 0.75, 0.25
"""The settings of `rank_bm25.BM25Okapi`."""


class Okapi:
    """Scores texts, given as words; at least one of them must have a word."""

    def __init__(self, texts: Sequence[tuple[str, ...]]) -> None:
        self._counts = list(map(_counted, texts))
        self._lengths = list(map(len, texts))
        self._mean = sum(self._lengths) / len(texts)
        self.idf = _rarities(Counter(chain.from_iterable(self._counts)), len(texts))
        """How rare each word is."""
        self._parts: dict[str, list[tuple[int, float]]] = {}

    def scores(self, query: Sequence[str]) -> dict[int, float]:
        """The scores of the texts that have words of a query, by their places."""
        found: dict[int, float] = {}
        for word in query:
            for place, part in self._part(word):
                found[place] = found.get(place, 0.0) + part
        return found

    def _part(self, word: str) -> list[tuple[int, float]]:
        """What the word adds to the texts that have it."""
        part = self._parts.get(word)
        if part is None:
            rarity = self.idf.get(word, 0.0)
            # In this order of multiplications: ties and digits are those of `rank_bm25`.
            part = self._parts[word] = [
                (place, rarity * (n * (K1 + 1) / (n + K1 * (1 - B + B * length / self._mean))))
                for place, (count, length) in enumerate(
                    zip(self._counts, self._lengths, strict=True)
                )
                if (n := count.get(word))
            ]
        return part


@lru_cache(1 << 14)
def _counted(text: tuple[str, ...]) -> Mapping[str, int]:
    return Counter(text)


def _rarities(having: Mapping[str, int], size: int) -> dict[str, float]:
    """By word, from the number of texts that have it. A word of most texts counts a little, too."""
    by_number = {n: log(size - n + 0.5) - log(n + 0.5) for n in set(having.values())}
    found = {word: by_number[n] for word, n in having.items()}
    total = 0.0
    for rarity in found.values():  # not `sum`, which rounds otherwise from Python 3.12 on
        total += rarity
    least = EPSILON * (total / len(found))
    return {word: rarity if rarity >= 0 else least for word, rarity in found.items()}
