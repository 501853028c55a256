"""Questions of one's own: `question`, and where they are known `answer` and `topic`."""

from typing import Annotated, Any, cast

from pydantic import BeforeValidator

from graphwalker.datasets import records
from graphwalker.datasets.files import TABLE, Contents
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer, Question

OWN = "own"
FIELDS = frozenset({"id", "question", "answer", "answers", "topic", "topics", "topic_entity"})
"""Fields that are read; a JSON record with others is of another form."""
NOTES = frozenset({"problem", "candidates"})
"""What a file of unresolved questions says besides."""
SEPARATOR = "|"


def _parts(value: Any) -> Any:
    """Return the texts of a field: of a list, or of a text with bars between them.

    >>> _parts("Oslo | Rome"), _parts(1961), _parts(["A|B"]), _parts(None)
    (['Oslo', 'Rome'], ['1961'], ['A|B'], [])
    """
    if value is None:
        return []
    if isinstance(value, str):
        return [part.strip() for part in value.split(SEPARATOR) if part.strip()]
    if isinstance(value, bool):
        return [str(value).lower()]
    if isinstance(value, int | float):
        return [str(value)]
    if isinstance(value, list):
        return [records.number_as_text(item) for item in cast("list[object]", value)]
    return value


_Parts = Annotated[list[records.Text], BeforeValidator(_parts)]


class OwnQuestion(records.Published):
    """The form that is taken where no published one fits."""

    form = "questions of your own"
    datasets = (OWN,)
    wrappers = ("", TABLE, "questions")

    question: records.Text
    id: records.Key | None = None
    answer: _Parts = records.published_as("answer", "answers", default=[])
    topic: _Parts = records.published_as("topic", "topics", "topic_entity", default=[])

    @classmethod
    def misses(cls, contents: Contents) -> list[str] | None:
        others = records.keys(contents.head) - FIELDS - NOTES
        return None if others and contents.wrapper != TABLE else super().misses(contents)

    def to_question(self, number: int, file: records.DatasetFile) -> Question:
        return Question(
            id=self.id or file.question_id(number),
            text=self.question,
            topic_entities=tuple(Entity("", name) for name in self.topic),
            answers=tuple(Answer(text) for text in dict.fromkeys(self.answer)),
        )
