"""Similar questions: by word and letter n-grams, by embeddings."""

import logging
import math
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Protocol

from graphwalker.errors import UserError
from graphwalker.ranking.nodes.scorers import sentence_model

WORDS = 3
"""Words in an n-gram; questions are short."""
LETTERS = 3
_WORD = re.compile(r"[^\W_]+")


def normal(text: str) -> str:
    """Case-folded words with single spaces: what makes two questions the same.

    >>> normal("Who wrote *Emma*, the novel?")
    'who wrote emma the novel'
    """
    return " ".join(_WORD.findall(text.casefold()))


def shingles(text: str) -> frozenset[str]:
    """The text's word n-grams; of a shorter text, the whole."""
    words = normal(text).split()
    starts = range(max(1, len(words) - WORDS + 1))
    return frozenset(" ".join(words[i : i + WORDS]) for i in starts)


def letter_grams(text: str) -> frozenset[str]:
    """The letter trigrams inside the words: neither their order nor a changed letter makes much of
    a difference."""
    words = (f" {word} " for word in normal(text).split())
    return frozenset(w[i : i + LETTERS] for w in words for i in range(len(w) - LETTERS + 1))


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    """Shared n-grams over all n-grams."""
    return len(a & b) / len(a | b)


class NgramIndex:
    """Texts by their n-grams (`shingles` or `letter_grams`)."""

    def __init__(
        self, texts: Sequence[str], grams: Callable[[str], frozenset[str]] = shingles
    ) -> None:
        self._grams, self._sets = grams, [grams(text) for text in texts]
        self._having: defaultdict[str, list[int]] = defaultdict(list)
        for number, known in enumerate(self._sets):
            for gram in known:
                self._having[gram].append(number)

    def nearest(self, text: str, at_least: float) -> tuple[float, int]:
        """The largest Jaccard similarity to any text, and which text it is; (0, -1) where none has
        `at_least`."""
        grams = self._grams(text)
        # A text so alike shares this many, and so one of the others plus one: the rarest are looked
        # up (prefix filtering, Chaudhuri et al. 2006).
        shared = math.ceil(at_least * len(grams) - 1e-9)
        rarest = sorted(grams, key=lambda gram: len(self._having.get(gram, ())))
        looked_up = rarest[: len(grams) - shared + 1]
        candidates = {n for gram in looked_up for n in self._having.get(gram, ())}
        best = max(((jaccard(grams, self._sets[n]), -n) for n in candidates), default=(0.0, 1))
        return (best[0], -best[1]) if best[0] >= at_least else (0.0, -1)


log = logging.getLogger(__name__)

PAPER = "BAAI/bge-m3"
"""The model of GraphWalker appendix B.2."""
TFIDF = "tfidf"
SIZE = 2048
"""Numbers in a hashed TF-IDF vector."""
BLOCK = 1024
"""Questions compared at once."""


class Embedder(Protocol):
    """Turns texts into rows of length 1: an array [texts, size] of float32."""

    name: str
    semantic: bool
    """Whether a paraphrase without a shared word can be seen."""

    def fit(self, texts: Sequence[str]) -> None:
        """Learn what it must from all texts at hand, once."""
        ...

    def embed(self, texts: Sequence[str]) -> Any: ...


class HashedTfidf:
    """Words, pairs of words and letter 4-grams, weighted by rarity, hashed with signs."""

    name = TFIDF
    semantic = False

    def __init__(self) -> None:
        self._rarity: dict[str, float] = {}
        self._none = 1.0

    def fit(self, texts: Sequence[str]) -> None:
        seen = Counter(piece for text in texts for piece in set(_pieces(text)))
        self._none = math.log(len(texts) + 1) + 1
        self._rarity = {
            piece: math.log((len(texts) + 1) / (count + 1)) + 1 for piece, count in seen.items()
        }

    def embed(self, texts: Sequence[str]) -> Any:
        import numpy as np

        rows = np.zeros((len(texts), SIZE), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for piece, count in Counter(_pieces(text)).items():
                place = zlib.crc32(piece.encode())
                sign = 1 if place & 0x80000000 else -1
                weight = self._rarity.get(piece, self._none) * (1 + math.log(count))
                row[place % SIZE] += sign * weight
        return _unit(rows)


class SentenceModel:
    """A sentence-transformers model that is on this machine; nothing is downloaded."""

    semantic = True

    def __init__(self, name: str) -> None:
        try:
            self._model = sentence_model(name)
        except UserError as error:
            raise UserError(f"--embedding {error}, or take --embedding tfidf") from None
        self.name = name

    def fit(self, texts: Sequence[str]) -> None:
        """It knows enough."""

    def embed(self, texts: Sequence[str]) -> Any:
        import numpy as np

        rows = self._model.encode(list(texts), batch_size=64, show_progress_bar=False)
        return _unit(np.asarray(rows, dtype=np.float32))


def open_embedder(name: str = "") -> Embedder:
    """`tfidf`, or a sentence-transformers model by folder or by name.

    Without a name: the paper's model where it is on this machine, else `tfidf`, with a notice.
    """
    if name == TFIDF:
        return HashedTfidf()
    if name:
        return SentenceModel(name)
    try:
        return SentenceModel(PAPER)
    except UserError:
        log.warning(
            "similarity by hashed TF-IDF: %s is not on this machine; paraphrases that share no "
            "words are not seen, and figures are not the paper's (--embedding FOLDER for a model)",
            PAPER,
        )
        return HashedTfidf()


def nearest(
    embedder: Embedder, texts: Sequence[str], others: Sequence[str]
) -> list[tuple[float, int]]:
    """For each text, the largest cosine similarity to any of the others, and which one it is."""
    import numpy as np

    embedder.fit([*texts, *others])
    targets = np.concatenate([embedder.embed(part) for part in _blocks(others)])
    found: list[tuple[float, int]] = []
    for part in _blocks(texts):
        similar = embedder.embed(part) @ targets.T
        best = similar.argmax(axis=1)
        values = similar[np.arange(len(part)), best].clip(-1.0, 1.0)
        found += zip(values.tolist(), best.tolist(), strict=True)
    return found


def _blocks(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    return (texts[i : i + BLOCK] for i in range(0, len(texts), BLOCK))


def _pieces(text: str) -> list[str]:
    words = normal(text).split()
    pairs = (" ".join(pair) for pair in pairwise(words))
    letters = f" {' '.join(words)} "
    grams = (f"#{letters[i : i + 4]}" for i in range(len(letters) - 3))
    return [*words, *pairs, *grams]


def _unit(rows: Any) -> Any:
    import numpy as np

    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths == 0, 1, lengths)
