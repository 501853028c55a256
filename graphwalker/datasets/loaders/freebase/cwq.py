"""CWQ (Talmor and Berant, 2018) as released, with topic entities, or with answer MIDs."""

from typing import Annotated

from graphwalker.datasets import records
from graphwalker.datasets.answers import distinct, freebase_id, named_answer
from graphwalker.datasets.loaders.freebase.freebase import Topics, sparql_topics, topics
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer, Question


class _Given(records.Nested):
    answer: records.MaybeText = ""
    answer_id: records.MaybeText = ""
    aliases: records.MaybeTexts = []


_One = Annotated[
    Annotated[records.Text, records.AsText] | Annotated[_Given, records.AsObject],
    records.by_shape("a text or an object"),
]
_Several = Annotated[
    Annotated[records.Text, records.AsText] | Annotated[list[_One], records.AsList],
    records.by_shape("a list"),
]


class Cwq(records.Published):
    """A record without topic entities: they are the MIDs of the query, without names."""

    form = "CWQ"
    datasets = ("cwq",)
    lacks = frozenset({"topic_entity"})

    ID: records.Key
    question: records.Text
    sparql: records.Text
    compositionality_type: records.Text
    webqsp_ID: records.MaybeText = ""
    answers: Annotated[_Several | None, records.ByColumn] = records.published_as(
        "answers", "answer", default=None
    )
    """A name, several names, MIDs, or the release's own `{answer, answer_id, aliases}`."""

    def to_question(self, number: int, file: records.DatasetFile) -> Question:
        if self.answers is None and not file.answers_elsewhere:
            raise UserError("has no field 'answers' or 'answer'")
        given = [self.answers] if isinstance(self.answers, str) else self.answers or []
        answers = distinct(map(_answer, given))
        return Question(
            id=self.ID,
            text=self.question,
            topic_entities=self.topics(answers),
            answers=answers,
            structure=self.compositionality_type,
            annotations={"sparql": self.sparql, "webqsp_id": self.webqsp_ID},
        )

    def topics(self, answers: tuple[Answer, ...]) -> tuple[Entity, ...]:
        return sparql_topics(self.sparql, frozenset(a.id for a in answers if a.id))


class CwqLinked(Cwq):
    """A record with `topic_entity`; ToG found none for some questions."""

    form = "CWQ with topic entities"
    lacks = frozenset[str]()

    topic_entity: Topics

    def topics(self, answers: tuple[Answer, ...]) -> tuple[Entity, ...]:
        return topics(self.topic_entity)


def _answer(given: str | _Given) -> Answer:
    if isinstance(given, str):
        mid = freebase_id(given)
        return Answer("", mid) if mid else named_answer(given)
    mid = freebase_id(given.answer_id)
    if mid:
        return Answer(given.answer, mid, tuple(given.aliases))
    if not (given.answer or given.answer_id):
        raise UserError("has an answer without a name or an id")
    found = named_answer(given.answer or given.answer_id)
    return Answer(found.name, found.id, (*found.aliases, *given.aliases))
