"""MetaQA (Zhang et al., 2018): movie questions of one to three hops, as lines or as JSON lines."""

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from pydantic import Field

from graphwalker.datasets import records
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer, Question

RELATIONS = {
    "actor": "starred_actors", "director": "directed_by", "writer": "written_by",
    "year": "release_year", "language": "in_language", "genre": "has_genre", "tags": "has_tags",
    "tag": "has_tags", "imdbrating": "has_imdb_rating", "imdbvotes": "has_imdb_votes",
}  # fmt: skip
"""What joins a film, in a type of questions, to what stands beside it."""
_TOPIC = re.compile(r"\[([^\[\]]+)\]")


class MetaQaLine(records.Published):
    """`question with [topic]<TAB>answer|answer`. In this graph a name is the id, too."""

    form = "MetaQA"
    datasets = ("metaqa",)
    line = re.compile(r"[^\t]*\[[^\[\]\t]+\][^\t]*\t[^\t]*$")

    marked: str = Field(validation_alias="question")
    answers: str

    def to_question(self, number: int, file: records.DatasetFile) -> Question:
        topic, text = _split_marks(self.marked)
        names = [name.strip() for name in self.answers.split("|")]
        if not all(names):
            raise UserError("column 'answers' has an empty answer")
        kind = _type(number, file)
        hops = _hops(kind) or file.hops
        return Question(
            id=file.question_id(number, f"{hops}-hop" if hops else ""),
            text=text,
            topic_entities=(Entity(topic, topic),),
            answers=_answers(names),
            structure=f"{hops}-hop" if hops else "",
            hops=hops,
            annotations=_annotations(_path(kind)),
            facets={"type": kind} if kind else {},
        )


class MetaQa(records.Published):
    """`topic_entity`, `answers`, `qtype`, and `relation_path` with `~` before an inverse hop; or
    the topic in [brackets] and `answer`."""

    form = "MetaQA as JSON"
    datasets = ("metaqa",)

    question: records.Text
    topic_entity: records.MaybeText = ""
    answers: list[records.Text] = records.published_as("answers", "answer")
    qtype: records.MaybeText
    id: records.Key | None = None
    hops: records.Whole | None = None
    split: records.MaybeText = ""
    relation_path: records.MaybeTexts = []

    def to_question(self, number: int, file: records.DatasetFile) -> Question:
        path = self.relation_path or _path(self.qtype)
        hops = len(path) or _hops(self.qtype) if self.hops is None else self.hops
        topic, text = self.topic_entity, self.question
        if not topic:
            topic, text = _split_marks(self.question)
        return Question(
            id=self.id or "",
            text=text,
            topic_entities=(Entity(topic, topic),),
            answers=_answers(self.answers),
            structure=f"{hops}-hop" if hops else "",
            hops=hops,
            split=self.split,
            annotations=_annotations(path),
            facets={"type": self.qtype} if self.qtype else {},
        )


def _split_marks(question: str) -> tuple[str, str]:
    """Return the entity that a question marks, and the question without the mark."""
    found = _TOPIC.findall(question)
    if len(found) != 1:
        raise UserError(f"marks {len(found)} entities in [brackets], not 1")
    return found[0], _TOPIC.sub(lambda match: match[1], question).strip()


def _answers(names: Iterable[str]) -> tuple[Answer, ...]:
    return tuple(Answer(name, name) for name in dict.fromkeys(names))


def _type(number: int, file: records.DatasetFile) -> str:
    if not file.types:
        return ""
    if number > len(file.types):
        raise UserError(f"has no line in the file of question types ({len(file.types)} lines)")
    return file.types[number - 1]


def _path(kind: str) -> list[str]:
    """Return the relations of a type, `~` before those taken back: `movie_to_director_to_movie`."""
    path: list[str] = []
    for near, far in pairwise(kind.split("_to_")):
        if "movie" not in (near, far) or not {near, far} & RELATIONS.keys():
            return []
        path.append(RELATIONS[far] if near == "movie" else f"~{RELATIONS[near]}")
    return path


def _annotations(path: list[str]) -> dict[str, Any]:
    return {"relation_path": path} if path else {}


def _hops(kind: str) -> int:
    """`actor_to_movie_to_year` is two hops."""
    return kind.count("_to_")
