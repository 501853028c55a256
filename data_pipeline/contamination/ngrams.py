"""Word n-grams of questions: MinHash finds the candidates, their exact overlap decides."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import Any

WORDS = 3
"""Words in an n-gram; questions are short."""
BANDS, ROWS = 42, 3
"""126 permutations; a pair with Jaccard 0.6 is a candidate with a probability of 0.99996."""
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


class NgramIndex:
    """Texts by their word n-grams (MinHash, Broder 1997, with banding)."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._sets = [shingles(text) for text in texts]
        self._bands: dict[tuple[int, bytes], list[int]] = {}
        for number, grams in enumerate(self._sets):
            for band in _bands(grams):
                self._bands.setdefault(band, []).append(number)

    def closest(self, text: str, at_least: float) -> float:
        """The largest Jaccard similarity to any text; 0 where none has `at_least`."""
        grams = shingles(text)
        candidates = {n for band in _bands(grams) for n in self._bands.get(band, ())}
        best = max((jaccard(grams, self._sets[n]) for n in candidates), default=0.0)
        return best if best >= at_least else 0.0


def _bands(grams: Iterable[int]) -> list[tuple[int, bytes]]:
    import numpy as np

    slope, shift = _permutations()
    values = np.fromiter(grams, dtype=np.uint64)
    least = ((values[:, None] * slope + shift) % _PRIME).min(axis=0)
    return [(k, least[k * ROWS : (k + 1) * ROWS].tobytes()) for k in range(BANDS)]


def _permutations() -> Any:
    """Slopes and shifts of the hash functions, the same ones everywhere."""
    global _drawn
    if _drawn is None:
        import numpy as np

        rng = np.random.default_rng(0)
        _drawn = rng.integers(1, _PRIME, size=(2, BANDS * ROWS), dtype=np.uint64)
    return _drawn


_drawn: Any = None


def _hash(gram: str) -> int:
    return int.from_bytes(hashlib.blake2b(gram.encode(), digest_size=4).digest()) % _PRIME
