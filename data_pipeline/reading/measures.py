"""What a reader measures of a question: numbers, each lower where something is wrong."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from data_pipeline.reading.alignment import Alignment
from data_pipeline.reading.fluency import Pairs, words_of
from data_pipeline.wording.quality import mentions
from graphwalker.question import Question
from graphwalker.ranking.learned.examples import Example

MEASURES = (
    "evidence of the weakest hop",
    "evidence of a hop",
    "what the weakest hop lacks",
    "choice of the walk's relations",
    "the least explained word",
    "explained words",
    "unexplained words",
    "usual pairs of words",
    "the least usual pairs",
    "rare pairs",
    "missing article",
    "words for each hop",
)
RARE = -7.0
"""Log probability below which a pair of words counts as rare."""

MeasureRow = NDArray[np.float64]
"""(len(MEASURES),)"""


@dataclass(frozen=True, slots=True)
class Walked:
    """What a reader is told besides the text: the walk that it should find, and what else is listed
    on the way."""

    relations: tuple[str, ...]
    looks: tuple[Example, ...]
    """Hops that some entity lists, each with its listing."""


@dataclass(frozen=True)
class Model:
    """What was learned from texts: which words mean which relations, and which follow which."""

    alignment: Alignment
    pairs: Pairs

    @classmethod
    def of(cls, texts: Iterable[tuple[Sequence[str], Sequence[str]]], phrases: int) -> "Model":
        """Of words with the relations that they speak of; the last `phrases` of them are no whole
        questions, so that nothing is learned from where they begin and end."""
        found = list(texts)
        whole = found[: len(found) - phrases] if phrases else found
        return cls(Alignment(found), Pairs(words for words, _ in whole))

    def measure(self, question: Question, walked: Walked) -> MeasureRow:
        """All measures of a question."""
        words, hops = words_of(question), walked.relations
        found = self.alignment.evidence(words, hops)
        usual = sorted(self.pairs.log_probabilities(words))
        known = list(found.words) or [0.0]
        return np.array(
            [
                min(found.hops),
                fmean(found.hops),
                min(found.lacking),
                min((self._choice(words, walked, look) for look in walked.looks), default=0.0),
                min(known),
                fmean(known),
                sum(word for word in known if word < 0),
                fmean(usual),
                fmean(usual[:3]),
                -sum(one < RARE for one in usual) / len(usual),
                -self.pairs.missing_article(words),
                len(words) / (1 + len(hops)),
            ]
        )

    def _choice(self, words: Sequence[str], walked: Walked, look: Example) -> float:
        place = walked.relations.index(look.gold[0])
        return self.alignment.choice(words, walked.relations, place, look)


def names_its_topics(question: Question) -> bool:
    """Whether every topic entity stands in the text."""
    return all(mentions(question.text, topic.name) for topic in question.topic_entities)
