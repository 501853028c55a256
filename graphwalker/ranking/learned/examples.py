"""Examples for the ranker: at this entity, for this question, these relations lead on."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph
from graphwalker.query.query import Hop, Query, execute
from graphwalker.question import Question
from graphwalker.ranking.words import masked

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
        """The fold that holds out this way of saying it; of that share of the relations, every way
        in which a phrase says them."""
        relation = f"{seed} relation {self.gold[0]}"
        if self.phrased and _drawn(relation) < whole_relations * 2**64:
            return _drawn(f"{relation} fold") % folds
        return _drawn(f"{seed} {self.wording}") % folds


def _drawn(text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"))
    return int.from_bytes(digest.digest()[:8], "little")


@dataclass(frozen=True, slots=True)
class _Hop:
    """A hop of a question: where it is taken, and what leads on."""

    entities: tuple[Entity, ...]
    gold: tuple[str, ...]
    wording: str


def has_path(question: Question) -> bool:
    """Whether the question says which relations lead to its answers."""
    return question.query is not None or bool(_path(question))


def examples(
    question: Question, graph: KnowledgeGraph, listed: RelationsOf
) -> Iterator[Example | None]:
    """One of each hop of the question, at the first entity that lists it; `None` where none does.

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
                hop.wording or " ".join(masked(question.text, entity.name)[0]),
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
