"""Our own question files: JSONL of questions or trajectories, and entities as id -> name."""

from typing import Annotated, Any, Self, cast

from pydantic import model_validator

from graphwalker.answers.kinds import read_gold
from graphwalker.datasets import records
from graphwalker.datasets.answers import distinct
from graphwalker.datasets.files import Contents, as_object
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer, Question, read_query


class _Named(records.Nested):
    name: records.AnyText
    id: records.MaybeText = ""
    aliases: records.MaybeTexts = []

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.id and not self.name.strip():
            raise ValueError("has neither an id nor a name")
        return self


class _Topic(_Named):
    id: records.AnyText = records.published_as("id")


class _Ours(records.Published):
    datasets = ("ours",)

    @classmethod
    def read(cls, value: object) -> records.Published:
        """Read a question in either shape, or a trajectory's; one file may hold all three."""
        record = as_object(value) or {}
        nested = as_object(record.get("question"))
        by_id = isinstance((nested or record).get("topic_entities"), dict)
        return (OursById if by_id else Ours).validate_record(nested or value)


class Ours(_Ours):
    """`topic_entities` and `answers` as lists of objects."""

    form = "our own JSONL"
    lacks = frozenset({"index", "type"})

    id: records.Key
    question: records.Text
    topic_entities: list[_Topic]
    answers: Annotated[list[_Named], records.null_is(list)] = []
    dataset: records.MaybeText = ""
    structure: records.MaybeText = ""
    hops: Annotated[records.Whole, records.null_is(int)] = 0
    split: records.MaybeText = ""
    query: Annotated[dict[str, Any], records.null_is(dict)] = {}
    relation_path: records.MaybeTexts = []
    facets: Annotated[dict[str, Any], records.null_is(dict)] = {}
    gold: Any = None

    @classmethod
    def misses(cls, contents: Contents) -> list[str] | None:
        """Fields that are missing; `None` where topics are names, as people write them."""
        rows = (as_object(row.value) or {} for row in contents.head)
        topics = [cast("list[object]", one) for row in rows
                  if isinstance(one := row.get("topic_entities"), list)]  # fmt: skip
        named = any(isinstance(one, str) for some in topics for one in some)
        return None if named else super().misses(contents)

    def to_question(self, number: int, file: records.DatasetFile) -> Question:
        return Question(
            id=self.id,
            text=self.question,
            topic_entities=tuple(Entity(e.id, e.name) for e in self.topic_entities),
            answers=tuple(Answer(a.name, a.id, tuple(a.aliases)) for a in self.answers),
            dataset=self.dataset,
            structure=self.structure,
            hops=self.hops,
            split=self.split,
            **self._query(),
            facets={key: str(value) for key, value in self.facets.items()},
            gold=read_gold(self.gold),
        )

    def _query(self) -> dict[str, Any]:
        path = {"relation_path": self.relation_path} if self.relation_path else {}
        try:
            return read_query(self.question, path | self.query)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise UserError(f"field 'query' is no query of ours ({error!r})") from None


class OurTrajectory(_Ours):
    """How a file of trajectories is known."""

    form = "our trajectories"

    question: Any
    turns: Any
    stop: Any


class OursById(_Ours):
    """`topic_entities` {id: name}; lists `answers`, `answer_mids`; `answer_aliases` {id: []}."""

    id: records.Key
    question: records.Text
    topic_entities: dict[str, records.Text]
    answers: list[records.Text]
    answer_mids: list[records.Text]
    answer_aliases: Annotated[dict[str, list[records.Text]], records.null_is(dict)] = {}
    relation_path: records.MaybeTexts = []
    dataset: records.MaybeText = ""
    split: records.MaybeText = ""
    level: records.MaybeText = ""

    def to_question(self, number: int, file: records.DatasetFile) -> Question:
        names, ids, path = self.answers, self.answer_mids, self.relation_path
        if len(names) != len(ids):
            raise UserError(f"{len(names)} answers but {len(ids)} answer_mids")
        return Question(
            id=self.id,
            text=self.question,
            topic_entities=tuple(Entity(i, name) for i, name in self.topic_entities.items()),
            answers=distinct(
                Answer(name, i, tuple(self.answer_aliases.get(i, ())))
                for name, i in zip(names, ids, strict=True)
            ),
            dataset=self.dataset,
            structure=f"{len(path)}-hop" if path else "",
            hops=len(path),
            split=self.split,
            annotations={"relation_path": path} if path else {},
            facets={"level": self.level} if self.level else {},
        )
