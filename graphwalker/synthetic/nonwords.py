"""Non-words: pronounceable strings of 4 to 8 letters that are no English word by their shape."""

import random
from collections.abc import Callable

_VOWELS = "aeiou"
_CONSONANTS = "bdfgklmnprstvz"
PAIRS = (
    *("bx", "dx", "fj", "fv", "fz", "gx", "jb", "jf", "jg", "jv", "jz", "kx"),
    *("kz", "mx", "px", "tx", "vb", "vf", "vj", "vm", "vx", "zx"),
)
"""Pairs of consonants that stand between two vowels in none of the 348,000 words of Debian's
`american-english-huge`: a string that holds one is none of them."""
_SHAPES = ("v2v", "v2vc", "cv2v", "cv2vc", "v2vcv", "cv2vcv", "cv2vcvc", "cvcv2vc")


def nonword(rng: random.Random) -> str:
    """One of about ten million.

    >>> nonword(random.Random(3))
    'rufzir'
    """
    return "".join(_letters(kind, rng) for kind in rng.choice(_SHAPES))


def distinct_nonwords(rng: random.Random) -> Callable[[], str]:
    """A source of non-words that never gives one twice."""
    given = set[str]()

    def fresh() -> str:
        while (word := nonword(rng)) in given:
            pass
        given.add(word)
        return word

    return fresh


def _letters(kind: str, rng: random.Random) -> str:
    return rng.choice({"v": _VOWELS, "c": _CONSONANTS, "2": PAIRS}[kind])
