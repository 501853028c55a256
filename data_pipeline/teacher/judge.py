"""The judge: three scores of a question beside its resolved path, by whichever model."""

import random
import re
from collections.abc import Sequence

from data_pipeline.teacher.client import TeacherClient, Unusable
from data_pipeline.teacher.parse import Unreadable, read_scores, read_text
from data_pipeline.teacher.paths import resolved_paths
from data_pipeline.teacher.prompts import Prompts
from data_pipeline.teacher.readings import Doubt
from data_pipeline.wording.quality import KEEP_FROM, Verdict
from graphwalker.query.query import Execution, Hop, Query
from graphwalker.tokens.reasoning import without_reasoning

DIMENSIONS = ("path", "relevance", "coherence")
"""Path completeness, relevance of question and path, coherence (GraphWalker section 2.2)."""
UNSCORED = "unscored"
"""Reason of a question that waits: the judge gave no score for it, and none is invented."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LETTERS = re.compile(r"\W*[A-Z](?:(?:,| and|,? or) [A-Z]\b)*(?=[\s:.,)*]*$|[:.)])")
"""An answer of letters alone, or with what stands behind them in the list."""


class Judge:
    """A chat model that gives all three scores in one answer, at temperature 0; a score that is
    missing there is asked for by itself. Thread-safe. Raises `Unusable` where it gives no score."""

    def __init__(self, client: TeacherClient, keep_from: float = KEEP_FROM) -> None:
        self._client, self._keep_from = client, keep_from

    def verdict(self, text: str, query: Query, run: Execution) -> Verdict:
        """Three scores from 0 to 10 of the question beside its path with the entities of `run`,
        with the scores as the reason where they are too low."""
        path = resolved_paths(query, run)
        scores: dict[str, float] = {}
        self._ask(text, path, DIMENSIONS, scores)
        for name in DIMENSIONS:
            if name not in scores:  # a filter that refuses the whole may pass its parts
                self._ask(text, path, (name,), scores, counts=False)
        if len(scores) < len(DIMENSIONS):
            raise Unusable(UNSCORED)
        kept = (scores["path"], scores["relevance"], scores["coherence"])
        verdict = Verdict(kept, keep_from=self._keep_from)
        if verdict.kept:
            return verdict
        given = ", ".join(f"{name} {scores[name]:g}" for name in DIMENSIONS)
        reason = f"scores below {self._keep_from:g} in the mean: {given}"
        return Verdict(verdict.scores, (reason,), self._keep_from)

    def means(self, text: str, doubt: Doubt) -> bool:
        """Return whether the question means the doubt's own hop, and none of its rivals as well."""
        hops, prompt = reading_prompt(self._client.prompts, text, doubt)

        def read(answer: str) -> set[str]:
            bare = _LETTERS.match(without_reasoning(answer))
            text = bare[0] if bare else read_text(answer, "reading")
            letters = set(re.findall(r"\b[A-Z]\b", text))
            if not letters or not letters <= set(LETTERS[: len(hops)]):
                raise Unreadable("its <reading> holds no letters of that list")
            return letters

        try:
            letters = self._client.request("reading", prompt, read, 0.0, fields=("reading",))
        except Unusable:
            raise Unusable(UNSCORED) from None
        return letters == {LETTERS[hops.index(doubt.hop)]}

    def _ask(
        self,
        text: str,
        path: str,
        names: Sequence[str],
        scores: dict[str, float],
        counts: bool = True,
    ) -> None:
        """Add those of the scores that the model gives."""

        def read(answer: str) -> None:
            scores.update(read_scores(answer, names))
            missing = [name for name in names if name not in scores]
            if missing:
                raise Unreadable(f"it holds no score from 0 to 10 in <{missing[0]}>")

        try:
            prompt = score_prompt(self._client.prompts, text, path, names)
            self._client.request("score", prompt, read, 0.0, counts=counts, fields=names)
        except Unusable:
            return  # what is missing is asked for again, or the question waits


def score_prompt(prompts: Prompts, text: str, path: str, names: Sequence[str]) -> str:
    """Return the judge's prompt for some of the dimensions."""
    values = {
        "path": path,
        "question": text,
        "points": "\n\n".join(f"<{name}> {prompts.fill(f'judge_{name}')}" for name in names),
        "form": "\n".join(f"<{name}>number</{name}>" for name in names),
    }
    return prompts.fill("judge", values)


def reading_prompt(prompts: Prompts, text: str, doubt: Doubt) -> tuple[list[Hop], str]:
    """Return the relations that a question may mean at one step, in an order that does not tell the
    true one, and the prompt that lists them by letters."""
    hops = sorted((doubt.hop, *doubt.rivals))
    random.Random(text).shuffle(hops)
    options = (
        f"{letter}: {hop.relation}{' (read backwards)' * (hop.direction.value == 'in')}"
        for letter, hop in zip(LETTERS, hops, strict=False)
    )
    values = {
        "question": text,
        "start": doubt.start,
        "end": doubt.end,
        "options": "\n".join(options),
    }
    return hops, prompts.fill("reading", values)
