"""Training a ranker: questions of several files to one folder's content, folds included."""

import hashlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph
from graphwalker.query.query import Hop, Query, execute
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker
from graphwalker.ranking.learned.model import BITS, DENSE, Trainer, Weights
from graphwalker.ranking.learned.ranker import (
    About,
    KnownQuestions,
    LearnedRanker,
    TrainingFile,
    question_key,
)
from graphwalker.ranking.words import mask_entity

RelationsOf = Callable[[str], tuple[str, ...]]
"""The relations that the environment lists of an entity, by its id."""


@dataclass(frozen=True, slots=True)
class Example:
    """One look at a listing."""

    question: str
    entity: str
    relations: tuple[str, ...]
    gold: tuple[str, ...]
    """Listed relations that lead on, the true one first; the others say the same."""
    wording: str
    """How the question says this hop: what a fold holds out."""
    phrased: bool
    """Whether `wording` is the hop's own phrase, not the whole question."""
    entities: tuple[str, ...]
    """Every entity at which the question takes this hop, `entity` included."""

    def fold(self, folds: int, seed: int, whole_relations: float = 0.0) -> int:
        """Return the fold that holds out this way of saying it; of that share of the relations,
        every way in which a phrase says them."""
        relation = f"{seed} relation {self.gold[0]}"
        if self.phrased and _hash_text(relation) < whole_relations * 2**64:
            return _hash_text(f"{relation} fold") % folds
        return _hash_text(f"{seed} {self.wording}") % folds


def _hash_text(text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"))
    return int.from_bytes(digest.digest()[:8], "little")


@dataclass(frozen=True, slots=True)
class _Hop:
    """A hop of a question: where it is taken, and what leads on."""

    entities: tuple[Entity, ...]
    gold: tuple[str, ...]
    wording: str


def has_path(question: Question) -> bool:
    """Return whether the question says which relations lead to its answers."""
    return question.query is not None or bool(_path(question))


def examples(
    question: Question, graph: KnowledgeGraph, listed: RelationsOf
) -> Iterator[Example | None]:
    """Return an example of each hop, at the first entity that lists it; `None` where none does.

    The hops are those of its query; without one, those of `relation_path` in its record.
    """
    hops = _of_query(question, graph) if question.query else _of_path(question, graph)
    for hop in hops:
        yield _example(question, hop, listed)


def _example(question: Question, hop: _Hop, listed: RelationsOf) -> Example | None:
    for entity in hop.entities:
        relations = listed(entity.id)
        if hop.gold[0] in relations:
            return Example(
                question.text,
                entity.name,
                relations,
                tuple(relation for relation in hop.gold if relation in relations),
                hop.wording or " ".join(mask_entity(question.text, entity.name)[0]),
                bool(hop.wording),
                tuple(dict.fromkeys(other.name for other in hop.entities)),
            )
    return None


def _of_query(question: Question, graph: KnowledgeGraph) -> Iterator[_Hop]:
    query = cast(Query, question.query)
    done, wording = execute(graph, query), question.wording
    for b, branch in enumerate(query.branches):
        for k, hop in enumerate(branch.hops):
            phrase = wording.phrases[b][k] if wording else ""
            readings = wording.readings[b][k] if wording else ()
            yield _Hop(done.frontiers[b][k], _same(hop, readings), phrase)
    for k, hop in enumerate(query.tail):
        phrase = wording.tail_phrases[k] if wording else ""
        readings = wording.tail_readings[k] if wording and wording.tail_readings else ()
        yield _Hop(done.tail_frontiers[k], _same(hop, readings), phrase)
    if query.constraint and query.constraint.relations:
        before = execute(graph, replace(query, constraint=None)).answers
        phrase = wording.constraint if wording else ""
        yield _Hop(before, query.constraint.relations, phrase)


def _same(hop: Hop, readings: Sequence[Hop]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([hop.relation, *(reading.relation for reading in readings)]))


def _of_path(question: Question, graph: KnowledgeGraph) -> Iterator[_Hop]:
    frontier = tuple(entity for entity in question.topic_entities if entity.id)[:1]
    for relation in _path(question):
        yield _Hop(frontier, (relation,), "")
        found: dict[str, Entity] = {}
        for entity in frontier:
            for direction in Direction:
                found.update((e.id, e) for e in graph.step(entity.id, relation, direction))
        frontier = tuple(found.values())


def _path(question: Question) -> list[str]:
    path: Any = question.annotations.get("relation_path")
    return [str(relation).removeprefix("~") for relation in path or ()]


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
    """Train a ranker, not yet written. Raises `UserError` for a file without usable questions."""
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
    return LearnedRanker(about, weights, _known_questions([e for e, _ in found], about))


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


def _known_questions(found: Sequence[Example], about: About) -> KnownQuestions:
    """Keep the first example of a question where two of them meet."""
    known: dict[int, int] = {}
    for example in found:
        fold = _fold(example, about)
        for entity in (*example.entities, ""):
            known.setdefault(question_key(example.question, entity), fold)
    return KnownQuestions.of(known)


FIRST = (1, 5, 10, 20)


def first_shares(
    questions: Sequence[Question], graph: KnowledgeGraph, listed: RelationsOf, rank: Ranker
) -> dict[str, Any]:
    """Return the share of hops whose relation is among the first 1, 5, 10, 20 at the entity that it
    is taken from; a hop that no listing holds counts as missed. `questions` are those that say
    their relations."""
    places: list[int] = []
    used = 0
    for question in questions:
        if not has_path(question):
            continue
        used += 1
        for example in examples(question, graph, listed):
            if example is None:
                places.append(-1)
                continue
            order = list(rank(example.question, example.entity, example.relations))
            places.append(order.index(example.gold[0]))
    shares = {
        f"first_{k}": round(sum(0 <= place < k for place in places) / max(1, len(places)), 4)
        for k in FIRST
    }
    return {"questions": used, "hops": len(places), "unlisted": places.count(-1), **shares}
