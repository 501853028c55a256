"""Questions met with a graph: names for ids, and ids for the names of topic entities."""

from collections.abc import Iterable
from dataclasses import replace

from graphwalker.graphs.base import Entity, KnowledgeGraph
from graphwalker.graphs.literals import is_literal
from graphwalker.question import Answer, Question


def ground(questions: Iterable[Question], graph: KnowledgeGraph) -> list[Question]:
    """Fill in what a dataset lacks and the graph knows; nothing that is given changes.

    A topic entity or an answer that is an id only gets the graph's name; a topic entity that is a
    name only gets the id of the first entity of that name. What the graph does not know stays as
    it is. Raises `GraphError` when the graph fails.
    """
    return [_ground(question, graph) for question in questions]


def _ground(question: Question, graph: KnowledgeGraph) -> Question:
    topics = tuple(_topic(entity, graph) for entity in question.topic_entities)
    answers = tuple(_answer(answer, graph) for answer in question.answers)
    if topics == question.topic_entities and answers == question.answers:
        return question
    return replace(question, topic_entities=topics, answers=answers)


def _topic(entity: Entity, graph: KnowledgeGraph) -> Entity:
    if entity.id:
        return entity if entity.name else Entity(entity.id, graph.name(entity.id))
    found = graph.resolve(entity.name)
    return Entity(found[0].id, entity.name) if found else entity


def _answer(answer: Answer, graph: KnowledgeGraph) -> Answer:
    if answer.name or not answer.id or is_literal(answer.id):
        return answer
    return replace(answer, name=graph.name(answer.id))
