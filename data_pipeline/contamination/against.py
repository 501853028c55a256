"""Test files that a corpus must not hold questions of, while the corpus is made."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from data_pipeline.contamination.config import ContaminationConfig
from data_pipeline.contamination.embed import Embedder, NgramIndex, normal
from data_pipeline.contamination.facts import Inverse, KnownFacts, as_question
from graphwalker.datasets.base import Reading, load_dataset
from graphwalker.datasets.grounding import ground_known
from graphwalker.errors import UserError
from graphwalker.files import digest
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.question import Question

FACT, SAME = "same_fact", "same_words"
WORDS, EMBEDDING = "near_copy_by_words", "near_copy_by_embedding"


class TestFiles:
    """Questions that must not be trained on, and what comes too close to them.

    The measures are tried in the order of their cost; the first that fires is the kind.
    """

    __test__ = False
    stage = "contamination"

    def __init__(
        self,
        files: Sequence[Path],
        config: ContaminationConfig,
        inverse: Inverse,
        graph: KnowledgeGraph,
    ) -> None:
        """Raise `UserError` for a file that cannot be read, by name and record."""
        self._facts = KnownFacts(inverse)
        self._graph = graph
        self._names: list[str] = []
        self._texts: list[str] = []
        self.facts = {"against": {str(path): digest(path) for path in files}}
        """What distinguishes one such set of files from another."""
        self._counts: dict[str, dict[str, int]] = {}
        for path in files:
            self._add(path, config.facts)
        same = {normal(text): n for n, text in reversed(list(enumerate(self._texts)))}
        words = NgramIndex(self._texts)
        self._by_text: dict[str, Callable[[str], int]] = {
            SAME: lambda text: same.get(normal(text), -1),
            WORDS: lambda text: words.nearest(text, config.words)[1],
        }
        if config.embedding:
            self._by_text[EMBEDDING] = partial(self._nearest_by_embedding, config.threshold)
            self._embedding = config.embedding
        self._kinds = (*((FACT,) if config.facts else ()), *self._by_text)

    def holds(self, record: Mapping[str, Any]) -> tuple[str, str]:
        """(kind, test question) of what a walk or a question comes too close to; both empty where
        there is none."""
        if FACT in self._kinds and (near := self._facts.find(as_question(record))):
            return FACT, near
        text = str(record.get("question", ""))
        for kind, nearest in self._by_text.items() if text else ():  # a bare walk has no words yet
            if (number := nearest(text)) >= 0:
                return kind, self._names[number]
        return "", ""

    def card(self, dropped: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Return what the data card says of it: the files, and how many candidates were replaced,
        by kind."""
        reasons = Counter(row["reason"] for row in dropped if row["stage"] == self.stage)
        replaced = {kind: reasons[kind] for kind in self._kinds}
        return {"contamination": {"against": self._counts, "replaced": replaced}}

    def _add(self, path: Path, facts: bool) -> None:
        before = self._facts.with_a_path
        questions = _questions(path)
        if not self._graph.is_remote:  # a server would be asked for each name
            questions = ground_known(questions, self._graph)
        for question in questions:
            name = f"{question.id} of {path.name}"
            self._names.append(name)
            self._texts.append(question.text)
            if facts:
                self._facts.add(question, name)
        stated = self._facts.with_a_path - before
        self._counts[path.name] = {"questions": len(questions), "with_a_relation_path": stated}

    def _nearest_by_embedding(self, threshold: float, text: str) -> int:
        embedder, rows = self._vectors
        similar = (embedder.embed([text]) @ rows.T)[0]
        best = int(similar.argmax())
        return best if float(similar[best]) >= threshold else -1

    @cached_property
    def _vectors(self) -> tuple[Embedder, Any]:
        """The embedder, and the test questions as rows: (questions, size)."""
        embedder = Embedder(self._embedding)
        return embedder, embedder.embed(self._texts)


def _questions(path: Path) -> list[Question]:
    try:
        return load_dataset(path, Reading(unanswered="keep")).questions
    except UserError as error:
        raise UserError(f"against: {error}") from None
