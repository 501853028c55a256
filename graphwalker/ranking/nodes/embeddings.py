"""Embeddings of nodes: vectors of a sentence-transformers model, compared by their cosine."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from graphwalker.errors import UserError


@dataclass(frozen=True, slots=True)
class Embeddings:
    """`vectors`: (nodes, dimensions), each of length 1."""

    model: str
    vectors: NDArray[np.float32]

    @classmethod
    def of(cls, batches: Iterable[Sequence[str]], model: str) -> Self:
        """The vectors of texts, batch by batch. Raises `UserError` where the model cannot be
        loaded."""
        parts = [_encoded(batch, model) for batch in batches]
        return cls(model, np.concatenate(parts).astype(np.float32))

    def scores(self, text: str) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Every node and its cosine with the text."""
        wanted = _encoded([text], self.model)[0]
        return np.arange(len(self.vectors), dtype=np.int32), (self.vectors @ wanted).astype(float)

    def arrays(self) -> dict[str, Any]:
        """What a file of it holds."""
        return {"vectors": self.vectors}


def _encoded(texts: Sequence[str], model: str) -> NDArray[np.float32]:
    return sentence_model(model).encode(
        list(texts), normalize_embeddings=True, show_progress_bar=False, convert_to_numpy=True
    )


@lru_cache(maxsize=2)
def sentence_model(model: str) -> Any:
    """A model of sentence-transformers, from a folder or the local cache; nothing is downloaded.
    Raises `UserError` where it, or the package, is not there."""
    if find_spec("sentence_transformers") is None:
        raise UserError(
            f"{model} needs sentence-transformers: pip install 'graphwalker-kgqa[embed]'"
        )
    library: Any = import_module("sentence_transformers")
    try:
        return library.SentenceTransformer(model, local_files_only=True)
    except (OSError, ValueError) as error:
        line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UserError(f"{model}: no model could be loaded from here ({line})") from None
