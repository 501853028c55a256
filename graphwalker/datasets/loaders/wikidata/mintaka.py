"""Mintaka (Sen et al., 2022): questions that people thought up, linked to Wikidata."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import BeforeValidator

from graphwalker.datasets import records
from graphwalker.datasets.answers import distinct, literal, wikidata_id, yes_no
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer, Question


class _Entity(records.Nested):
    name: Annotated[records.AnyText, BeforeValidator(records.number_as_text)]
    """The id of an item; a number or a date where the entity is a value."""
    label: dict[str, records.MaybeText] | records.MaybeText = ""

    def text(self) -> str:
        """Return the label, in English where there are several."""
        return self.label if isinstance(self.label, str) else self.label.get("en", "")


class _Answer(records.Nested):
    kind: records.Text = records.published_as("answerType")
    answer: Annotated[list[_Entity | bool | int | float | str], records.null_is(list)] = []

    def answers(self) -> Iterator[Answer]:
        for value in self.answer:
            if isinstance(value, _Entity):
                yield Answer(value.text() or value.name, value.name)
            elif isinstance(value, bool):
                yield yes_no(value)
            else:
                yield literal(str(value))


class Mintaka(records.Published):
    """`question`, `questionEntity` and `answer` with its `answerType`; English alone is read."""

    form = "Mintaka"
    datasets = ("mintaka",)

    id: records.Key
    question: records.Text
    entities: list[_Entity] = records.published_as("questionEntity")
    answer: _Answer
    category: records.MaybeText = ""
    kind: records.Text = records.published_as("complexityType")

    def to_question(self, number: int, file: records.DatasetFile) -> Question:
        items = [one for one in self.entities if wikidata_id(one.name)]
        return Question(
            id=self.id,
            text=self.question,
            topic_entities=tuple(Entity(one.name, one.text()) for one in items),
            answers=distinct(self.answer.answers()),
            structure=self.kind,
            facets={"category": self.category} if self.category else {},
        )
