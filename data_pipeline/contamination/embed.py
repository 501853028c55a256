"""Similar questions: by word n-grams, by embeddings."""

import logging
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from graphwalker.errors import UserError
from graphwalker.ranking.nodes.scorers import sentence_model
from graphwalker.scoring import loosen

WORDS = 3
"""Words in an n-gram; questions are short."""
_WORD = re.compile(r"[^\W_]+")


def normal(text: str) -> str:
    """Case-folded words with single spaces: what makes two questions the same.

    >>> normal("Who wrote *Emma*, O\u2019Neil's novel?")
    'who wrote emma oneils novel'
    """
    return " ".join(_WORD.findall(spell(text)))


def spell(text: str) -> str:
    """Return one spelling of texts that differ in how they are typed; apostrophes are left out."""
    return loosen(text).replace("'", "")


def shingles(text: str) -> frozenset[str]:
    """Return the text's word n-grams; of a shorter text, the whole."""
    words = normal(text).split()
    starts = range(max(1, len(words) - WORDS + 1))
    return frozenset(" ".join(words[i : i + WORDS]) for i in starts)


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    """Shared n-grams over all n-grams."""
    return len(a & b) / len(a | b)


class NgramIndex:
    """Texts by their word n-grams."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._sets = list(map(shingles, texts))
        self._having: defaultdict[str, list[int]] = defaultdict(list)
        for number, known in enumerate(self._sets):
            for gram in known:
                self._having[gram].append(number)

    def nearest(self, text: str, at_least: float) -> tuple[float, int]:
        """Return the largest Jaccard similarity to any text, and which text it is; (0, -1) where
        none has `at_least`."""
        grams = shingles(text)
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
BLOCK = 1024
"""Questions compared at once."""


class Embedder:
    """A sentence-transformers model that is on this machine; nothing is downloaded."""

    def __init__(self, name: str) -> None:
        try:
            self._model = sentence_model(name)
        except UserError as error:
            raise UserError(f"--embedding {error}") from None
        self.name = name

    def embed(self, texts: Sequence[str]) -> Any:
        """Return the texts as rows of length 1: an array [texts, size] of float32."""
        import numpy as np

        rows = self._model.encode(list(texts), batch_size=64, show_progress_bar=False)
        return _unit(np.asarray(rows, dtype=np.float32))


def open_embedder(name: str = "") -> Embedder | None:
    """Open a sentence-transformers model by folder or by name.

    Without a name: the paper's model where it is on this machine, else none, with a notice.
    """
    if name:
        return Embedder(name)
    try:
        return Embedder(PAPER)
    except UserError:
        log.warning(
            "no embedding: %s is not on this machine, and paraphrases that share no words are not "
            "seen (--embedding FOLDER for a model)",
            PAPER,
        )
        return None


def nearest(
    embedder: Embedder, texts: Sequence[str], others: Sequence[str]
) -> list[tuple[float, int]]:
    """Return, for each text, the largest cosine similarity to another one, and its place."""
    import numpy as np

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


def _unit(rows: Any) -> Any:
    import numpy as np

    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths == 0, 1, lengths)
