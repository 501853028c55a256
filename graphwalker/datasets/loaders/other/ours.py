"""Our own question files: JSONL of questions or trajectories, and entities as id -> name."""

from typing import Any

from graphwalker.datasets.answers import distinct
from graphwalker.datasets.fields import Field, optional_text
from graphwalker.datasets.forms import Form, Source
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer, Question, read_query


def parse(record: Field, number: int, source: Source) -> Question:
    """A question, or a trajectory's; `topic_entities` and `answers` as lists of objects."""
    nested = record.find("question")
    if nested is not None and isinstance(nested.value, dict):
        record = nested
    given = record.get("topic_entities")
    if isinstance(given.value, dict):
        return _mapped(record, given)
    return Question(
        id=record.get("id").key(),
        text=record.get("question").text(),
        topic_entities=tuple(_entity(item) for item in given.items()),
        answers=tuple(_answer(item) for item in _items(record, "answers")),
        dataset=optional_text(record, "dataset"),
        structure=optional_text(record, "structure"),
        hops=_hops(record),
        split=optional_text(record, "split") or source.split,
        **_query(record),
        facets={key: str(value) for key, value in _object(record, "facets").items()},
    )


def _query(record: Field) -> dict[str, Any]:
    try:
        return read_query(record.get("question").text(), _object(record, "query"))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UserError(f"field 'query' is no query of ours ({error!r})") from None


def _entity(item: Field) -> Entity:
    entity = Entity(item.get("id").string(), item.get("name").string())
    if not entity.id and not entity.name:
        raise UserError(f"field {item.path!r} has neither an id nor a name")
    return entity


def _answer(item: Field) -> Answer:
    aliases = item.find("aliases")
    answer = Answer(
        item.get("name").string(),
        optional_text(item, "id"),
        tuple(aliases.texts()) if aliases else (),
    )
    if not answer.id and not answer.name.strip():
        raise UserError(f"field {item.path!r} has neither an id nor a name")
    return answer


def _mapped(record: Field, given: Field) -> Question:
    """`topic_entities` {id: name}; lists `answers`, `answer_mids`; `answer_aliases` {id: []}."""
    names, ids = record.get("answers").texts(), record.get("answer_mids").texts()
    if len(names) != len(ids):
        raise UserError(f"{len(names)} answers but {len(ids)} answer_mids")
    aliases = record.find("answer_aliases")
    known = aliases.entries() if aliases else {}
    path = [item.text() for item in _items(record, "relation_path")]
    return Question(
        id=record.get("id").key(),
        text=record.get("question").text(),
        topic_entities=tuple(Entity(i, field.text()) for i, field in given.entries().items()),
        answers=distinct(
            Answer(name, i, tuple(known[i].texts()) if i in known else ())
            for name, i in zip(names, ids, strict=True)
        ),
        dataset=optional_text(record, "dataset"),
        structure=f"{len(path)}-hop" if path else "",
        hops=len(path),
        split=optional_text(record, "split"),
        annotations={"relation_path": path} if path else {},
        facets={"level": level} if (level := optional_text(record, "level")) else {},
    )


def _items(record: Field, key: str) -> list[Field]:
    found = record.find(key)
    return found.items() if found else []


def _hops(record: Field) -> int:
    found = record.find("hops")
    return found.whole() if found else 0


def _object(record: Field, key: str) -> dict[str, object]:
    found = record.find(key)
    return {k: field.value for k, field in found.entries().items()} if found else {}


_NEEDS = frozenset({"id", "question", "topic_entities"})
FORMS = (
    Form("our own JSONL", ("ours",), parse, _NEEDS, frozenset({"index", "type"})),
    Form("our trajectories", ("ours",), parse, frozenset({"question", "turns", "stop"})),
)
