"""WebQSP (Yih et al., 2016): real search questions over Freebase, each with its parses."""

from typing import Annotated, Any

from graphwalker.datasets import records
from graphwalker.datasets.answers import distinct
from graphwalker.datasets.loaders.freebase.freebase import FreebaseId, GivenAnswer, Topics, topics
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.graphs.literals import is_literal
from graphwalker.question import Answer, Question


class _Parse(records.Nested):
    ParseId: records.MaybeText = ""
    Sparql: records.MaybeText
    TopicEntityMid: FreebaseId | None
    TopicEntityName: records.MaybeText
    InferentialChain: records.MaybeTexts
    Constraints: Annotated[list[Any], records.null_is(list)]
    Answers: list[GivenAnswer]

    def facts(self) -> dict[str, Any]:
        return {
            "id": self.ParseId,
            "sparql": self.Sparql,
            "chain": self.InferentialChain,
            "answers": [_key(given.answer()) for given in self.Answers],
        }


class WebQsp(records.Published):
    """A record of `Questions`, or of a bare list. Its answers are those of all its parses, each
    once; what every parse answers stays in `annotations["parses"]`, for metrics of the best parse.
    """

    form = "WebQSP"
    datasets = ("webqsp",)
    wrappers = ("Questions", "")

    QuestionId: records.Key
    RawQuestion: records.Text
    Parses: list[_Parse]
    topic_entity: Topics | None = None
    """The release with linked entities has it."""

    def to_question(self, number: int, file: records.DatasetFile) -> Question:
        if not self.Parses:
            raise UserError("field 'Parses' is empty")
        first = self.Parses[0]
        chain = first.InferentialChain
        return Question(
            id=self.QuestionId,
            text=self.RawQuestion,
            topic_entities=self._topics(),
            answers=distinct(given.answer() for parse in self.Parses for given in parse.Answers),
            structure=f"{len(chain)}-hop" if chain else "",
            hops=len(chain),
            split=file.split or _split(self.QuestionId),
            annotations={"parses": [parse.facts() for parse in self.Parses]},
            facets={"constraints": str(len(first.Constraints))},
        )

    def _topics(self) -> tuple[Entity, ...]:
        """Return every parse's topic entity, unless they were linked."""
        if self.topic_entity is not None:
            return topics(self.topic_entity)
        found: dict[str, Entity] = {}
        for parse in self.Parses:
            if parse.TopicEntityMid:
                mid = parse.TopicEntityMid
                found.setdefault(mid, Entity(mid, parse.TopicEntityName))
        return tuple(found.values())


def parses(question: Question) -> tuple[tuple[Answer, ...], ...]:
    """Return the answers of each parse, for metrics that take the best one; those of the question
    where it has no parses.
    """
    known = {_key(answer): answer for answer in question.answers}
    rows = question.annotations.get("parses") or ()
    found = (tuple(known[key] for key in row["answers"] if key in known) for row in rows)
    return tuple(found) or (question.answers,)


def _key(answer: Answer) -> str:
    """Return the MID, or what a literal says."""
    return answer.name if is_literal(answer.id) else answer.id


def _split(question_id: str) -> str:
    name = question_id.partition("-")[0]
    return {"WebQTrn": "train", "WebQTest": "test"}.get(name, "")
