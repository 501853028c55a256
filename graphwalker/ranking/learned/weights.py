"""A log-linear model over the relations of a listing, several folds at once."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwalker.ranking.learned.features import DENSE, Floats, crossed, dense, options, reading

BITS = 20
"""The table has 2 ** BITS weights: 15,000 questions fill about half of it."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of several models side by side; the first has seen everything, model `k` all but
    fold `k - 1`."""

    words: NDArray[np.float32]
    """(2 ** BITS, models): of each pair of question word and relation key, by its hash."""
    dense: Floats
    """(len(DENSE), models)"""

    @classmethod
    def zeros(cls, models: int) -> "Weights":
        return cls(np.zeros((1 << BITS, models), np.float32), np.zeros((len(DENSE), models)))

    @property
    def models(self) -> int:
        return self.words.shape[1]

    def scores(
        self, question: str, entity: str, relations: tuple[str, ...], model: int = 0
    ) -> Floats:
        """(relations,): of one model, rounded, so that a tie stays a tie on every machine."""
        read, listed = reading(question, entity), options(relations)
        by_key = (self.words[crossed(listed, read, BITS), model] * read.values).sum(axis=1)
        sparse = np.add.reduceat(by_key[listed.keys] * listed.values, listed.starts)
        return np.round(sparse + dense(relations, read) @ self.dense[:, model], 6)


class Trainer:
    """Fits the models by AdaGrad, an example at a time: softmax over the listing, the probability
    of all its gold relations together. Steps are the same for the same examples in the same order.
    """

    def __init__(self, models: int, rate: float = 0.3, dense_rate: float = 0.1) -> None:
        self.weights = Weights.zeros(models)
        # Begun at 1, the first steps are small: a rare word is not believed at once.
        self._squares = np.ones_like(self.weights.words)
        self._dense_squares = np.ones_like(self.weights.dense)
        self._rate, self._dense_rate = rate, dense_rate

    def step(
        self,
        question: str,
        entity: str,
        relations: tuple[str, ...],
        gold: NDArray[np.int64],
        seen_by: Floats,
    ) -> None:
        """One example. `gold`: places in the listing, at least one; `seen_by`: (models,), the
        weight of the example in each model, 0 where it is held out."""
        read, listed = reading(question, entity), options(relations)
        cells = crossed(listed, read, BITS)
        numbers = dense(relations, read)
        words = self.weights.words
        by_key = np.einsum("kqm,q->km", words[cells], read.values)
        scores = np.add.reduceat(by_key[listed.keys] * listed.values[:, None], listed.starts)
        error = _error(scores + numbers @ self.weights.dense, gold) * seen_by
        parts = error[listed.relations] * listed.values[:, None]
        pull = np.add.reduceat(parts[listed.by_key], listed.key_starts)
        slope = (pull[:, None, :] * read.values[None, :, None]).astype(np.float32)
        squares = self._squares[cells] + slope * slope
        self._squares[cells] = squares
        words[cells] -= np.float32(self._rate) * slope / np.sqrt(squares)
        slope = numbers.T @ error
        self._dense_squares += slope * slope
        self.weights.dense[...] -= self._dense_rate * slope / np.sqrt(self._dense_squares)


def _error(scores: Floats, gold: NDArray[np.int64]) -> Any:
    """(relations, models): the probability of each relation, less its share of the gold."""
    shares = np.exp(scores - scores.max(axis=0))
    shares /= shares.sum(axis=0)
    wanted = shares[gold]
    shares[gold] -= wanted / np.maximum(wanted.sum(axis=0), 1e-12)
    return shares
