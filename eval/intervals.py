"""Intervals of a mean: Wilson's for shares, the percentile bootstrap for everything else."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

RESAMPLES = 2000
Z95 = 1.959963984540054
INTERVALS = (
    "95 %: Wilson score where every value is 0 or 1, else percentile bootstrap over questions "
    f"({RESAMPLES:,} resamples)"
)
Interval = tuple[float, float]


def wilson(successes: int, n: int) -> Interval:
    """Wilson's 95 % score interval of a proportion (Wilson, JASA 1927).

    >>> tuple(round(end, 4) for end in wilson(81, 263))
    (0.2553, 0.3662)
    """
    if n == 0:
        return (0.0, 1.0)
    share = successes / n
    scale = 1 + Z95**2 / n
    centre = (share + Z95**2 / (2 * n)) / scale
    half = Z95 / scale * math.sqrt(share * (1 - share) / n + Z95**2 / (4 * n * n))
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return (low, high)


def bootstrap(values: Sequence[float], seed: int, resamples: int = RESAMPLES) -> Interval:
    """Percentile 95 % interval of the mean of `values`, one a question, resampling questions; the
    same for the same seed.

    Where few distinct values stand for many questions, how often each value is drawn is drawn at
    once: the same distribution, at a cost that does not grow with the number of questions.
    """
    import numpy as np

    data = np.asarray(values, dtype=float)
    rng = np.random.default_rng(seed)
    distinct, counts = np.unique(data, return_counts=True)
    if len(distinct) * 16 <= len(data):
        means = _means_by_count(distinct, counts, rng, resamples)
    else:
        means = _means_by_draw(data, rng, resamples)
    low, high = np.percentile(means, [2.5, 97.5])
    return (float(low), float(high))


def mean_interval(values: Sequence[float], seed: int, share: bool = True) -> tuple[float, Interval]:
    """The mean and its interval by the rule above; `share` is False for counts such as turns."""
    mean = sum(values) / len(values)
    if share and all(value in (0, 1) for value in values):
        return mean, wilson(int(sum(values)), len(values))
    return mean, bootstrap(values, seed)


def _means_by_draw(
    data: "np.ndarray[Any, Any]", rng: "np.random.Generator", resamples: int
) -> "np.ndarray[Any, Any]":
    """Means (resamples,) of `data` (questions,), drawn with replacement."""
    import numpy as np

    means = np.empty(resamples)
    # Blocks keep memory flat; the draws do not depend on the block size.
    block = max(1, min(100, 2_000_000 // len(data)))
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        means[start : start + size] = data[rng.integers(0, len(data), (size, len(data)))].mean(1)
    return means


def _means_by_count(
    distinct: "np.ndarray[Any, Any]",
    counts: "np.ndarray[Any, Any]",
    rng: "np.random.Generator",
    resamples: int,
) -> "np.ndarray[Any, Any]":
    """Means (resamples,) of `distinct` values (values,) that stand `counts` (values,) times."""
    import numpy as np

    n = int(counts.sum())
    means = np.empty(resamples)
    for start in range(0, resamples, 100):
        size = min(100, resamples - start)
        means[start : start + size] = rng.multinomial(n, counts / n, size) @ distinct / n
    return means
