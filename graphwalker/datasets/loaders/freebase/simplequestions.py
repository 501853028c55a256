"""SimpleQuestions (Bordes et al., 2015): one triple each, as lines of MIDs or with names."""

import re

from graphwalker.datasets.answers import freebase_id, named
from graphwalker.datasets.fields import Field
from graphwalker.datasets.forms import Form, Source
from graphwalker.datasets.loaders.freebase.freebase import topics
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer, Question

_MID = r"(?:www\.freebase\.com/)?[mg][./][0-9a-z_]+"
_LINE = re.compile(rf"{_MID}\t\S+\t{_MID}\t")
COLUMNS = ("subject", "relation", "object", "question")


def parse_line(line: Field, number: int, source: Source) -> Question:
    """`subject<TAB>relation<TAB>object<TAB>question`, with MIDs; names are not given."""
    cells = line.string().split("\t")
    if len(cells) != len(COLUMNS):
        raise UserError(f"has {len(cells)} columns, not {len(COLUMNS)}: {', '.join(COLUMNS)}")
    fields = {name: Field(cell, name) for name, cell in zip(COLUMNS, cells, strict=True)}
    relation = fields["relation"].text().removeprefix("www.freebase.com/").replace("/", ".")
    return Question(
        id=source.question_id(number),
        text=fields["question"].text(),
        topic_entities=(Entity(_mid(fields["subject"])),),
        answers=(Answer("", _mid(fields["object"])),),
        dataset=source.dataset,
        structure="1-hop",
        hops=1,
        split=source.split,
        annotations={"relation_path": [relation]},
    )


def parse_named(record: Field, number: int, source: Source) -> Question:
    """The sampled release with topic entities: `relation` is the last part of the relation id."""
    return Question(
        id=source.question_id(number),
        text=record.get("question").text(),
        topic_entities=topics(record.get("topic_entity")),
        answers=(named(record.get("answer").text()),),
        dataset=source.dataset,
        structure="1-hop",
        hops=1,
        split=source.split,
        annotations={"relation_label": record.get("relation").text()},
    )


def _mid(field: Field) -> str:
    found = freebase_id(field.text())
    if not found:
        raise UserError(f"column {field.path!r} must be a Freebase id, not {field.value!r}")
    return found


FORMS = (
    Form("SimpleQuestions", ("simplequestions",), parse_line, line=_LINE),
    Form(
        "SimpleQuestions with topic entities",
        ("simplequestions",),
        parse_named,
        frozenset({"question", "topic_entity", "answer", "relation"}),
    ),
)
