"""Which questions a ranker was trained on, as digests, and which fold holds each of them out."""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphwalker.ranking.bm25 import words


def question_key(question: str, entity: str = "") -> int:
    """64 bits that tell the question, whatever its case and punctuation, seen from that entity."""
    text = f"{' '.join(words(question))}\t{' '.join(words(entity))}"
    return int.from_bytes(
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little"
    )


@dataclass(frozen=True, slots=True)
class KnownQuestions:
    """Digests in order, each with its fold."""

    keys: NDArray[np.uint64]
    folds: NDArray[np.uint8]

    @classmethod
    def of(cls, folds: dict[int, int]) -> "KnownQuestions":
        keys = sorted(folds)
        return cls(np.array(keys, np.uint64), np.array([folds[k] for k in keys], np.uint8))

    def fold(self, question: str, entity: str) -> int | None:
        """The fold that holds out the question at that entity; at an entity where it was not
        trained, that of its first hop; `None` for a question that is new."""
        for key in (question_key(question, entity), question_key(question)):
            place = int(np.searchsorted(self.keys, np.uint64(key)))
            if place < len(self.keys) and int(self.keys[place]) == key:
                return int(self.folds[place])
        return None
