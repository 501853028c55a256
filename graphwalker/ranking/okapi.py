"""The index of Okapi BM25 over a few short texts, as `rank_bm25` computes it, number by number.

An agent's list of relations is ranked once and its words are few: plain Python takes a tenth of the
time that arrays take for it.
"""

from collections.abc import Sequence
from math import log

K1, B, EPSILON = 1.5, 0.75, 0.25
"""The settings of `rank_bm25.BM25Okapi`."""


class Okapi:
    """Scores texts, given as words; at least one of them must have a word."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        counts: list[dict[str, int]] = []
        having: dict[str, int] = {}
        for text in texts:
            found: dict[str, int] = {}
            for word in text:
                found[word] = found.get(word, 0) + 1
            counts.append(found)
            for word in found:
                having[word] = having.get(word, 0) + 1
        self._size = len(texts)
        self._counts = counts
        self._lengths = [len(text) for text in texts]
        self._mean = sum(self._lengths) / self._size
        self.idf = _rarities(having, self._size)
        """How rare each word is."""
        self._parts: dict[str, list[tuple[int, float]]] = {}

    def scores(self, query: Sequence[str]) -> list[float]:
        """The score of each text for the words of a query; unknown words score nothing."""
        found = [0.0] * self._size
        for word in query:
            for place, part in self._part(word):
                found[place] += part
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


def _rarities(having: dict[str, int], size: int) -> dict[str, float]:
    """By word, from the number of texts that have it. A word of most texts counts a little, too."""
    found = {word: log(size - n + 0.5) - log(n + 0.5) for word, n in having.items()}
    least = EPSILON * (sum(found.values()) / len(found))
    return {word: rarity if rarity >= 0 else least for word, rarity in found.items()}
