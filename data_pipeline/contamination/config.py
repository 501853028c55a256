"""Settings of contamination: from where on a question counts as one of the test's."""

from typing import Annotated

from pydantic import Field

from graphwalker.config import Config
from graphwalker.trust import RUNS, ByHand


class ContaminationConfig(Config):
    """What is compared with test questions, and how close is too close."""

    facts: bool = True
    """Whether a question about the same fact counts: the same topic entities and relation path;
    the same topic entities and answers where a test question's path is not known."""
    words: float = Field(default=0.6, gt=0.0, le=1.0)
    """Share of word trigrams in common from which two questions are near copies."""
    embedding: Annotated[str, ByHand(RUNS)] = ""
    """A sentence-transformers model by its folder. Empty: none."""
    threshold: float = Field(default=0.85, gt=0.0, le=1.0)
    """Cosine similarity of embeddings from which two questions are the same (the paper's)."""
