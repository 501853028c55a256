"""Groups of episodes of one question: which have no variance, and what replaces them.

Dynamic sampling after DAPO (Yu et al. 2025, arXiv:2503.14476, section 3.2): a group whose episodes
all earned the same has no advantage and so no gradient.
"""

import logging
import random
from collections.abc import Collection, Iterator, Sequence
from typing import TypeVar

from graphwalker.agents.environment import Environment
from graphwalker.ceilings.ceiling import reach_of
from graphwalker.errors import GraphError
from graphwalker.question import Question

log = logging.getLogger(__name__)

T = TypeVar("T")

TOLERANCE = 1e-6
"""Rewards this close are equal: the order of a sum of weights moves its last digits."""


def group_ids(prompts: Sequence[str], samples: int) -> list[str]:
    """Return the question id of each group. Raises `RuntimeError` unless all groups are full."""
    groups = list(chunks(prompts, samples))
    if any(len(group) != samples or len(set(group)) != 1 for group in groups):
        raise RuntimeError(f"the {len(prompts)} prompts are not groups of {samples} equal ones")
    return [group[0] for group in groups]


def chunks(items: Sequence[T], size: int) -> Iterator[list[T]]:
    """Neighbours in lists of `size`, the last one perhaps shorter."""
    return (list(items[i : i + size]) for i in range(0, len(items), size))


def has_no_variance(rewards: Sequence[float | None]) -> bool:
    """Return whether all scored episodes of a group earned the same; `None` is an unscored one.

    >>> has_no_variance([0.1 + 0.2, 0.3]), has_no_variance([0.0, None]), has_no_variance([0.0, 1.0])
    (True, True, False)
    """
    scored = [reward for reward in rewards if reward is not None]
    return not scored or max(scored) - min(scored) <= TOLERANCE


ZERO_VARIANCE = ("unwinnable", "always_right", "always_wrong")
"""Why all episodes of a group earned the same: no answer could earn more in this environment (see
`graphwalker.ceilings`), or the policy can do it already, or it cannot yet. Only the last are worth
another try."""


def why_no_variance(em: Sequence[float], winnable: bool | None) -> str:
    """Name one of `ZERO_VARIANCE`, by the EM of a group's scored episodes; `""` for none.

    `winnable` is `None` where that is not known.

    >>> why_no_variance([1.0, 1.0], None), why_no_variance([0.0, 0.0], False)
    ('always_right', 'unwinnable')
    >>> why_no_variance([0.0, 0.0], None), why_no_variance([], True)
    ('always_wrong', '')
    """
    if not em:
        return ""
    if all(em):
        return "always_right"
    return "unwinnable" if winnable is False else "always_wrong"


class Winnable:
    """Says which questions the environment lets anyone answer; each is looked up once."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        # A look at relations that no episode asked for would be paid for by the chat reranker.
        self._known = environment.speaker is not None and not environment.config.reranker.chats
        self._found: dict[str, bool] = {}

    def __call__(self, question: Question) -> bool | None:
        """`None` where it cannot be known: the preset has no speaker, a chat model reranks, or the
        graph does not answer now."""
        if self._known and question.id not in self._found:
            try:
                self._found[question.id] = reach_of(question, self._environment).winnable
            except GraphError as error:  # the step's own limit on failures decides about the run
                log.warning("%s: is it winnable? %s", question.id, error)
        return self._found.get(question.id)


def substitutes(known: Collection[str], taken: Collection[str], seed: str) -> list[str]:
    """Question ids that are not `taken`, in an order that `seed` alone decides."""
    rest = sorted(set(known) - set(taken))
    random.Random(seed).shuffle(rest)
    return rest
