"""CWQ (Talmor and Berant, 2018) as released, with topic entities, or with answer MIDs."""

from graphwalker.benchmarks.answers import distinct, freebase_id, named
from graphwalker.benchmarks.fields import Field, optional_text
from graphwalker.benchmarks.forms import Form, Source
from graphwalker.benchmarks.freebase import sparql_topics, topics
from graphwalker.question import Answer, Question


def parse(record: Field, number: int, source: Source) -> Question:
    """One record of any of the forms. Topic entities are `topic_entity`, else the MIDs of the
    query, without names.
    """
    answers = _answers(record, source)
    sparql = record.get("sparql").text()
    linked = record.find("topic_entity")
    ids = frozenset(answer.id for answer in answers if answer.id)
    return Question(
        id=record.get("ID").key(),
        text=record.get("question").text(),
        topic_entities=topics(linked) if linked else sparql_topics(sparql, ids),
        answers=answers,
        dataset=source.dataset,
        structure=record.get("compositionality_type").text(),
        split=source.split,
        query={"sparql": sparql, "webqsp_id": optional_text(record, "webqsp_ID")},
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
FORMS = (Form("CWQ", ("cwq",), parse, _NEEDS),)
