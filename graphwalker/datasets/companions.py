"""Companions: files that give the topic entities or the answers of the questions in another."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from graphwalker.datasets.answers import merge
from graphwalker.errors import UserError
from graphwalker.question import Question

KINDS = ("_topic_entities", "_answer_mids", "_answers")
"""What the name of a companion ends with: `cwq_test_topic_entities.json`."""


def beside(path: Path) -> list[Path]:
    """Get the companions that lie beside a file, by name: the same name but for one of `KINDS`."""
    stem, suffix = _name(path)
    own = next((kind for kind in KINDS if stem.endswith(kind)), "")
    base = stem.removesuffix(own)
    names = [f"{base}{kind}{end}" for kind in KINDS for end in (suffix, f"{suffix}.gz")]
    found = [path.with_name(name) for name in names if kind_of(name) != own]
    return [other for other in found if other.is_file()]


def kind_of(name: str) -> str:
    """Return which of `KINDS` a file's name ends with, or `""`."""
    stem, _ = _name(Path(name))
    return next((kind for kind in KINDS if stem.endswith(kind)), "")


def question_types(path: Path) -> Path | None:
    """MetaQA's file of question types: `qa_test_qtype.txt`, beside or in the folder above."""
    stem, _ = _name(path)
    for folder in (path.parent, path.parent.parent):
        for end in (".txt", ".txt.gz"):
            found = folder / f"{stem}_qtype{end}"
            if found.is_file():
                return found
    return None


def join(questions: Sequence[Question], others: Sequence[Question], path: Path) -> list[Question]:
    """Give each question what another file knows of it, by id, else by its text.

    Linked topic entities replace those found in the query; answers are merged (see
    `answers.merge`). Raises `UserError` when the files have no question in common.
    """
    by_id = {other.id: other for other in others}
    by_text = {_key(other.text): other for other in others}
    joined = [_both(q, _same(q, by_id.get(q.id)) or by_text.get(_key(q.text))) for q in questions]
    if all(a is b for a, b in zip(joined, questions, strict=True)):
        raise UserError(f"{path}: has none of these questions, by id or by text")
    return joined


def _same(question: Question, other: Question | None) -> Question | None:
    """Return the other one where it has the same text: an id may be but a place in its file."""
    return other if other and _key(other.text) == _key(question.text) else None


def _both(question: Question, other: Question | None) -> Question:
    if other is None:
        return question
    named = any(e.name for e in other.topic_entities)
    topics = other.topic_entities if named or not question.topic_entities else ()
    if any(e.name for e in question.topic_entities):
        topics = ()
    return replace(
        question,
        topic_entities=topics or question.topic_entities,
        answers=merge(question.answers, other.answers),
    )


def _key(text: str) -> str:
    return " ".join(text.casefold().split())


def _name(path: Path) -> tuple[str, str]:
    """Return the name without its suffix, and the suffix without `.gz`."""
    name = path.name.removesuffix(".gz")
    stem, dot, suffix = name.rpartition(".")
    return (stem, dot + suffix) if dot else (name, "")
