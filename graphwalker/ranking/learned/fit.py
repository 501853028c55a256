"""Training a ranker: questions of several files to one folder's content, folds included."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from graphwalker.errors import UserError
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.question import Question
from graphwalker.ranking.learned.examples import Example, RelationsOf, examples, has_path
from graphwalker.ranking.learned.features import DENSE
from graphwalker.ranking.learned.known import KnownQuestions, question_key
from graphwalker.ranking.learned.ranker import About, LearnedRanker, TrainingFile
from graphwalker.ranking.learned.weights import BITS, Trainer, Weights

FOLDS = 5
EPOCHS = 4
"""Chosen by cross-validation on WebQSP's training questions: 2 to 8 differ by less than 0.01."""


@dataclass(frozen=True, slots=True)
class QuestionFile:
    """Questions with where they are from, and how much each of their examples counts."""

    file: str
    digest: str
    questions: Sequence[Question]
    weight: float = 1.0


def train_ranker(
    files: Sequence[QuestionFile],
    graph: KnowledgeGraph,
    listed: RelationsOf,
    *,
    folds: int = FOLDS,
    epochs: int = EPOCHS,
    whole_relations: float = 0.0,
    seed: int = 0,
    tick: Callable[[int, int], None] = lambda done, total: None,
) -> LearnedRanker:
    """The ranker, not yet written. Raises `UserError` for a file without any usable question."""
    found: list[tuple[Example, float]] = []
    sources: list[TrainingFile] = []
    for file in files:
        ours, source = _read(file, graph, listed)
        found += [(example, file.weight) for example in ours]
        sources.append(source)
    about = About(
        features=DENSE,
        bits=BITS,
        folds=folds,
        whole_relations=whole_relations,
        seed=seed,
        epochs=epochs,
        graph=graph.checksum,
        sources=tuple(sources),
    )
    weights = _fit(found, about, tick)
    return LearnedRanker(about, weights, _known([e for e, _ in found], about))


def _read(
    file: QuestionFile, graph: KnowledgeGraph, listed: RelationsOf
) -> tuple[list[Example], TrainingFile]:
    usable = [question for question in file.questions if has_path(question)]
    found = [example for question in usable for example in examples(question, graph, listed)]
    kept = [example for example in found if example]
    if not kept:
        why = "names relations that this graph lists" if usable else "has a query or relation_path"
        raise UserError(f"{file.file}: none of its {len(file.questions)} questions {why}")
    return kept, TrainingFile(
        file=file.file,
        digest=file.digest,
        weight=file.weight,
        questions=len(usable),
        examples=len(kept),
        unlisted=len(found) - len(kept),
    )


def _fit(
    found: Sequence[tuple[Example, float]], about: About, tick: Callable[[int, int], None]
) -> Weights:
    trainer = Trainer(about.folds + 1)
    rng, total = random.Random(about.seed), len(found) * about.epochs
    order = list(range(len(found)))
    for epoch in range(about.epochs):
        rng.shuffle(order)
        for k, number in enumerate(order):
            example, weight = found[number]
            seen_by = np.full(about.folds + 1, weight)
            seen_by[_fold(example, about) + 1] = 0.0
            gold = np.array([example.relations.index(relation) for relation in example.gold])
            trainer.step(example.question, example.entity, example.relations, gold, seen_by)
            tick(epoch * len(found) + k + 1, total)
    words = trainer.weights.words.astype(np.float16).astype(np.float32)  # as the file keeps them
    return Weights(words, trainer.weights.dense)


def _fold(example: Example, about: About) -> int:
    return example.fold(about.folds, about.seed, about.whole_relations)


def _known(found: Sequence[Example], about: About) -> KnownQuestions:
    """The first example of a question decides where two of them meet."""
    known: dict[int, int] = {}
    for example in found:
        fold = _fold(example, about)
        for entity in (*example.entities, ""):
            known.setdefault(question_key(example.question, entity), fold)
    return KnownQuestions.of(known)
