"""Test files that a corpus must not hold questions of, while the corpus is made."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from data_pipeline.contamination.config import ContaminationConfig
from data_pipeline.contamination.embed import (
    Embedder,
    NgramIndex,
    letter_grams,
    normal,
    open_embedder,
)
from data_pipeline.contamination.facts import Inverse, KnownFacts, as_question
from graphwalker.datasets.base import Reading, load_dataset
from graphwalker.errors import UserError
from graphwalker.files import digest
from graphwalker.question import Question

FACT, SAME, WORDS, LETTERS, EMBEDDING = KINDS = (
    "same_fact",
    "same_words",
    "near_copy_by_words",
    "near_copy_by_letters",
    "near_copy_by_embedding",
)


class TestFiles:
    """Questions that must not be trained on, and what comes too close to them.

    The measures are tried in the order of their cost; the first that fires is the kind.
    """

    __test__ = False
    stage = "contamination"

    def __init__(
        self, files: Sequence[Path], config: ContaminationConfig, inverse: Inverse
    ) -> None:
        """Raises `UserError` for a file that cannot be read, by name and record."""
        self._config, self._facts = config, KnownFacts(inverse)
        self._names: list[str] = []
        self._texts: list[str] = []
        self.facts = {"against": {str(path): digest(path) for path in files}}
        """What distinguishes one such set of files from another."""
        self._counts: dict[str, dict[str, int]] = {}
        for path in files:
            self._add(path)
        self._same = {normal(text): n for n, text in reversed(list(enumerate(self._texts)))}
        self._words = NgramIndex(self._texts)
        self._letters = NgramIndex(self._texts, letter_grams)

    def holds(self, record: Mapping[str, Any]) -> tuple[str, str]:
        """(kind, test question) of what a walk or a question comes too close to; both empty where
        there is none."""
        kinds = self.kinds(record, first=True)
        return next(iter(kinds.items()), ("", ""))

    def kinds(self, record: Mapping[str, Any], first: bool = False) -> dict[str, str]:
        """Every measure that fires, with the test question that it found; `first`: one alone."""
        found: dict[str, str] = {}
        for kind in KINDS:
            if near := self._near(kind, record):
                found[kind] = near
                if first:
                    break
        return found

    def card(self, dropped: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """What the data card says of it: the files, and how many candidates were replaced, by
        kind."""
        reasons = Counter(row["reason"] for row in dropped if row["stage"] == self.stage)
        replaced = {kind: reasons[kind] for kind in KINDS if kind in self._kinds_used}
        return {"contamination": {"against": self._counts, "replaced": replaced}}

    @property
    def _kinds_used(self) -> tuple[str, ...]:
        unused = [
            *([] if self._config.facts else [FACT]),
            *([] if self._config.embedding else [EMBEDDING]),
        ]
        return tuple(kind for kind in KINDS if kind not in unused)

    def _add(self, path: Path) -> None:
        before = self._facts.with_a_path
        questions = _questions(path)
        for question in questions:
            name = f"{question.id} of {path.name}"
            self._names.append(name)
            self._texts.append(question.text)
            if self._config.facts:
                self._facts.add(question, name)
        stated = self._facts.with_a_path - before
        self._counts[path.name] = {"questions": len(questions), "with_a_relation_path": stated}

    def _near(self, kind: str, record: Mapping[str, Any]) -> str:
        if kind == FACT:
            return self._facts.find(as_question(record)) if self._config.facts else ""
        text = str(record.get("question", ""))
        if not text or kind not in self._kinds_used:  # a bare walk has no words yet
            return ""
        if kind == SAME:
            number = self._same.get(normal(text), -1)
        elif kind == EMBEDDING:
            number = self._embedded(text)
        else:
            index = self._words if kind == WORDS else self._letters
            share = self._config.words if kind == WORDS else self._config.letters
            number = index.nearest(text, share)[1]
        return self._names[number] if number >= 0 else ""

    def _embedded(self, text: str) -> int:
        embedder, rows = self._vectors
        similar = (embedder.embed([text]) @ rows.T)[0]
        best = int(similar.argmax())
        return best if float(similar[best]) >= self._config.threshold else -1

    @cached_property
    def _vectors(self) -> tuple[Embedder, Any]:
        """The embedder, and the test questions as rows: (questions, size)."""
        embedder = open_embedder(self._config.embedding)
        embedder.fit(self._texts)
        return embedder, embedder.embed(self._texts)


def _questions(path: Path) -> list[Question]:
    try:
        return load_dataset(path, Reading(unanswered="keep")).questions
    except UserError as error:
        raise UserError(f"against: {error}") from None
