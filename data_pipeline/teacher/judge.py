"""The judge: three scores of a question by the teacher, kept from a mean of nine."""

from data_pipeline.teacher.client import TeacherClient
from data_pipeline.teacher.parse import read_score
from data_pipeline.teacher.paths import paths
from data_pipeline.wording.quality import KEEP_FROM, Verdict
from graphwalker.query.query import Query

DIMENSIONS = ("path", "relevance", "coherence")
"""Path completeness, relevance of question and path, coherence (GraphWalker section 2.2)."""


class Judge:
    """Asks for each score by itself, at temperature 0. Thread-safe."""

    def __init__(self, client: TeacherClient) -> None:
        self._client = client

    def verdict(self, text: str, query: Query) -> Verdict:
        """Three scores from 0 to 10, with the scores as the reason where they are too low.

        Raises `Unusable` where the teacher gave no score.
        """
        path, relevance, coherence = (self._score(name, text, query) for name in DIMENSIONS)
        verdict = Verdict((path, relevance, coherence))
        if verdict.kept:
            return verdict
        scores = ", ".join(f"{n} {s:g}" for n, s in zip(DIMENSIONS, verdict.scores, strict=True))
        return Verdict(verdict.scores, (f"scores below {KEEP_FROM:g} in the mean: {scores}",))

    def _score(self, name: str, text: str, query: Query) -> float:
        prompts = self._client.prompts
        dimension = prompts.fill(f"judge_{name}")
        values = {"path": paths(query), "question": text, "dimension": dimension}
        return self._client.request(
            f"score of {name}", prompts.fill("judge", values), read_score, 0.0
        )
