"""WebQSP (Yih et al., 2016): real search questions over Freebase, each with its parses."""

from typing import Any

from graphwalker.datasets.answers import distinct, literal, need_freebase_id
from graphwalker.datasets.fields import Field, nullable_text, optional_text
from graphwalker.datasets.forms import Form, Source
from graphwalker.datasets.loaders.freebase.freebase import topics
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.graphs.literals import is_literal
from graphwalker.question import Answer, Question


def parse(record: Field, number: int, source: Source) -> Question:
    """A record of `Questions`. Its answers are those of all its parses, each once; what every
    parse answers stays in `annotations["parses"]`, for metrics that take the best parse.
    """
    parses = record.get("Parses").items()
    if not parses:
        raise UserError("field 'Parses' is empty")
    read = [_parse(one) for one in parses]
    chain = _chain(parses[0])
    question_id = record.get("QuestionId").key()
    return Question(
        id=question_id,
        text=record.get("RawQuestion").text(),
        topic_entities=_topics(record, parses),
        answers=distinct(answer for answers, _ in read for answer in answers),
        dataset=source.dataset,
        structure=f"{len(chain)}-hop" if chain else "",
        hops=len(chain),
        split=source.split or _split(question_id),
        annotations={"parses": [facts for _, facts in read]},
        facets={"constraints": str(len(_nullable_items(parses[0], "Constraints")))},
    )


def parses(question: Question) -> tuple[tuple[Answer, ...], ...]:
    """The answers of each parse, for metrics that take the best one; those of the question where
    it has no parses.
    """
    known = {_key(answer): answer for answer in question.answers}
    rows = question.annotations.get("parses") or ()
    found = (tuple(known[key] for key in row["answers"] if key in known) for row in rows)
    return tuple(found) or (question.answers,)


def _parse(field: Field) -> tuple[list[Answer], dict[str, Any]]:
    answers = [_answer(item) for item in field.get("Answers").items()]
    facts = {
        "id": optional_text(field, "ParseId"),
        "sparql": nullable_text(field, "Sparql"),
        "chain": _chain(field),
        "answers": [_key(answer) for answer in answers],
    }
    return answers, facts


def _answer(item: Field) -> Answer:
    kind, argument = item.get("AnswerType"), item.get("AnswerArgument")
    if kind.text() == "Entity":
        return Answer(nullable_text(item, "EntityName"), need_freebase_id(argument))
    if kind.text() == "Value":
        return literal(argument.text())
    raise UserError(f"field {kind.path!r} must be Entity or Value, not {kind.value!r}")


def _key(answer: Answer) -> str:
    """The MID, or what a literal says."""
    return answer.name if is_literal(answer.id) else answer.id


def _topics(record: Field, parses: list[Field]) -> tuple[Entity, ...]:
    """Every parse's topic entity; the release with linked entities has `topic_entity` itself."""
    linked = record.find("topic_entity")
    if linked:
        return topics(linked)
    found: dict[str, Entity] = {}
    for field in parses:
        given, name = field.nullable("TopicEntityMid"), nullable_text(field, "TopicEntityName")
        if given:
            mid = need_freebase_id(given)
            found.setdefault(mid, Entity(mid, name))
    return tuple(found.values())


def _chain(field: Field) -> list[str]:
    return [item.text() for item in _nullable_items(field, "InferentialChain")]


def _nullable_items(field: Field, key: str) -> list[Field]:
    found = field.nullable(key)
    return found.items() if found else []


def _split(question_id: str) -> str:
    name = question_id.partition("-")[0]
    return {"WebQTrn": "train", "WebQTest": "test"}.get(name, "")


_NEEDS = frozenset({"QuestionId", "Parses"})
FORMS = (
    Form("WebQSP", ("webqsp",), parse, _NEEDS, wrapper="Questions"),
    Form("WebQSP as a bare list", ("webqsp",), parse, _NEEDS),
)
