"""Settings of the reader: a filter that reads questions as a stranger does."""

from pydantic import Field

from graphwalker.config import Config


class ReaderConfig(Config):
    """A filter that finds each walk again from the text alone, learned from the other questions."""

    enabled: bool = False
    """Whether questions are read."""
    lose: float = Field(default=0.05, gt=0.0, lt=1.0)
    """Share of the questions that may be dropped: those that look most like the planted faults."""
    folds: int = Field(default=4, ge=2)
    """Parts of the corpus. A question is read by a reader that has seen the other parts only."""
    planted: int = Field(default=300, ge=20)
    """Planted faults of each of the six kinds, to learn from and to measure what is caught."""
    labels: str = ""
    """A JSON file of texts with people's labels (natural, stilted, nonsense): the card says how far
    the filter agrees with them."""
