"""What GraphWalker released for its evaluation: GraphWalkerBench, and its CWQ, WebQSP, GrailQA."""

from collections.abc import Sequence

from graphwalker.datasets.answers import distinct, named
from graphwalker.datasets.fields import Field, as_object, optional_text
from graphwalker.datasets.files import Record
from graphwalker.datasets.forms import Form, Source
from graphwalker.datasets.loaders.freebase.freebase import topics
from graphwalker.datasets.loaders.freebase.grailqa import LEVELS
from graphwalker.errors import UserError
from graphwalker.question import Answer, Question

STRUCTURES = {
    "3-hop": 3,
    "4-hop": 4,
    "5-hop": 5,
    "2i": 1,
    "ip": 2,
    "pi": 2,
}
"""Types of GraphWalkerBench, with the hops from the farthest topic entity to the answer."""


def parse_bench(record: Field, number: int, source: Source) -> Question:
    """`type`, topic entities as {mid: name}, answers as names or as {mid: name}, and the paths as
    names joined by `->`. Some records give {name: name}: their topic entity has no id.
    """
    kind = record.get("type").text().lower()
    if kind not in STRUCTURES:
        raise UserError(f"field 'type' must be one of {', '.join(STRUCTURES)}, not {kind!r}")
    paths = [optional_text(record, key) for key in ("name_path", "name_path1", "name_path2")]
    return Question(
        id=f"graphwalkerbench-{record.get('index').whole()}",
        text=record.get("question").text(),
        topic_entities=topics(record.get("topic_entities", "topic_entity")),
        answers=_answers(record),
        dataset=source.dataset,
        structure=kind if "-" in kind else kind.upper(),
        hops=STRUCTURES[kind],
        split=source.split or "test",
        annotations={"name_paths": [path for path in paths if path]},
    )


def parse(record: Field, number: int, source: Source) -> Question:
    """`compositionality_type` is CWQ's type, GrailQA's level, or `unknown`; answers are names."""
    kind = record.get("compositionality_type").text()
    return Question(
        id=record.get("id").key(),
        text=record.get("question").text(),
        topic_entities=topics(record.get("topic_entity")),
        answers=_answers(record),
        dataset=source.dataset,
        structure="" if kind == "unknown" else kind,
        split=source.split,
        facets={"level": kind} if kind in LEVELS else {},
    )


def which(records: Sequence[Record]) -> str:
    """CWQ, WebQSP or GrailQA, by the types and ids of the records."""
    rows = [as_object(record.value) or {} for record in records]
    if any(row.get("compositionality_type") in LEVELS for row in rows):
        return "grailqa"
    known = any(row.get("compositionality_type") != "unknown" for row in rows)
    real = any(str(row.get("id")).startswith("WebQ") for row in rows)
    return "cwq" if known else "webqsp" if real else ""


def _answers(record: Field) -> tuple[Answer, ...]:
    field = record.get("answers")
    if isinstance(field.value, dict):
        return tuple(Answer(entity.name, entity.id) for entity in topics(field))
    return distinct(named(text) for text in field.texts())


FORMS = (
    Form(
        "GraphWalkerBench",
        ("graphwalkerbench",),
        parse_bench,
        frozenset({"index", "type", "question", "answers"}),
    ),
    Form(
        "GraphWalker's evaluation files",
        ("cwq", "webqsp", "grailqa"),
        parse,
        frozenset({"id", "question", "compositionality_type", "topic_entity", "answers"}),
        benchmark=which,
    ),
)
