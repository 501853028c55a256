"""Groups of episodes of one question: which teach nothing, and which questions replace them.

Dynamic sampling after DAPO (Yu et al. 2025, arXiv:2503.14476, section 3.2): a group whose episodes
all earned the same has no advantage and so no gradient.
"""

import random
from collections.abc import Collection, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def grouped(prompts: Sequence[str], samples: int) -> list[str]:
    """The question id of each group. Raises `RuntimeError` unless all groups are full."""
    groups = list(chunks(prompts, samples))
    if any(len(group) != samples or len(set(group)) != 1 for group in groups):
        raise RuntimeError(f"the {len(prompts)} prompts are not groups of {samples} equal ones")
    return [group[0] for group in groups]


def chunks(items: Sequence[T], size: int) -> Iterator[list[T]]:
    """Neighbours in lists of `size`, the last one perhaps shorter."""
    return (list(items[i : i + size]) for i in range(0, len(items), size))


def teaches_nothing(rewards: Sequence[float | None]) -> bool:
    """True where all scored episodes of a group earned the same. `None` is an unscored one.

    >>> teaches_nothing([1.0, 1.0]), teaches_nothing([0.0, None]), teaches_nothing([0.0, 1.0])
    (True, True, False)
    """
    return len({reward for reward in rewards if reward is not None}) < 2


def substitutes(known: Collection[str], taken: Collection[str], seed: str) -> list[str]:
    """Question ids that are not `taken`, in an order that `seed` alone decides."""
    rest = sorted(set(known) - set(taken))
    random.Random(seed).shuffle(rest)
    return rest
