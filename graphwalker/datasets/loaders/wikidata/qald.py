"""QALD-9-plus and QALD-10: questions in several languages over Wikidata, with SPARQL results."""

import re
from collections.abc import Sequence
from typing import Annotated, Literal, cast

from graphwalker.datasets import records
from graphwalker.datasets.answers import distinct, literal, wikidata_id, yes_no
from graphwalker.datasets.files import Record, as_object
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer, Question

_ITEM = re.compile(r"(?:\bwd:|<https?://www\.wikidata\.org/entity/)(Q\d+)")
_DBPEDIA = re.compile(r"https?://dbpedia\.org/resource/(.+)")
_ONLY_9 = frozenset({"fr", "uk", "ua", "lt", "be", "ba", "hy", "es"})
"""Languages of QALD-9-plus that QALD-10 does not have; QALD-10 alone has Chinese."""


class _Wording(records.Nested):
    language: records.Text
    string: records.MaybeText = ""


class _Query(records.Nested):
    sparql: records.Text


class _Value(records.Nested):
    type: Literal["uri", "literal", "typed-literal"]
    value: records.Text
    datatype: records.MaybeText = ""

    def answer(self) -> Answer:
        return _resource(self.value) if self.type == "uri" else literal(self.value, self.datatype)


class _Bindings(records.Nested):
    bindings: list[dict[str, _Value]]


class _Results(records.Nested):
    """SPARQL results in JSON."""

    boolean: bool | None = None
    results: Annotated[_Bindings, records.null_is(dict)] = _Bindings(bindings=[])

    def answers(self) -> list[Answer]:
        if self.boolean is not None:
            return [yes_no(self.boolean)]
        return [value.answer() for row in self.results.bindings for value in row.values()]


class Qald(records.Published):
    """The release: `question` by language, `query.sparql`, `answers` as SPARQL results in JSON.

    Topic entities are the items of the query that are no answers, without names.
    """

    form = "QALD"
    datasets = ("qald9plus", "qald10")
    wrappers = ("questions",)

    id: records.Key
    question: list[_Wording]
    query: _Query
    answers: list[_Results]
    aggregation: bool | None = None

    def to_question(self, number: int, file: records.DatasetFile) -> Question:
        sparql = self.query.sparql
        answers = distinct(answer for result in self.answers for answer in result.answers())
        ids = {answer.id for answer in answers}
        items = [item for item in dict.fromkeys(_ITEM.findall(sparql)) if item not in ids]
        flag = self.aggregation
        return Question(
            id=self.id,
            text=self._text(file.language),
            topic_entities=tuple(map(Entity, items)),
            answers=answers,
            structure=_asks_for(answers),
            annotations={"sparql": sparql},
            facets={} if flag is None else {"aggregation": str(flag).lower()},
        )

    def _text(self, language: str) -> str:
        """Return the first wording in that language."""
        found = next((w.string for w in self.question if w.language == language), "")
        if not found:
            raise UserError(f"field 'question' has no wording in language {language!r}")
        return found

    @classmethod
    def dataset_of(cls, head: Sequence[Record]) -> str:
        """QALD-9-plus or QALD-10, by the languages of the questions; `""` when they do not tell."""
        languages: set[str] = set()
        for record in head:
            questions = (as_object(record.value) or {}).get("question")
            if isinstance(questions, list):
                for item in cast("list[object]", questions):
                    languages.add(str((as_object(item) or {}).get("language")))
        if "zh" in languages:
            return "qald10"
        return "qald9plus" if languages & _ONLY_9 else ""


class QaldLinked(records.Published):
    """The English release with topic entities: `answer` and `qid_topic_entity` as {id: name}."""

    form = "QALD-10 with topic entities"
    datasets = ("qald10",)
    lacks = frozenset({"ID", "compositionality_type", "QuestionId"})

    question: records.Text
    answer: dict[str, records.Text]
    qid_topic_entity: dict[str, records.AnyText]
    sparql: records.Text

    def to_question(self, number: int, file: records.DatasetFile) -> Question:
        answers = distinct(_linked_answer(*item) for item in self.answer.items())
        return Question(
            id="",
            text=self.question,
            topic_entities=tuple(_topic(*item) for item in self.qid_topic_entity.items()),
            answers=answers,
            structure=_asks_for(answers),
            annotations={"sparql": self.sparql},
        )


def _resource(address: str) -> Answer:
    item, page = wikidata_id(address), _DBPEDIA.fullmatch(address)
    if item:
        return Answer("", item)
    return Answer(page[1].replace("_", " ") if page else address, address)


def _linked_answer(key: str, name: str) -> Answer:
    item = wikidata_id(key)
    return Answer(name, item) if item else literal(name)


def _topic(key: str, name: str) -> Entity:
    item = wikidata_id(key)
    if not item:
        raise UserError(f"field {f'qid_topic_entity.{key}'!r} must be keyed by a Wikidata id")
    return Entity(item, name.strip())


def _asks_for(answers: tuple[Answer, ...]) -> str:
    """Yes or no, a value, an entity, or several."""
    if len(answers) != 1:
        return "list" if answers else ""
    if not answers[0].id.startswith('"'):
        return "entity"
    return "yes-no" if answers[0].name in ("True", "False") else "value"
