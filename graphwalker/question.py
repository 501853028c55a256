"""A question over a knowledge graph, its topic entities and its gold answers."""

from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field
from operator import attrgetter
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

    id: str = ""
    text: str = ""
    topic_entities: tuple[Entity, ...] = ()
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

    question: InitVar[str] = ""
    """The text, by the name that it has in a file; the id, too, where none is given."""

    def __post_init__(self, question: str) -> None:
        text: Any = self.text
        if type(text) is not str and not self.answers:  # Question("who?", ["Ana"], ["x"])
            self._set(id=self.id, text=self.id, topic_entities=text, answers=self.topic_entities)
        elif question and not text:
            self._set(id=self.id or question, text=question)
        topics, gold = _parts(self.topic_entities, Entity), _parts(self.answers, Answer)
        # Question("Who?", "Ana", "x") could mean two things: topic entities stand in a list.
        is_text = isinstance(cast("Any", self.text), str)
        if topics is None or gold is None or isinstance(self.topic_entities, str) or not is_text:
            raise TypeError(
                "Question(id, text, topic_entities, answers), or Question(text, names of topic "
                f"entities, names of answers), names in lists; got {self.id!r}, {self.text!r}, "
                f"{self.topic_entities!r}, {self.answers!r}"
            )
        answers = gold or (self.gold and tuple(Answer(text) for text in self.gold.texts())) or ()
        self._set(topic_entities=topics, answers=answers)

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

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


Question.question = property(attrgetter("text"))  # pyright: ignore


def _parts(given: Any, kind: type[Any]) -> tuple[Any, ...] | None:
    """Read entities or answers, each by itself or by its name; `None` for anything else."""
    listed = isinstance(given, list | tuple)
    found = tuple(cast("tuple[Any, ...]", given)) if listed else (given,)
    if not all(isinstance(one, str | kind) for one in found):
        return None
    return tuple(one if isinstance(one, kind) else kind(id="", name=one) for one in found)


def query_and_wording(question: Question) -> tuple[Query, Draft]:
    """Return the query of a question and its wording. Raises `UserError` without them."""
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
    """Return the fields of a `Question` that stand under `query` in its record. A record without
    branches is a data set's own form of a query: all of it is `annotations`."""
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
