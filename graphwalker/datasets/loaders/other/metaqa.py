"""MetaQA (Zhang et al., 2018): movie questions of one to three hops, as lines or as JSON lines."""

import re

from graphwalker.datasets.fields import Field, optional_text
from graphwalker.datasets.forms import Form, Source
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer, Question

_TOPIC = re.compile(r"\[([^\[\]]+)\]")
_LINE = re.compile(r"[^\t]*\[[^\[\]\t]+\][^\t]*\t[^\t]*$")


def parse_line(line: Field, number: int, source: Source) -> Question:
    """`question with [topic]<TAB>answer|answer`. In this graph a name is the id, too."""
    cells = line.string().split("\t")
    if len(cells) != 2:
        raise UserError(f"has {len(cells)} columns, not 2: question, answers")
    marked, answers = cells
    found = _TOPIC.findall(marked)
    if len(found) != 1:
        raise UserError(f"marks {len(found)} entities in [brackets], not 1")
    names = [name.strip() for name in answers.split("|")]
    if not all(names):
        raise UserError("column 'answers' has an empty answer")
    kind = _type(number, source)
    hops = _hops(kind, source.hops)
    return _question(
        source,
        source.question_id(number, f"{hops}-hop" if hops else ""),
        _TOPIC.sub(lambda match: match[1], marked).strip(),
        found[0],
        names,
        kind,
        hops,
    )


def parse_record(record: Field, number: int, source: Source) -> Question:
    """`topic_entity`, `answers`, `qtype`, and `relation_path` with `~` before an inverse hop."""
    path = record.find("relation_path")
    relations = path.texts() if path else []
    kind = optional_text(record, "qtype")
    hops = record.find("hops")
    question_id = record.get("id").key() if record.has("id") else source.question_id(number)
    return _question(
        source,
        question_id,
        record.get("question").text(),
        record.get("topic_entity").text(),
        record.get("answers").texts(),
        kind,
        hops.whole() if hops else len(relations) or _hops(kind, 0),
        optional_text(record, "split"),
        relations,
    )


def _question(
    source: Source,
    question_id: str,
    text: str,
    topic: str,
    answers: list[str],
    kind: str,
    hops: int,
    split: str = "",
    path: list[str] | None = None,
) -> Question:
    names = dict.fromkeys(answers)
    return Question(
        id=question_id,
        text=text,
        topic_entities=(Entity(topic, topic),),
        answers=tuple(Answer(name, name) for name in names),
        dataset=source.dataset,
        structure=f"{hops}-hop" if hops else "",
        hops=hops,
        split=split or source.split,
        annotations={"relation_path": path} if path else {},
        facets={"type": kind} if kind else {},
    )


def _type(number: int, source: Source) -> str:
    if not source.types:
        return ""
    if number > len(source.types):
        raise UserError(f"has no line in the file of question types ({len(source.types)} lines)")
    return source.types[number - 1]


def _hops(kind: str, otherwise: int) -> int:
    """`actor_to_movie_to_year` is two hops."""
    return kind.count("_to_") or otherwise


FORMS = (
    Form("MetaQA", ("metaqa",), parse_line, line=_LINE),
    Form(
        "MetaQA as JSON",
        ("metaqa",),
        parse_record,
        frozenset({"question", "topic_entity", "answers", "qtype"}),
    ),
)
