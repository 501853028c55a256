"""QALD-9-plus and QALD-10: questions in several languages over Wikidata, with SPARQL results."""

import re
from collections.abc import Sequence
from typing import cast

from graphwalker.datasets.answers import distinct, literal, wikidata_id, yes_no
from graphwalker.datasets.fields import Field, as_object
from graphwalker.datasets.files import Record
from graphwalker.datasets.forms import Form, Source
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer, Question

_ITEM = re.compile(r"(?:\bwd:|<https?://www\.wikidata\.org/entity/)(Q\d+)")
_DBPEDIA = re.compile(r"https?://dbpedia\.org/resource/(.+)")
_ONLY_9 = frozenset({"fr", "uk", "ua", "lt", "be", "ba", "hy", "es"})
"""Languages of QALD-9-plus that QALD-10 does not have; QALD-10 alone has Chinese."""


def parse(record: Field, number: int, source: Source) -> Question:
    """The release: `question` by language, `query.sparql`, `answers` as SPARQL results in JSON.

    Topic entities are the items of the query that are no answers, without names.
    """
    sparql = record.get("query").get("sparql").text()
    answers = distinct(a for result in record.get("answers").items() for a in _results(result))
    ids = {answer.id for answer in answers}
    items = [item for item in dict.fromkeys(_ITEM.findall(sparql)) if item not in ids]
    aggregation = record.find("aggregation")
    return Question(
        id=record.get("id").key(),
        text=_text(record.get("question"), source.language),
        topic_entities=tuple(map(Entity, items)),
        answers=answers,
        dataset=source.dataset,
        structure=_asks_for(answers),
        split=source.split,
        annotations={"sparql": sparql},
        facets={"aggregation": str(aggregation.flag()).lower()} if aggregation else {},
    )


def parse_linked(record: Field, number: int, source: Source) -> Question:
    """The English release with topic entities: `answer` and `qid_topic_entity` as {id: name}."""
    linked = record.get("qid_topic_entity").entries()
    given = record.get("answer").entries()
    answers = distinct(_linked_answer(key, field) for key, field in given.items())
    return Question(
        id=source.question_id(number),
        text=record.get("question").text(),
        topic_entities=tuple(_topic(key, field) for key, field in linked.items()),
        answers=answers,
        dataset=source.dataset,
        structure=_asks_for(answers),
        split=source.split,
        annotations={"sparql": record.get("sparql").text()},
    )


def which(records: Sequence[Record]) -> str:
    """QALD-9-plus or QALD-10, by the languages of the questions; `""` when they do not tell."""
    languages: set[str] = set()
    for record in records:
        questions = (as_object(record.value) or {}).get("question")
        if isinstance(questions, list):
            for item in cast("list[object]", questions):
                languages.add(str((as_object(item) or {}).get("language")))
    if "zh" in languages:
        return "qald10"
    return "qald9plus" if languages & _ONLY_9 else ""


def _text(questions: Field, language: str) -> str:
    """The first wording in that language."""
    for item in questions.items():
        if item.get("language").text() == language:
            return item.get("string").text()
    raise UserError(f"field {questions.path!r} has no wording in language {language!r}")


def _results(result: Field) -> list[Answer]:
    if result.has("boolean"):
        return [yes_no(result.get("boolean").flag())]
    bindings = result.get("results").get("bindings").items()
    return [_binding(value) for row in bindings for value in row.entries().values()]


def _binding(value: Field) -> Answer:
    kind, text = value.get("type"), value.get("value")
    if kind.text() == "uri":
        return _resource(text.text())
    if kind.text() in ("literal", "typed-literal"):
        datatype = value.find("datatype")
        return literal(text.text(), datatype.text() if datatype else "")
    raise UserError(f"field {kind.path!r} must be uri or literal, not {kind.value!r}")


def _resource(address: str) -> Answer:
    item, page = wikidata_id(address), _DBPEDIA.fullmatch(address)
    if item:
        return Answer("", item)
    return Answer(page[1].replace("_", " ") if page else address, address)


def _linked_answer(key: str, field: Field) -> Answer:
    name, item = field.text(), wikidata_id(key)
    return Answer(name, item) if item else literal(name)


def _topic(key: str, field: Field) -> Entity:
    item = wikidata_id(key)
    if not item:
        raise UserError(f"field {field.path!r} must be keyed by a Wikidata id")
    return Entity(item, field.string().strip())


def _asks_for(answers: tuple[Answer, ...]) -> str:
    """Yes or no, a value, an entity, or several."""
    if len(answers) != 1:
        return "list" if answers else ""
    if not answers[0].id.startswith('"'):
        return "entity"
    return "yes-no" if answers[0].name in ("True", "False") else "value"


FORMS = (
    Form(
        "QALD",
        ("qald9plus", "qald10"),
        parse,
        frozenset({"question", "answers", "query"}),
        wrapper="questions",
        benchmark=which,
    ),
    Form(
        "QALD-10 with topic entities",
        ("qald10",),
        parse_linked,
        frozenset({"question", "answer", "qid_topic_entity", "sparql"}),
        frozenset({"ID", "compositionality_type", "QuestionId"}),
    ),
)
