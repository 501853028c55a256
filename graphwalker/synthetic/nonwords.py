"""Non-words: pronounceable strings of 4 to 8 letters that are no English word by their shape."""

import random
from collections.abc import Callable

from graphwalker.errors import UserError

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


def words_of_a_pool(size: int, rng: random.Random) -> tuple[Callable[[], str], Callable[[], str]]:
    """Two sources that give no word twice: of the first twentieth of a pool of so many non-words,
    and of the others. The pool is always the same. They raise `UserError` where it is used up."""
    draw = distinct_nonwords(random.Random(f"pool/{size}"))
    pool = [draw() for _ in range(size)]
    return _shuffle(pool[: size // 20], size, rng), _shuffle(pool[size // 20 :], size, rng)


def _shuffle(words: list[str], size: int, rng: random.Random) -> Callable[[], str]:
    left = rng.sample(words, len(words))

    def fresh() -> str:
        if not left:
            raise UserError(f"a pool of {size} non-words is too small for such a graph: give more")
        return left.pop()

    return fresh


def _letters(kind: str, rng: random.Random) -> str:
    return rng.choice({"v": _VOWELS, "c": _CONSONANTS, "2": PAIRS}[kind])
