"""A question over a knowledge graph, its topic entities and its gold answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from graphwalker.answers.kinds import GoldAnswer, read_gold
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.query.draft import Draft
from graphwalker.query.query import Query


@dataclass(frozen=True, slots=True)
class Answer:
    """One gold answer. `id` is `""` where a benchmark has names only; aliases count as the name."""

    name: str
    id: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """What an agent is asked."""

    id: str
    text: str
    topic_entities: tuple[Entity, ...]
    answers: tuple[Answer, ...] = ()
    dataset: str = ""
    structure: str = ""
    """Reasoning structure: `2-hop` .. `5-hop`, `2I`, `IP`, `PI`, or the benchmark's own word."""
    hops: int = 0
    """Longest number of hops from a topic entity to the answers; 0 when unknown."""
    split: str = ""
    query: Query | None = None
    """What it asks, executable, where that is known (see certificates)."""
    wording: Draft | None = None
    """How its query was put into words."""
    relation_path: tuple[str, ...] = ()
    """`Query.path` in the one spelling that splits go by: of inverse relations always the same."""
    annotations: dict[str, Any] = field(default_factory=dict[str, Any])
    """What else its record holds under `query`: `sparql`, WebQSP's `parses`, a judge's `scores`."""
    facets: dict[str, str] = field(default_factory=dict[str, str])
    """What else a benchmark groups its questions by: `level`, `function`, `domain`."""
    gold: GoldAnswer | None = None
    """The answer where it is no set of names: `Rows`, a `PathAnswer`, a `Text`. `answers` then hold
    its texts, for people; scores go by this."""

    def __post_init__(self) -> None:
        if type(cast("Any", self.text)) is not str:  # Question("who?", ["Ana"], ["x"])
            self._shift()
        if self.gold is not None and not self.answers:
            answers = tuple(Answer(text) for text in self.gold.texts())
            object.__setattr__(self, "answers", answers)

    @property
    def question(self) -> str:
        """The text, by the name that it has in a file."""
        return self.text

    def _shift(self) -> None:
        """Read text, names of topic entities and names of answers, as a person writes them."""
        names: Any = self.text
        answers: Any = self.topic_entities
        lists = (names, answers)
        if not all(isinstance(one, list | tuple) for one in lists) or self.answers:
            raise TypeError(
                "Question(id, text, topic_entities, answers), or Question(text, names of topic "
                f"entities, names of answers); got {self.id!r}, {names!r}, {answers!r}"
            )
        topics = (e if isinstance(e, Entity) else Entity("", str(e)) for e in names)
        object.__setattr__(self, "text", self.id)
        object.__setattr__(self, "topic_entities", tuple(topics))
        gold = (a if isinstance(a, Answer) else Answer(str(a)) for a in answers)
        object.__setattr__(self, "answers", tuple(gold))

    def to_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {
            "id": self.id,
            "question": self.text,
            "topic_entities": [{"id": e.id, "name": e.name} for e in self.topic_entities],
            "answers": [
                {"id": a.id, "name": a.name, "aliases": list(a.aliases)} for a in self.answers
            ],
            "dataset": self.dataset,
            "structure": self.structure,
            "hops": self.hops,
            "split": self.split,
            "query": self._query_json(),
        }
        record |= {"facets": self.facets} if self.facets else {}
        return {**record, "gold": self.gold.to_json()} if self.gold else record

    def _query_json(self) -> dict[str, Any]:
        known = self.annotations if self.query else {}
        return {
            **(self.query.to_json() if self.query else {}),
            **({"path": list(self.relation_path)} if self.relation_path else {}),
            **({"sparql": known["sparql"]} if "sparql" in known else {}),
            **({"said": self.wording.to_json()} if self.wording else {}),
            **self.annotations,
        }

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> "Question":
        """Read our own JSON form. Raises `UserError` naming the field that is missing or odd."""
        try:
            return cls(
                id=str(record["id"]),
                text=str(record["question"]),
                topic_entities=tuple(
                    Entity(str(e["id"]), str(e["name"])) for e in record["topic_entities"]
                ),
                answers=tuple(
                    Answer(str(a["name"]), str(a.get("id", "")), tuple(a.get("aliases", ())))
                    for a in record.get("answers", ())
                ),
                dataset=str(record.get("dataset", "")),
                structure=str(record.get("structure", "")),
                hops=int(record.get("hops", 0)),
                split=str(record.get("split", "")),
                **read_query(str(record["question"]), record.get("query") or {}),
                facets=dict(record.get("facets") or {}),
                gold=read_gold(record.get("gold")),
            )
        except KeyError as error:
            raise UserError(f"question record has no field {error.args[0]!r}") from None
        except (TypeError, AttributeError, ValueError, OverflowError) as error:
            raise UserError(
                f"question record {record.get('id', '?')!r} is malformed: {error}"
            ) from None


def query_and_wording(question: Question) -> tuple[Query, Draft]:
    """The query of a question and how it was put into words. Raises `UserError` without them."""
    if question.query is None or question.wording is None:
        raise UserError(
            f"{question.id} has no query and phrases: make the questions with "
            "`graphwalker questions`"
        )
    return question.query, question.wording


def read_worded(record: dict[str, Any]) -> Question:
    """`Question.from_json`, of a question with a query and phrases only."""
    question = Question.from_json(record)
    query_and_wording(question)
    return question


def read_query(text: str, record: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a `Question` that stand under `query` in its record. A record without branches
    is a data set's own form of a query: all of it is `annotations`."""
    if not record.get("branches"):
        return {"annotations": dict(record)}
    known = ("branches", "tail", "constraint", "avoids_topics", "path", "said")
    wording = record.get("said")
    return {
        "query": Query.from_json(record),
        "wording": Draft.from_json(text, wording) if wording else None,
        "relation_path": tuple(record.get("path", ())),
        "annotations": {key: value for key, value in record.items() if key not in known},
    }
