"""CWQ (Talmor and Berant, 2018) as released, with topic entities, or with answer MIDs."""

from graphwalker.datasets.answers import distinct, freebase_id, named
from graphwalker.datasets.fields import Field, optional_text
from graphwalker.datasets.forms import Form, Source
from graphwalker.datasets.loaders.freebase.freebase import sparql_topics, topics
from graphwalker.question import Answer, Question


def parse(record: Field, number: int, source: Source) -> Question:
    """A record without topic entities: they are the MIDs of the query, without names."""
    return _question(record, source, linked=False)


def parse_linked(record: Field, number: int, source: Source) -> Question:
    """A record with `topic_entity` as {mid: name}; ToG found none for some questions."""
    return _question(record, source, linked=True)


def _question(record: Field, source: Source, linked: bool) -> Question:
    answers = _answers(record, source)
    sparql = record.get("sparql").text()
    ids = frozenset(answer.id for answer in answers if answer.id)
    return Question(
        id=record.get("ID").key(),
        text=record.get("question").text(),
        topic_entities=topics(record.get("topic_entity")) if linked else sparql_topics(sparql, ids),
        answers=answers,
        dataset=source.dataset,
        structure=record.get("compositionality_type").text(),
        split=source.split,
        annotations={"sparql": sparql, "webqsp_id": optional_text(record, "webqsp_ID")},
    )


def _answers(record: Field, source: Source) -> tuple[Answer, ...]:
    """A name, several names, MIDs, or the release's own `{answer, answer_id, aliases}`."""
    if source.answers_elsewhere and not record.has("answers") and not record.has("answer"):
        return ()
    field = record.get("answers", "answer")
    if isinstance(field.value, str):
        return (_named(field),)
    return distinct(_answer(item) for item in field.items())


def _answer(item: Field) -> Answer:
    if isinstance(item.value, str):
        return _named(item)
    mid = freebase_id(optional_text(item, "answer_id"))
    aliases = item.find("aliases")
    names = aliases.texts() if aliases else []
    if mid:
        return Answer(optional_text(item, "answer"), mid, tuple(names))
    found = named(item.get("answer", "answer_id").text())
    return Answer(found.name, found.id, (*found.aliases, *names))


def _named(field: Field) -> Answer:
    text = field.text()
    mid = freebase_id(text)
    return Answer("", mid) if mid else named(text)


_NEEDS = frozenset({"ID", "question", "sparql", "compositionality_type"})
FORMS = (
    Form("CWQ", ("cwq",), parse, _NEEDS, frozenset({"topic_entity"})),
    Form("CWQ with topic entities", ("cwq",), parse_linked, _NEEDS | {"topic_entity"}),
)
