"""A corpus read as a stranger reads it: each question by models that saw the other parts alone."""

import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from data_pipeline.reading.config import ReaderConfig
from data_pipeline.reading.detector import Detector, MeasureRows
from data_pipeline.reading.faults import Faults
from data_pipeline.reading.fluency import NAME, TOKEN, words_of
from data_pipeline.reading.labels import agreement
from data_pipeline.reading.measures import MEASURES, Model, Walked, names_its_topics
from data_pipeline.wording.composition.questions import ProgrammaticTeacher
from data_pipeline.wording.lexicon import Lexicon
from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, KnowledgeGraph
from graphwalker.query.query import Hop
from graphwalker.question import Question, worded
from graphwalker.ranking.learned.examples import examples
from graphwalker.tools.listing import Lister

FEWEST = 100
"""Questions below which nothing can be learned from the others."""
UNNAMED = "a topic entity is not named"
WordsWithRelations = tuple[list[str], tuple[str, ...]]
"""Words, and the relations that they speak of."""
Tick = Callable[[int, int], None]


@dataclass(frozen=True)
class ReadingSource:
    """Where questions come from: what is listed on the way, and how relations are worded."""

    graph: KnowledgeGraph
    listed: Lister
    lexicon: Lexicon

    def walked(self, question: Question) -> Walked:
        query, _ = worded(question)
        more = query.constraint.relations if query.constraint else ()
        found = examples(question, self.graph, lambda entity: self.listed(entity).relations)
        return Walked((*query.hop_relations, *more), tuple(look for look in found if look))

    def phrases(self) -> list[WordsWithRelations]:
        """Every wording of every relation, with the relation."""
        found: list[WordsWithRelations] = []
        for relation in self.graph.relation_ids():
            for hop in (Hop(relation, direction) for direction in Direction):
                entry = self.lexicon.entry(hop)
                phrases = (p.text for p in (*entry.phrases, *entry.clauses))
                for text in (*phrases, *entry.questions):
                    words = re.findall(TOKEN, text.lower().replace("{x}", NAME))
                    found.append((words, (relation,)))
        return found


@dataclass(frozen=True, slots=True)
class Planted:
    """Planted faults of one kind: their measures, and the part that each question is of."""

    rows: MeasureRows
    folds: MeasureRows
    unnamed: MeasureRows
    """(faults,): whether a topic entity is not named, which needs no measure."""


class CorpusReader:
    """Reads one corpus. What is learned for a part is learned from the others."""

    def __init__(
        self,
        questions: Sequence[Question],
        source: ReadingSource,
        config: ReaderConfig,
        seed: int = 0,
        tick: Tick = lambda done, total: None,
    ) -> None:
        """Raises `UserError` for too few questions, or for one without a query and its wording."""
        if len(questions) < FEWEST:
            raise UserError(
                f"a reader learns from the other questions: {len(questions)} are too few, it needs "
                f"{FEWEST} (reader=false reads none)"
            )
        self.questions, self._source, self._config, self._seed = questions, source, config, seed
        self.folds = {q.id: fold_of(q.id, config.folds) for q in questions}
        self._walked = {q.id: source.walked(q) for q in questions}
        self.models = self._learned()
        rows: list[MeasureRows] = []
        for done, question in enumerate(questions, start=1):
            rows.append(self._measure(question, question))
            tick(done, len(questions))
        self._rows = np.array(rows)
        self.planted = self._plant()
        self._detectors = [self._fit(fold) for fold in range(config.folds)]

    def rejected(self) -> dict[str, str]:
        """The questions that are taken for faults, by id, each with the measure that says so
        most."""
        found: dict[str, str] = {}
        for question, row in zip(self.questions, self._rows, strict=True):
            detector = self._detectors[self.folds[question.id]]
            if not names_its_topics(question):
                found[question.id] = UNNAMED
            elif detector.finds(row[None])[0]:
                found[question.id] = MEASURES[detector.worst(row)]
        return found

    def caught(self) -> dict[str, float]:
        """The share of the planted faults of each kind that is found, each by a detector that has
        not seen its part."""
        shares: dict[str, float] = {}
        for kind, planted in self.planted.items():
            found = planted.unnamed.astype(bool)
            for fold, detector in enumerate(self._detectors):
                mine = planted.folds == fold
                found[mine] |= detector.finds(planted.rows[mine])
            shares[kind] = round(float(found.mean()), 4)
        return shares

    def verdict(self, question: Question) -> tuple[str, float]:
        """What is wrong with a question from elsewhere (`""` where nothing is), and how much it
        looks like a fault."""
        fold = fold_of(question.id, self._config.folds)
        row = self.models[fold].measure(question, self._source.walked(question))
        detector = self._detectors[fold]
        score = float(detector.scores(row[None])[0])
        if not names_its_topics(question):
            return UNNAMED, score
        return (MEASURES[detector.worst(row)] if score > detector.threshold else ""), score

    def card(self, labels: Mapping[str, str] = {}) -> dict[str, Any]:
        """What the data card says of the reader; `labels` are people's, by text."""
        rejected, caught = self.rejected(), self.caught()
        about: dict[str, Any] = {
            "questions": len(self.questions),
            "dropped": len(rejected),
            "share_dropped": round(len(rejected) / len(self.questions), 4),
            "planted_of_each": {kind: len(p.rows) for kind, p in self.planted.items()},
            "caught": caught,
            "caught_overall": round(sum(caught.values()) / len(caught), 4),
            "by_measure": dict(sorted(Counter(rejected.values()).items())),
        }
        if labels:
            kept = {q.text: q.id not in rejected for q in self.questions}
            about["labels"] = agreement(kept, labels)
        return {"reader": about}

    def _learned(self) -> list[Model]:
        phrases = self._source.phrases()
        texts = {q.id: (words_of(q), self._walked[q.id].relations) for q in self.questions}
        return [
            Model.of(
                [*(text for name, text in texts.items() if self.folds[name] != fold), *phrases],
                len(phrases),
            )
            for fold in range(self._config.folds)
        ]

    def _measure(self, question: Question, original: Question) -> MeasureRows:
        """`question` may be a spoiled form of `original`: what it should ask is the same."""
        model = self.models[self.folds[original.id]]
        return model.measure(question, self._walked[original.id])

    def _plant(self) -> dict[str, Planted]:
        source = self._source
        teacher = ProgrammaticTeacher(source.lexicon, 0.0)
        faults = Faults(source.graph, source.listed, teacher, self.questions)
        found: dict[str, Planted] = {}
        for kind in faults.kinds:
            rng = random.Random(f"{self._seed}/{kind}")
            pairs = list(faults.plant(kind, self._config.planted, rng))
            if not pairs:
                continue
            found[kind] = Planted(
                np.array([self._measure(spoiled, original) for original, spoiled in pairs]),
                np.array([self.folds[original.id] for original, _ in pairs]),
                np.array([not names_its_topics(spoiled) for _, spoiled in pairs]),
            )
        return found

    def _fit(self, fold: int) -> Detector:
        """The detector of a part, from the others' questions and planted faults."""
        others = np.array([self.folds[question.id] != fold for question in self.questions])
        bad = [p.rows[(p.folds != fold) & np.logical_not(p.unnamed)] for p in self.planted.values()]
        return Detector.fit(self._rows[others], np.vstack(bad), self._config.lose)


def fold_of(question_id: str, folds: int) -> int:
    """The part of a corpus that a question belongs to."""
    return int.from_bytes(blake2b(question_id.encode(), digest_size=8).digest()) % folds
