"""The quality filter: is every hop said, does the question mean its walk, does it read well?"""

from dataclasses import dataclass

KEEP_FROM = 9.0
"""Mean of the three scores from which a question is kept (GraphWalker section 2, phase 2)."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Scores from 0 to 10: path completeness, question-path relevance, semantic coherence."""

    scores: tuple[float, float, float]
    reasons: tuple[str, ...] = ()

    @property
    def kept(self) -> bool:
        return sum(self.scores) / 3 >= KEEP_FROM
