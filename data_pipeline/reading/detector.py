"""A detector of faults: logistic regression over measures, bent where they are low."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MeasureRows = NDArray[np.float64]
"""(questions, measures)"""

CLIP = 4.0
"""Standard deviations from the median beyond which a measure says no more."""
BENDS = (50, 20, 10)
"""Percentiles of good questions at which the weight of a measure may change."""
RIDGE, STEPS = 1.0, 40


@dataclass(frozen=True)
class Detector:
    """How much a question looks like a fault, from its measures."""

    middle: MeasureRows
    spread: MeasureRows
    bends: MeasureRows
    """(len(BENDS), measures), in spreads from the middle."""
    weights: MeasureRows
    threshold: float

    @classmethod
    def fit(cls, good: MeasureRows, bad: MeasureRows, lose: float) -> "Detector":
        """Both sides count the same. At most a share `lose` of the good ones is beyond the
        threshold."""
        middle, spread = np.median(good, axis=0), np.maximum(good.std(axis=0), 1e-3)
        scaled = np.clip((good - middle) / spread, -CLIP, CLIP)
        bends = np.percentile(scaled, BENDS, axis=0)
        untrained = cls(middle, spread, bends, np.zeros(0), 0.0)
        rows = untrained._inputs(np.vstack([good, bad]))
        wanted = np.r_[np.zeros(len(good)), np.ones(len(bad))]
        half = len(rows) / 2
        count = np.r_[np.full(len(good), half / len(good)), np.full(len(bad), half / len(bad))]
        fitted = cls(middle, spread, bends, _logistic(rows, wanted, count), 0.0)
        threshold = float(np.quantile(fitted.scores(good), 1 - lose, method="higher"))
        return cls(middle, spread, bends, fitted.weights, threshold)

    def scores(self, rows: MeasureRows) -> MeasureRows:
        """(questions,): rounded, so that a tie stays a tie on every machine."""
        return np.round(self._inputs(rows) @ self.weights, 6)

    def finds(self, rows: MeasureRows) -> NDArray[np.bool_]:
        """(questions,): whether each is taken for a fault."""
        return self.scores(rows) > self.threshold

    def worst(self, row: MeasureRows) -> int:
        """The measure that says most that a question is a fault."""
        parts = self._inputs(row[None])[0] * self.weights
        measures = len(self.middle)
        by_measure = parts[1:].reshape(-1, measures).sum(axis=0)
        return int(np.round(by_measure, 6).argmax())

    def _inputs(self, rows: MeasureRows) -> MeasureRows:
        scaled = np.clip((rows - self.middle) / self.spread, -CLIP, CLIP)
        below = [np.maximum(0.0, bend - scaled) for bend in self.bends]
        return np.hstack([np.ones((len(rows), 1)), scaled, *below])


def _logistic(rows: MeasureRows, wanted: MeasureRows, count: MeasureRows) -> MeasureRows:
    """Newton's steps towards the weights of a ridge regression; they are the same each time."""
    ridge = np.eye(rows.shape[1]) * RIDGE
    ridge[0, 0] = 1e-6
    weights = np.zeros(rows.shape[1])
    for _ in range(STEPS):
        share = 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))
        slope = rows.T @ (count * (share - wanted)) + ridge @ weights
        curve = (rows * (count * share * (1 - share))[:, None]).T @ rows + ridge
        weights = weights - np.linalg.solve(curve, slope)
    return weights
