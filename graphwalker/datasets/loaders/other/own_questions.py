"""Questions of one's own: `question`, and where they are known `answer`, `topic` and the relations
between them."""

import ast
import re
from typing import Annotated, Any, cast

from pydantic import BeforeValidator

from graphwalker.datasets import records
from graphwalker.datasets.files import TABLE, Contents
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer, Question

OWN = "own"
ANSWERS = ("answer", "answers")
TOPICS = ("topic", "topics", "topic_entity", "topic_entities")
FIELDS = frozenset({"id", "qid", "question", *ANSWERS, *TOPICS, "relation_path"})
"""Fields that are read; a JSON record with others may be of another form."""
NOTES = frozenset({"problem", "candidates"})
"""What a file of unresolved questions says besides."""
SEPARATOR = "|"
_QUOTED = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_LISTED = re.compile(rf"\[\s*{_QUOTED}(?:[\s,]+{_QUOTED})*[\s,]*\]")


def _parts(value: Any) -> Any:
    """Return the texts of a field: of a list, or of a text with bars between them. A list of texts
    in a cell is one, with commas, or with blanks as numpy writes it.

    >>> _parts("Oslo | Rome"), _parts(1961), _parts(["A|B"]), _parts(None)
    (['Oslo', 'Rome'], ['1961'], ['A|B'], [])
    >>> _parts("['A|B', 'C']"), _parts("['A' 'B']"), _parts("[REC]")
    (['A|B', 'C'], ['A', 'B'], ['[REC]'])
    """
    if value is None:
        return []
    if isinstance(value, str) and _LISTED.fullmatch(value.strip()):
        value = list(map(ast.literal_eval, re.findall(_QUOTED, value)))
    if isinstance(value, str):
        return [part.strip() for part in value.split(SEPARATOR) if part.strip()]
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    return [str(i).lower() if isinstance(i, bool) else records.number_as_text(i) for i in items]


_Parts = Annotated[list[records.Text], BeforeValidator(_parts)]


class OwnQuestion(records.Published):
    """The form that is taken where no published one fits."""

    form = "questions of your own"
    datasets = (OWN,)
    wrappers = ("", TABLE, "questions")

    question: records.Text
    id: records.Key | None = records.published_as("id", "qid", default=None)
    answer: _Parts = records.published_as(*ANSWERS, default=[])
    topic: _Parts = records.published_as(*TOPICS, default=[])
    relation_path: _Parts = []
    """Where it is known: the relations from the topic to the answers, `~` before inverse ones."""

    @classmethod
    def unread(cls, contents: Contents) -> list[str]:
        """Return the fields of a file's first records that are not read."""
        return sorted(records.keys(contents.head) - FIELDS - NOTES)

    @classmethod
    def fits(cls, contents: Contents) -> bool:
        """Return whether a file whose form is not named is of this one: no JSON with other
        fields."""
        return cls.misses(contents) == [] and (
            contents.wrapper == TABLE or not cls.unread(contents)
        )

    def to_question(self, number: int, file: records.DatasetFile) -> Question:
        is_chain = self.relation_path and len(self.topic) < 2
        return Question(
            id=self.id or file.question_id(number),
            text=self.question,
            structure=f"{len(self.relation_path)}-hop" if is_chain else "",
            hops=len(self.relation_path),
            topic_entities=tuple(Entity("", name) for name in self.topic),
            answers=tuple(Answer(text) for text in dict.fromkeys(self.answer)),
            annotations={"relation_path": self.relation_path} if self.relation_path else {},
        )
