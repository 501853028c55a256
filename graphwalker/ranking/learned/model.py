"""A log-linear model over the relations of a listing, several folds at once, and its features."""

import hashlib
import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwalker.graphs.triples import FLATTENED
from graphwalker.ranking.bm25 import stem_scores
from graphwalker.ranking.words import TOPIC, grams, last_part, mask_entity, stems

DENSE = (
    "shared 4-grams, last part of the id",
    "shared 4-grams, whole id",
    "1 / place by BM25",
    "share of the best score of BM25",
    "through a CVT",
)
"""The numbers that every relation of a listing has, in the order of their weights. BM25 is that of
stems and trigrams, without the entity's name, which says nothing of the relation."""
_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: Fibonacci hashing
_QUESTION_WEIGHT = 2.0
"""Length of the vector of a question's words; each of the other features has length 1."""

Ids = NDArray[np.uint64]
Floats = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class QuestionTerms:
    """A question seen from one entity."""

    ids: Ids
    """(words,): hashes of its words and pairs of words, of a constant, and of whether the entity
    is named in it (a topic) or not (a later hop)."""
    values: Floats
    """(words,)"""
    text: str
    """Its stems, without the entity's name."""
    grams: frozenset[str]


@dataclass(frozen=True, slots=True)
class ListingKeys:
    """The relations listed of an entity, as a sparse matrix (relations, keys)."""

    ids: Ids
    """(keys,): hashes of relation ids and of their words."""
    keys: Places
    """(entries,): the key of each entry; entries are in the order of the relations."""
    values: Floats
    """(entries,)"""
    starts: Places
    """(relations,): the first entry of each relation."""
    by_key: Places
    """(entries,): the entries in the order of their keys."""
    key_starts: Places
    """(keys,): where each key begins in `by_key`."""
    relations: Places
    """(entries,): the relation of each entry."""


@lru_cache(maxsize=262_144)
def hash_text(text: str) -> int:
    """64 bits that are the same on every machine."""
    return int.from_bytes(
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little"
    )


@lru_cache(maxsize=4_096)
def reading(question: str, entity: str) -> QuestionTerms:
    """Return what the question says to somebody who stands at that entity."""
    words, named = mask_entity(question, entity)
    marked = ["^", *words, "$"]
    pairs = (f"{a} {b}" for a, b in pairwise(marked))
    terms = list(dict.fromkeys((*words, *pairs)))
    names = ["^always", *(f"q {word}" for word in terms), "^topic" if named else "^later"]
    share = _QUESTION_WEIGHT / math.sqrt(max(1, len(terms)))
    values = np.array([1.0, *[share] * len(terms), 1.0])
    plain = [word for word in words if word != TOPIC]
    ids = np.array([hash_text(name) for name in names], np.uint64)
    return QuestionTerms(ids, values, " ".join(plain), frozenset[str]().union(*map(grams, plain)))


@lru_cache(maxsize=4_096)
def options(relations: tuple[str, ...]) -> ListingKeys:
    """Return the listing; entities of one type share theirs."""
    numbers: dict[str, int] = {}
    keys: list[int] = []
    values: list[float] = []
    owners: list[int] = []
    starts: list[int] = []
    for place, relation in enumerate(relations):
        starts.append(len(keys))
        words = list(dict.fromkeys(stems(relation)))
        share = 1 / math.sqrt(max(1, len(words)))
        for key, value in ((f"r {relation}", 1.0), *((f"w {word}", share) for word in words)):
            keys.append(numbers.setdefault(key, len(numbers)))
            values.append(value)
            owners.append(place)
    columns = np.array(keys, np.int64)
    by_key = np.argsort(columns, kind="stable")
    return ListingKeys(
        ids=np.array([hash_text(key) for key in numbers], np.uint64),
        keys=columns,
        values=np.array(values),
        starts=np.array(starts, np.int64),
        by_key=by_key,
        key_starts=np.searchsorted(columns[by_key], np.arange(len(numbers))),
        relations=np.array(owners, np.int64),
    )


def cross_places(options: ListingKeys, reading: QuestionTerms, bits: int) -> Places:
    """(keys, words): where the weight of each pair stands in a table of `2 ** bits`."""
    mixed = (options.ids[:, None] * _MIX + reading.ids[None, :]) * _MIX
    return (mixed >> np.uint64(64 - bits)).astype(np.int64)


def dense(relations: tuple[str, ...], read: QuestionTerms) -> Floats:
    """(relations, len(DENSE)); the relations in the order of their ids."""
    scores = stem_scores(read.text, relations)
    order = sorted(range(len(relations)), key=lambda k: (-scores[k], k))
    place = {k: 1 / (1 + rank) for rank, k in enumerate(order)}
    best = max(scores) + 1e-9
    rows = [
        [*_overlaps(relation, read.grams), place[k], scores[k] / best, float(FLATTENED in relation)]
        for k, relation in enumerate(relations)
    ]
    return np.array(rows)


def _overlaps(relation: str, found: frozenset[str]) -> list[float]:
    return [len(part & found) / math.sqrt(len(part) + 1) for part in _relation_grams(relation)]


@lru_cache(maxsize=65_536)
def _relation_grams(relation: str) -> tuple[frozenset[str], frozenset[str]]:
    def of(text: str) -> frozenset[str]:
        return frozenset[str]().union(*map(grams, stems(text)))

    return of(last_part(relation)), of(relation)


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
        by_key = (self.words[cross_places(listed, read, BITS), model] * read.values).sum(axis=1)
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
        """Learn one example. `gold`: places in the listing, at least one; `seen_by`: (models,), the
        weight of the example in each model, 0 where it is held out."""
        read, listed = reading(question, entity), options(relations)
        cells = cross_places(listed, read, BITS)
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
