"""The trained ranker: what was learned from questions orders the relations of an entity."""

from collections.abc import Sequence
from dataclasses import dataclass

from graphwalker.config import Config
from graphwalker.ranking.learned.known import KnownQuestions
from graphwalker.ranking.learned.weights import Weights


class TrainingFile(Config):
    """A file of questions that a ranker was trained on."""

    file: str
    digest: str
    weight: float
    """Of each of its examples."""
    questions: int
    """Questions that say which relations lead to their answers."""
    examples: int
    """Hops of these questions that the environment lists."""
    unlisted: int
    """Hops that no listing shows: nothing can be learned from them."""


class About(Config):
    """What a ranker is and how it was made; the header of its folder."""

    format_version: int = 2
    features: tuple[str, ...]
    """The numbers of each relation, besides pairs of words."""
    bits: int
    """The table of pairs has 2 ** bits weights."""
    folds: int
    whole_relations: float = 0.0
    """Share of the relations that a fold holds out with all their phrases."""
    seed: int
    epochs: int
    graph: str
    """Checksum of the graph whose listings were seen."""
    sources: tuple[TrainingFile, ...]
    weights: str = ""
    """Digest of the file of weights."""


@dataclass(frozen=True)
class LearnedRanker:
    """A `Ranker`. A question that it was trained on is ranked by the model that did not see it, so
    that listings of training questions are as hard as those of any other."""

    about: About
    weights: Weights
    known: KnownQuestions
    digest: str = ""
    """Of its folder; `""` before it is written."""

    def __call__(self, question: str, entity: str, relations: tuple[str, ...]) -> Sequence[str]:
        ordered = tuple(sorted(set(relations)))
        if len(ordered) < 2:
            return ordered
        fold = self.known.fold(question, entity)
        scores = self.weights.scores(question, entity, ordered, 0 if fold is None else fold + 1)
        order = sorted(range(len(ordered)), key=lambda i: (-scores[i], ordered[i]))
        return tuple(ordered[i] for i in order)

    @property
    def trained_on(self) -> tuple[str, ...]:
        """The files of its questions."""
        return tuple(source.file for source in self.about.sources)
