"""Questions of one's own met with a graph: their topic entities and answers, or why not."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from graphwalker.answers.values import value_key
from graphwalker.datasets.own.topics import find_topics, similar_names
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph
from graphwalker.graphs.literals import is_literal, literal_name
from graphwalker.graphs.views.freebase import machine_id
from graphwalker.graphs.views.name_index import NameIndex, index_of
from graphwalker.question import Answer, Question

MOST = 8
"""Candidates that are named for a question."""
MOST_PARTS = 5
"""Parts of a name that was divided at its commas or bars."""
LOOKED_AT = 200
"""Values of one relation of a topic entity among which an answer is looked for."""
_VALUE = re.compile(r"[-+]?[\d.,:/-]*\d[\d.,:/TZ%-]*|true|false|yes|no", re.IGNORECASE)
"""A number, a date or a truth value: an answer that need be no entity."""


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A question that the graph does not settle: what is wrong, and which entities it may mean."""

    question: Question
    problems: tuple[str, ...]
    candidates: tuple[Entity, ...]

    def to_json(self, graph: KnowledgeGraph) -> dict[str, Any]:
        """Return the record that people edit: `topic` and `answer` may be set in it."""
        question = self.question
        return {
            "id": question.id,
            "question": question.text,
            "topic": [entity.id or entity.name for entity in question.topic_entities],
            "answer": [answer.name for answer in question.answers],
            "problem": "; ".join(self.problems),
            "candidates": [describe(graph, entity) for entity in self.candidates],
        }


class Resolver:
    """Finds what questions name in a graph; several entities of one name are no finding."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self._graph = graph
        self._index: NameIndex | None = None

    def resolve(self, question: Question) -> Question | Unresolved:
        """Return the question with the ids of its topic entities and of the answers that are
        entities, or what stands in the way. Raises `GraphError`."""
        problems: list[str] = []
        candidates: list[Entity] = []
        topics = self._topics(question, problems, candidates)
        known = {answer.name: answer for answer in question.answers}
        names = self._whole(list(known))
        answers = [
            self._answer(known.get(name, Answer(name)), topics, problems, candidates)
            for name in names
        ]
        if problems:
            found = tuple(dict.fromkeys(candidates))[:MOST]
            return Unresolved(question, tuple(dict.fromkeys(problems)), found)
        return replace(question, topic_entities=tuple(topics), answers=tuple(answers))

    def _topics(
        self, question: Question, problems: list[str], candidates: list[Entity]
    ) -> list[Entity]:
        given = self._whole([entity.id or entity.name for entity in question.topic_entities])
        names = given or [entity.name for entity in find_topics(self._graph, question.text)]
        if not names:
            problems.append("the question names no entity of the graph")
            candidates += self._named(similar_names(question.text, self._names()))
        topics: list[Entity] = []
        for name in names:
            found = self._find(name)
            if len(found) == 1:
                topics.append(found[0])
            elif found:
                problems.append(f"{len(found)} entities are named {name!r}")
                candidates += found
            else:
                problems.append(f"no entity is named {name!r}")
                candidates += self._similar(name)
        return topics

    def _answer(
        self,
        answer: Answer,
        topics: Iterable[Entity],
        problems: list[str],
        candidates: list[Entity],
    ) -> Answer:
        found = self._find(answer.name)
        if len(found) == 1:
            return Answer(found[0].name, found[0].id)
        if not found and not (_VALUE.fullmatch(answer.name) or value_key(answer.name)):
            values = (value for topic in topics for value in self._values(topic))
            if answer.name.casefold() not in map(str.casefold, values):
                several = " (write | between several answers)" * (";" in answer.name)
                problems.append(f"no entity or value is the answer {answer.name!r}{several}")
                candidates += self._similar(answer.name)
        return answer

    def _whole(self, names: Sequence[str]) -> list[str]:
        """Join the names that the graph has with a bar between them: a table divides at bars."""
        joined = join_parts(names, lambda name: bool(self._find(name)), "|", " | ")
        return [name for name, _ in joined]

    def _find(self, text: str) -> list[Entity]:
        """Return the entities of that name, or the one of that id."""
        graph, entity_id = self._graph, machine_id(text)
        if found := graph.resolve(text):
            return [entity for entity in found if entity.id == text] or found
        is_known = graph.name(entity_id) or any(graph.relations(entity_id, d) for d in Direction)
        return [Entity(entity_id, graph.name(entity_id) or entity_id)] if is_known else []

    def _values(self, topic: Entity) -> Iterable[str]:
        """Yield the values one step from a topic entity."""
        for relation, _ in self._graph.relations(topic.id, Direction.OUT):
            ends = self._graph.neighbors(topic.id, relation, Direction.OUT, LOOKED_AT)
            yield from (literal_name(end.id) for end in ends if is_literal(end.id))

    def _names(self) -> NameIndex:
        self._index = self._index or index_of(self._graph)
        return self._index

    def _similar(self, name: str) -> list[Entity]:
        return [hit.entity for hit in self._names().search(name, 3)]

    def _named(self, names: Iterable[str]) -> list[Entity]:
        return [entity for name in names for entity in self._graph.resolve(name)]


def describe(graph: KnowledgeGraph, entity: Entity) -> dict[str, str]:
    """Return an entity as a list shows it: its id, name and first type."""
    return {"id": entity.id, "name": entity.name, "kind": next(iter(graph.types(entity.id)), "")}


def join_parts(
    names: Sequence[str], is_known: Callable[[str], bool], *marks: str
) -> Iterator[tuple[str, int]]:
    """Yield each name and the number of its parts. Names in a row are parts of one where that is
    known, with a mark between them, and not all of them are known.

    >>> list(join_parts(["Oslo", "AC", "DC"], {"Oslo", "AC|DC"}.__contains__, "|"))
    [('Oslo', 1), ('AC|DC', 2)]
    """
    at = 0
    while at < len(names):
        some = names[at : at + MOST_PARTS]
        runs = [run for n in range(2, len(some) + 1) if not all(map(is_known, run := some[:n]))]
        wholes = ((mark.join(run), len(run)) for run in runs for mark in marks)
        name, parts = next((one for one in wholes if is_known(one[0])), (names[at], 1))
        yield name, parts
        at += parts
