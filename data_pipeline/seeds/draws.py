"""Draws that every walk makes by the million: what `random.Random` gives, without its checks.

The numbers are those of its own methods, draw by draw, so that walks are the same with either.
"""

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

POOLED = 85
"""Items up to which `random.Random.sample` takes 12 of them out of a copy."""


def below(rng: random.Random, number: int) -> int:
    """What `rng.randrange(number)` gives.

    >>> below(random.Random(0), 10) == random.Random(0).randrange(10)
    True
    """
    bits = number.bit_length()
    found = rng.getrandbits(bits)
    while found >= number:
        found = rng.getrandbits(bits)
    return found


def some_of(rng: random.Random, items: Sequence[T], most: int) -> list[T]:
    """What `rng.sample(items, min(most, len(items)))` gives, of at most 12.

    >>> some_of(random.Random(0), "abc", 2) == random.Random(0).sample("abc", 2)
    True
    """
    size = len(items)
    if size > POOLED:
        return rng.sample(items, most)
    getrandbits, pool, found = rng.getrandbits, list(items), list[T]()
    for left in range(size, max(0, size - most), -1):
        bits = left.bit_length()
        at = getrandbits(bits)
        while at >= left:
            at = getrandbits(bits)
        found.append(pool[at])
        pool[at] = pool[left - 1]
    return found
