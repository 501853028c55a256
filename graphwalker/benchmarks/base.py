"""Question files: our own JSONL, and the form with entities as an id -> name mapping."""

from pathlib import Path
from typing import Any

from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.jsonl import read_records
from graphwalker.question import Answer, Question


def load_questions(path: Path | str, limit: int | None = None) -> list[Question]:
    """Questions of a `.jsonl` or `.jsonl.gz` file, each checked.

    Raises `UserError` naming file, record and field; also for a repeated id or an empty file.
    """
    questions: dict[str, Question] = {}
    for question in read_records(path, parse_question):
        if question.id in questions:
            raise UserError(f"{path}: question id {question.id!r} stands there twice")
        questions[question.id] = question
        if limit is not None and len(questions) >= limit:
            break
    if not questions:
        raise UserError(f"{path}: holds no questions")
    return list(questions.values())


def parse_question(record: dict[str, Any]) -> Question:
    """One record in our own form, a trajectory's too, or mapped (`topic_entities` is a dict)."""
    if isinstance(record.get("question"), dict):
        record = record["question"]
    if isinstance(record.get("topic_entities"), dict):
        return _mapped(record)
    question = Question.from_json(record)
    if not question.topic_entities:
        raise UserError(f"question {question.id!r} has no topic_entities")
    return question


def _mapped(record: dict[str, Any]) -> Question:
    """`topic_entities` {id: name}; lists `answers`, `answer_mids`; `answer_aliases` {id: []}."""
    try:
        names, ids = list(record["answers"]), list(record["answer_mids"])
        aliases: dict[str, list[str]] = record.get("answer_aliases") or {}
        if len(names) != len(ids):
            raise UserError(
                f"question {record['id']!r}: {len(names)} answers but {len(ids)} answer_mids"
            )
        path: list[str] = record.get("relation_path") or []
        return Question(
            id=str(record["id"]),
            text=str(record["question"]),
            topic_entities=tuple(Entity(i, n) for i, n in record["topic_entities"].items()),
            answers=tuple(
                Answer(name, id_, tuple(aliases.get(id_, ())))
                for name, id_ in zip(names, ids, strict=True)
            ),
            dataset=str(record.get("dataset", "")),
            structure=f"{len(path)}-hop" if path else "",
            hops=len(path),
            split=str(record.get("split", "")),
        )
    except KeyError as error:
        raise UserError(f"question record has no field {error.args[0]!r}") from None
    except (TypeError, AttributeError) as error:
        raise UserError(
            f"question record {record.get('id', '?')!r} is malformed: {error}"
        ) from None
