"""GrailQA (Gu et al., 2021): Freebase questions at three levels of generalisation."""

from graphwalker.datasets.answers import distinct, literal, need_freebase_id
from graphwalker.datasets.fields import Field, optional_text
from graphwalker.datasets.forms import Form, Source
from graphwalker.datasets.loaders.freebase.freebase import topics
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer, Question

LEVELS = ("i.i.d.", "compositional", "zero-shot")


def parse(record: Field, number: int, source: Source) -> Question:
    """A record as released: topic entities are the entity nodes of its graph query."""
    return _question(record, source, _graph_topics(record.get("graph_query")))


def parse_linked(record: Field, number: int, source: Source) -> Question:
    """A record with `topic_entity` as {mid: name}, as ToG samples them."""
    _graph_topics(record.get("graph_query"))
    return _question(record, source, topics(record.get("topic_entity")))


def _question(record: Field, source: Source, found: tuple[Entity, ...]) -> Question:
    """The level is the structure, the number of edges the hops."""
    level = record.get("level").text()
    if level not in LEVELS:
        raise UserError(f"field 'level' must be one of {', '.join(LEVELS)}, not {level!r}")
    domains = record.get("domains").texts()
    return Question(
        id=record.get("qid").key(),
        text=record.get("question").text(),
        topic_entities=found,
        answers=distinct(_answer(item) for item in record.get("answer").items()),
        dataset=source.dataset,
        structure=level,
        hops=record.get("num_edge").whole(),
        split=source.split,
        annotations={
            "sparql": record.get("sparql_query").text(),
            "s_expression": record.get("s_expression").text(),
        },
        facets={
            "level": level,
            "function": record.get("function").text(),
            "domain": domains[0] if domains else "",
        },
    )


def _answer(item: Field) -> Answer:
    kind, argument = item.get("answer_type"), item.get("answer_argument")
    if kind.text() == "Entity":
        return Answer(optional_text(item, "entity_name"), need_freebase_id(argument))
    if kind.text() == "Value":
        return literal(argument.key())
    raise UserError(f"field {kind.path!r} must be Entity or Value, not {kind.value!r}")


def _graph_topics(graph: Field) -> tuple[Entity, ...]:
    nodes = graph.get("nodes").items()
    return tuple(
        Entity(need_freebase_id(node.get("id")), optional_text(node, "friendly_name"))
        for node in nodes
        if node.get("node_type").text() == "entity"
    )


_NEEDS = frozenset({"qid", "question", "graph_query"})
FORMS = (
    Form("GrailQA", ("grailqa",), parse, _NEEDS, frozenset({"topic_entity"})),
    Form("GrailQA with topic entities", ("grailqa",), parse_linked, _NEEDS | {"topic_entity"}),
)
