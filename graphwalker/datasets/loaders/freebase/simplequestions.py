"""SimpleQuestions (Bordes et al., 2015): one triple each, as lines of MIDs or with names."""

import re

from graphwalker.datasets import records
from graphwalker.datasets.answers import named_answer
from graphwalker.datasets.loaders.freebase.freebase import FreebaseId, Topics, topics
from graphwalker.datasets.queries import LABEL
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer, Question

_MID = r"(?:www\.freebase\.com/)?[mg][./][0-9a-z_]+"


class SimpleQuestionsLine(records.Published):
    """`subject<TAB>relation<TAB>object<TAB>question`, with MIDs; names are not given."""

    form = "SimpleQuestions"
    datasets = ("simplequestions",)
    line = re.compile(rf"{_MID}\t\S+\t{_MID}\t")

    subject: FreebaseId
    relation: records.Text
    object: FreebaseId
    question: records.Text

    def to_question(self, number: int, file: records.DatasetFile) -> Question:
        relation = self.relation.removeprefix("www.freebase.com/").replace("/", ".")
        return Question(
            id="",
            text=self.question,
            topic_entities=(Entity(self.subject),),
            answers=(Answer("", self.object),),
            structure="1-hop",
            hops=1,
            annotations={"relation_path": [relation]},
        )


class SimpleQuestionsLinked(records.Published):
    """The sampled release with topic entities: `relation` is the last part of the relation id."""

    form = "SimpleQuestions with topic entities"
    datasets = ("simplequestions",)

    question: records.Text
    topic_entity: Topics
    answer: records.Text
    relation: records.Text

    def to_question(self, number: int, file: records.DatasetFile) -> Question:
        return Question(
            id="",
            text=self.question,
            topic_entities=topics(self.topic_entity),
            answers=(named_answer(self.answer),),
            structure="1-hop",
            hops=1,
            annotations={LABEL: self.relation},
        )
