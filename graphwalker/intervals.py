"""Intervals of means, of shares and of paired differences; all of them 95 %.

Values may come in clusters, such as several samples of one question: then questions are resampled,
not values, for k copies of an answer say no more than one.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

RESAMPLES = 2000
Z95 = 1.959963984540054
BCA_UP_TO = 1000
"""Questions up to which the bootstrap is corrected for bias and skewness; beyond, the correction is
smaller than the bootstrap's own noise."""
INTERVALS = (
    "95 %: Wilson score where every value is 0 or 1, else bootstrap over questions "
    f"({RESAMPLES:,} resamples; BCa up to {BCA_UP_TO:,} questions, percentile beyond); questions "
    "with several records are resampled whole; paired differences of 0 and 1: Tango's score "
    "interval"
)
Interval = tuple[float, float]


def wilson(successes: float, n: int) -> Interval:
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


def tango(won: int, lost: int, n: int) -> Interval:
    """Score interval of (won - lost) / n over n pairs (Tango, Statistics in Medicine 1998).

    It has a width where no pair differs, and at 0 it says what McNemar's test says.

    >>> tuple(round(end, 3) for end in tango(1, 7, 21))  # Fagerland et al. 2014, table 3
    (-0.517, -0.026)
    """
    estimate = (won - lost) / n
    return (
        -1.0 if lost == n else _root(lambda d: _tango_z(won, lost, n, d) - Z95, -1.0, estimate),
        1.0 if won == n else _root(lambda d: _tango_z(won, lost, n, d) + Z95, estimate, 1.0),
    )


def mean_interval(
    values: Sequence[float],
    seed: int,
    share: bool = True,
    clusters: Sequence[Hashable] | None = None,
) -> tuple[float, Interval]:
    """Get the mean and its interval by the rules above; `share` is False for counts such as turns.

    `clusters` names the question of each value, where one question may have several.
    """
    mean = sum(values) / len(values)
    groups = len(values) if clusters is None else len(set(clusters))
    binary = share and all(value in (0, 1) for value in values)
    if binary and groups == len(values):
        return mean, wilson(int(sum(values)), len(values))
    interval = bootstrap(values, seed, clusters=clusters)
    if binary and interval[0] == interval[1]:  # as if every question had one record
        interval = wilson(mean * groups, groups)
    return mean, interval


def paired_interval(
    gains: Sequence[float], seed: int = 0, clusters: Sequence[Hashable] | None = None
) -> Interval:
    """Return the interval of the mean of paired differences: Tango's where each is -1, 0 or 1 and
    of a question of its own, else the bootstrap's.

    >>> paired_interval([0.0, 0.0]) == tango(0, 0, 2)
    True
    """
    won, lost = gains.count(1), gains.count(-1)
    alone = clusters is None or len(set(clusters)) == len(gains)
    if alone and won + lost + gains.count(0) == len(gains):
        return tango(won, lost, len(gains))
    return bootstrap(gains, seed, clusters=clusters)


def bootstrap(
    values: Sequence[float],
    seed: int,
    resamples: int = RESAMPLES,
    clusters: Sequence[Hashable] | None = None,
) -> Interval:
    """Bootstrap interval of the mean of `values`, resampling questions; the same for the same seed.

    BCa (Efron, JASA 1987) up to `BCA_UP_TO` questions, percentile beyond.
    """
    import numpy as np

    data = np.asarray(values, dtype=float)
    sums, sizes = data, np.ones(len(data))
    if clusters is not None and len(set(clusters)) < len(data):
        sums, sizes = _by_cluster(data, clusters)
    means = _means(sums, sizes, np.random.default_rng(seed), resamples)
    influence = (sums - data.mean() * sizes) / sizes.mean()
    ends = (0.025, 0.975)
    if len(influence) <= BCA_UP_TO:
        ends = _bca_levels(means, float(data.mean()), influence)
    low, high = np.quantile(means, ends)
    return (float(low), float(high))


def _bca_levels(
    means: "np.ndarray[Any, Any]", mean: float, influence: "np.ndarray[Any, Any]"
) -> tuple[float, float]:
    """Get which quantiles of the resampled `means` (resamples,) are the ends, from the `influence`
    of each question (questions,) on the mean (Efron and Tibshirani 1993, (14.10) and (14.15))."""
    spread = float((influence**2).sum())
    slack = 1e-12 * max(1.0, abs(mean))  # sums in another order differ in the last digits
    below = float((means < mean - slack).mean() + (abs(means - mean) <= slack).mean() / 2)
    if spread <= slack**2 or not 0 < below < 1:
        return (0.025, 0.975)
    acceleration = float((influence**3).sum()) / (6 * spread**1.5)
    normal = NormalDist()
    bias = normal.inv_cdf(below)

    def level(z: float) -> float:
        shifted = bias + z
        return normal.cdf(bias + shifted / (1 - acceleration * shifted))

    return (level(-Z95), level(Z95))


def _by_cluster(
    data: "np.ndarray[Any, Any]", clusters: Sequence[Hashable]
) -> "tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]":
    """Sum and size (clusters,) of each cluster's values, clusters by first appearance."""
    import numpy as np

    numbers: dict[Hashable, int] = {}
    places = np.array([numbers.setdefault(name, len(numbers)) for name in clusters])
    return np.bincount(places, data), np.bincount(places).astype(float)


def _means(
    sums: "np.ndarray[Any, Any]",
    sizes: "np.ndarray[Any, Any]",
    rng: "np.random.Generator",
    resamples: int,
) -> "np.ndarray[Any, Any]":
    """Means (resamples,) over the values of clusters of these `sums` and `sizes` (clusters,), drawn
    with replacement.

    Where few distinct values stand for many questions, how often each value is drawn is drawn at
    once: the same distribution, at a cost that does not grow with the number of questions.
    """
    import numpy as np

    means = np.empty(resamples)
    distinct, counts = np.unique(sums, return_counts=True)
    few = len(distinct) * 16 <= len(sums) and bool((sizes == 1).all())
    # Blocks keep memory flat; the draws do not depend on the block size.
    block = 100 if few else max(1, min(100, 2_000_000 // len(sums)))
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        if few:
            drawn = rng.multinomial(len(sums), counts / len(sums), size)
            means[start : start + size] = drawn @ distinct / len(sums)
        else:
            drawn = rng.integers(0, len(sums), (size, len(sums)))
            means[start : start + size] = sums[drawn].sum(1) / sizes[drawn].sum(1)
    return means


def _tango_z(won: int, lost: int, n: int, difference: float) -> float:
    """Score of a difference: falls from above to below 0 as the difference grows."""
    b = (2 * n - won + lost) * difference - won - lost
    c = -lost * difference * (1 - difference)
    q = (math.sqrt(max(0.0, b * b - 8 * n * c)) - b) / (4 * n)
    variance = n * (2 * q + difference * (1 - difference))
    gap = won - lost - n * difference
    if variance <= 0:
        return math.copysign(math.inf, gap) if gap else 0.0
    return gap / math.sqrt(variance)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Find the root of a falling function by bisection."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) > 0 else (low, middle)
    return (low + high) / 2
