"""A recipe: what a run of the data pipeline makes of each attempt, and the files it goes to."""

from collections.abc import Callable
from dataclasses import dataclass

from data_pipeline.jobs.ledger import Unit
from data_pipeline.outcomes import RuledOut

WALKS, QUESTIONS, GRAPHSYNTH = "walks.jsonl", "questions.jsonl", "graphsynth.jsonl"
UNSCORED_FILE = "unscored.jsonl"

AttemptNumber = tuple[str, int, RuledOut | None, frozenset[str]]
"""Stream and number of an attempt; where it is made in its turn, what rules its walk out; the
relations that it keeps off."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a run makes: of each job, by `build`; written as `files`, the last one its product."""

    name: str
    build: Callable[..., Callable[[AttemptNumber], Unit]]
    """Called with the graph, the config and, where there is one, the line to a chat model."""
    files: tuple[str, ...]

    @property
    def product(self) -> str:
        return self.files[-1]

    @property
    def distinct(self) -> str:
        """The file whose questions (or bare walks) must differ from one another."""
        return QUESTIONS if QUESTIONS in self.files else WALKS
