"""Questions answered by yes or no: CoLoTa over Wikidata (and CR-LT, its first part), StrategyQA."""

from graphwalker.datasets.answers import wikidata_id, yes_no
from graphwalker.datasets.fields import Field
from graphwalker.datasets.forms import Form, Source
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.question import Question


def parse_colota(record: Field, number: int, source: Source) -> Question:
    """`kg_entities` is {name: Wikidata id}. The first reasoning strategy is the structure."""
    strategies = record.get("reasoning_strategy", "Reasoning Strategy").texts()
    linked = record.get("kg_entities", "KG Entities").entries()
    steps = [s.entries() for s in record.get("reasoning_steps", "Reasoning Steps").items()]
    given = record.get("kg_triples", "KG Triples")
    triples = [given.string()] if isinstance(given.value, str) else given.texts()
    rule = record.get("inference_rule", "Inference Rule").string().strip()
    return Question(
        id=record.get("id").key(),
        text=record.get("query").text(),
        topic_entities=tuple(_topic(name, field) for name, field in linked.items()),
        answers=(yes_no(record.get("answer").flag()),),
        dataset=source.dataset,
        structure=strategies[0] if strategies else "",
        split=source.split,
        annotations={"inference_rule": rule, "triples": triples},
        facets={"strategies": ", ".join(strategies), "steps": str(len(steps))},
    )


def parse_strategyqa(record: Field, number: int, source: Source) -> Question:
    """`term` is the article that the question was written about: a topic without an id."""
    steps, facts = record.find("decomposition"), record.find("facts")
    return Question(
        id=record.get("qid").key(),
        text=record.get("question").text(),
        topic_entities=(Entity("", record.get("term").text()),),
        answers=(yes_no(record.get("answer").flag()),),
        dataset=source.dataset,
        structure="yes-no",
        split=source.split,
        annotations={
            **({"decomposition": steps.texts()} if steps else {}),
            **({"facts": facts.texts()} if facts else {}),
        },
        facets={"steps": str(len(steps.items()))} if steps else {},
    )


def _topic(name: str, field: Field) -> Entity:
    found = wikidata_id(field.text())
    if not found:
        raise UserError(f"field {field.path!r} must be a Wikidata id, not {field.value!r}")
    return Entity(found, name.strip())


FORMS = (
    Form(
        "CoLoTa",
        ("colota",),
        parse_colota,
        frozenset({"id", "query", "answer", "kg_entities"}),
    ),
    Form(
        "CR-LT",
        ("colota",),
        parse_colota,
        frozenset({"id", "query", "answer", "KG Entities"}),
    ),
    Form(
        "StrategyQA",
        ("strategyqa",),
        parse_strategyqa,
        frozenset({"qid", "question", "answer", "term"}),
    ),
)
