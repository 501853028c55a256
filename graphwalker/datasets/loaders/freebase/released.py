"""What GraphWalker released for its evaluation: GraphWalkerBench, and its CWQ, WebQSP, GrailQA."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BeforeValidator

from graphwalker.datasets import records
from graphwalker.datasets.answers import distinct, named_answer
from graphwalker.datasets.files import Record, as_object
from graphwalker.datasets.loaders.freebase.freebase import Topics, topics
from graphwalker.datasets.loaders.freebase.grailqa import LEVELS
from graphwalker.question import Answer, Question

_Type = Annotated[
    Literal["3-hop", "4-hop", "5-hop", "2i", "ip", "pi"],
    BeforeValidator(lambda value: value.lower() if isinstance(value, str) else value),
]
HOPS = {"3-hop": 3, "4-hop": 4, "5-hop": 5, "2i": 1, "ip": 2, "pi": 2}
"""Of each type of GraphWalkerBench: from the farthest topic entity to the answer."""
_Answers = Annotated[
    Annotated[list[records.Text], records.AsList] | Annotated[Topics, records.AsObject],
    records.by_shape("a list"),
]


class GraphWalkerBench(records.Published):
    """Answers are names or {mid: name}, paths are names joined by `->`. Some records give
    {name: name}: their topic entity has no id."""

    form = "GraphWalkerBench"
    datasets = ("graphwalkerbench",)

    index: records.Whole
    type: _Type
    question: records.Text
    topic_entity: Topics = records.published_as("topic_entities", "topic_entity")
    answers: _Answers
    name_path: records.MaybeText = ""
    name_path1: records.MaybeText = ""
    name_path2: records.MaybeText = ""

    def to_question(self, number: int, file: records.DatasetFile) -> Question:
        paths = (self.name_path, self.name_path1, self.name_path2)
        return Question(
            id=f"graphwalkerbench-{self.index}",
            text=self.question,
            topic_entities=topics(self.topic_entity),
            answers=_answers(self.answers),
            structure=self.type if "-" in self.type else self.type.upper(),
            hops=HOPS[self.type],
            split=file.split or "test",
            annotations={"name_paths": [path for path in paths if path]},
        )


class Released(records.Published):
    """`compositionality_type` is CWQ's type, GrailQA's level, or `unknown`; answers are names."""

    form = "GraphWalker's evaluation files"
    datasets = ("cwq", "webqsp", "grailqa")

    id: records.Key
    question: records.Text
    compositionality_type: records.Text
    topic_entity: Topics
    answers: _Answers

    def to_question(self, number: int, file: records.DatasetFile) -> Question:
        kind = self.compositionality_type
        return Question(
            id=self.id,
            text=self.question,
            topic_entities=topics(self.topic_entity),
            answers=_answers(self.answers),
            structure="" if kind == "unknown" else kind,
            facets={"level": kind} if kind in LEVELS else {},
        )

    @classmethod
    def dataset_of(cls, head: Sequence[Record]) -> str:
        """CWQ, WebQSP or GrailQA, by the types and ids of the records."""
        rows = [as_object(record.value) or {} for record in head]
        if any(row.get("compositionality_type") in LEVELS for row in rows):
            return "grailqa"
        known = any(row.get("compositionality_type") != "unknown" for row in rows)
        real = any(str(row.get("id")).startswith("WebQ") for row in rows)
        return "cwq" if known else "webqsp" if real else ""


def _answers(given: list[str] | Topics) -> tuple[Answer, ...]:
    if isinstance(given, dict):
        return tuple(Answer(entity.name, entity.id) for entity in topics(given, "answers"))
    return distinct(map(named_answer, given))
