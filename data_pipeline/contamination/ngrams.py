"""Word n-grams of questions: MinHash finds the candidates, their exact overlap decides."""

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

WORDS = 3
"""Words in an n-gram; questions are short."""
BANDS, ROWS = 42, 3
"""126 permutations; a pair with Jaccard 0.6 is a candidate with a probability of 0.99996."""
LETTERS = 3
LETTER_BANDS = (30, 5)
"""Bands and rows for letter trigrams; a pair with Jaccard 0.7 is a candidate with 0.996, one with
0.3, as any two questions are, with 0.07."""
_PRIME = (1 << 31) - 1
_WORD = re.compile(r"[^\W_]+")


def normal(text: str) -> str:
    """Case-folded words with single spaces: what makes two questions the same.

    >>> normal("Who wrote *Emma*, the novel?")
    'who wrote emma the novel'
    """
    return " ".join(_WORD.findall(text.casefold()))


def shingles(text: str) -> frozenset[int]:
    """Hashes of the text's word n-grams; of a shorter text, the whole."""
    words = normal(text).split()
    grams = (" ".join(words[i : i + WORDS]) for i in range(max(1, len(words) - WORDS + 1)))
    return frozenset(_hash(gram) for gram in grams)


def jaccard(a: frozenset[int], b: frozenset[int]) -> float:
    """Shared n-grams over all n-grams."""
    return len(a & b) / len(a | b)


def letter_grams(text: str) -> frozenset[int]:
    """Hashes of the letter trigrams inside the words: neither their order nor a changed letter
    makes much of a difference."""
    words = (f" {word} " for word in normal(text).split())
    return frozenset(_hash(w[i : i + LETTERS]) for w in words for i in range(len(w) - LETTERS + 1))


class NgramIndex:
    """Texts by their n-grams (MinHash, Broder 1997, with banding)."""

    def __init__(
        self, texts: Sequence[str], grams: Callable[[str], frozenset[int]] = shingles
    ) -> None:
        """`grams`: `shingles`, or `letter_grams`, which want longer bands: any two questions
        share many."""
        self._grams = grams
        self._bands, self._rows = (BANDS, ROWS) if grams is shingles else LETTER_BANDS
        self._sets = [grams(text) for text in texts]
        self._found: dict[tuple[int, bytes], list[int]] = {}
        for number, known in enumerate(self._sets):
            for band in self._banded(known):
                self._found.setdefault(band, []).append(number)

    def closest(self, text: str, at_least: float) -> float:
        """The largest Jaccard similarity to any text; 0 where none has `at_least`."""
        return self.nearest(text, at_least)[0]

    def nearest(self, text: str, at_least: float) -> tuple[float, int]:
        """The same, and which text it is; (0, -1) where none has `at_least`."""
        grams = self._grams(text)
        candidates = {n for band in self._banded(grams) for n in self._found.get(band, ())}
        best = max(((jaccard(grams, self._sets[n]), -n) for n in candidates), default=(0.0, 1))
        return (best[0], -best[1]) if best[0] >= at_least else (0.0, -1)

    def _banded(self, grams: Iterable[int]) -> list[tuple[int, bytes]]:
        import numpy as np

        slope, shift = _permutations()
        values = np.fromiter(grams, dtype=np.uint64)
        if not len(values):
            return []
        size = self._bands * self._rows
        least = ((values[:, None] * slope[:size] + shift[:size]) % _PRIME).min(axis=0)
        starts = range(0, size, self._rows)
        return [(k, least[start : start + self._rows].tobytes()) for k, start in enumerate(starts)]


def _permutations() -> Any:
    """Slopes and shifts of the hash functions, the same ones everywhere."""
    global _drawn
    if _drawn is None:
        import numpy as np

        rng = np.random.default_rng(0)
        _drawn = rng.integers(
            1,
            _PRIME,
            size=(2, max(BANDS * ROWS, LETTER_BANDS[0] * LETTER_BANDS[1])),
            dtype=np.uint64,
        )
    return _drawn


_drawn: Any = None


def _hash(gram: str) -> int:
    return int.from_bytes(hashlib.blake2b(gram.encode(), digest_size=4).digest()) % _PRIME
