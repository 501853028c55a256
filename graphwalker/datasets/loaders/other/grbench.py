"""GRBench (Jin et al., 2024): questions over textual graphs of five domains, answered in words."""

from graphwalker.datasets.fields import Field, optional_text
from graphwalker.datasets.forms import Form, Source
from graphwalker.errors import UserError
from graphwalker.question import Answer, Question

DOMAINS = {
    "amazon": "e-commerce",
    "biology": "academic",
    "biomedical": "healthcare",
    "chemistry": "academic",
    "dblp": "academic",
    "goodreads": "literature",
    "legal": "legal",
    "materials_science": "academic",
    "medicine": "academic",
    "physics": "academic",
}
"""The domain of each graph."""
ALSO = {
    "computer_science": "dblp",
    "healthcare": "biomedical",
    "literature": "goodreads",
    "material_science": "materials_science",
}
"""Graphs that two publications of the same questions name differently."""


def parse(record: Field, number: int, source: Source) -> Question:
    """The answer stays one text: it is scored by ROUGE-L and by a judge, and its commas stand
    between names as well as inside them. No topic entity is given; the agent has to search.
    """
    graph = graph_of(source)
    facets = {"graph": graph, "domain": DOMAINS[graph]} if graph else {}
    level = optional_text(record, "level")
    return Question(
        id="-".join(part for part in ("grbench", graph, record.get("qid").key()) if part),
        text=record.get("question").text(),
        topic_entities=(),
        answers=(_answer(record.get("answer")),),
        dataset=source.dataset,
        structure=level,
        split=source.split,
        facets={**facets, "level": level} if level else facets,
    )


def graph_of(source: Source) -> str:
    """Which graph a file asks about, by its name or its folder's; `""` when neither says it."""
    stem = source.path.name.split(".")[0].lower().removeprefix("grbench_")
    folder = source.path.resolve().parent.name.lower()
    names = [ALSO.get(name, name) for name in (stem, folder)]
    return next((name for name in names if name in DOMAINS), "")


def _answer(field: Field) -> Answer:
    if isinstance(field.value, int | float) and not isinstance(field.value, bool):
        return Answer(str(field.value))
    if isinstance(field.value, list):
        raise UserError(f"field {field.path!r} must be a text, not a list")
    return Answer(field.text())


FORMS = (
    Form(
        "GRBench",
        ("grbench",),
        parse,
        frozenset({"qid", "question", "answer"}),
        frozenset({"term", "graph_query", "s_expression"}),
    ),
)
