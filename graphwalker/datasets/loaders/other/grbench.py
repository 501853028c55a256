"""GRBench (Jin et al., 2024): questions over textual graphs of five domains, answered in words."""

from typing import Annotated, Any

from pydantic import BeforeValidator

from graphwalker.answers.kinds import Text
from graphwalker.datasets import records
from graphwalker.datasets.files import Contents, as_object
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


PER_TEMPLATE = 10
"""So many questions in a row are made from one template."""


class GrBench(records.Published):
    """The answer stays one text: it is scored by ROUGE-L and by a judge, and its commas stand
    between names as well as inside them. No topic entity is given; the agent has to search.
    """

    form = "GRBench"
    datasets = ("grbench",)
    lacks = frozenset({"term", "graph_query", "s_expression"})

    qid: records.Key
    question: records.Text
    answer: Annotated[records.Text, BeforeValidator(records.number_as_text)]
    level: records.MaybeText = ""
    """Stands in the hub's version alone; without it, figures are by template."""
    plan: list[dict[str, Any]] = []
    """Ours: a traversal plan that finds the answer."""

    @classmethod
    def misses(cls, contents: Contents) -> list[str] | None:
        rows = [as_object(record.value) or {} for record in contents.head]
        lists = any(isinstance(row.get("answer"), list) for row in rows)  # another one's questions
        return None if lists else super().misses(contents)

    def to_question(self, number: int, file: records.DatasetFile) -> Question:
        graph = graph_of(file)
        facets = {"graph": graph, "domain": DOMAINS[graph]} if graph else {}
        if self.qid.isdecimal():
            facets["template"] = str(int(self.qid) // PER_TEMPLATE)
        return Question(
            id="-".join(part for part in ("grbench", graph, self.qid) if part),
            text=self.question,
            topic_entities=(),
            answers=(Answer(self.answer),),
            structure=self.level,
            facets={**facets, "level": self.level} if self.level else facets,
            annotations={"plan": self.plan} if self.plan else {},
            gold=Text(self.answer),
        )


def graph_of(file: records.DatasetFile) -> str:
    """Get which graph a file asks about, by its name or its folder's; `""` when neither says it."""
    stem = file.path.name.split(".")[0].lower().removeprefix("grbench_")
    folder = file.path.resolve().parent.name.lower()
    names = [ALSO.get(name, name) for name in (stem, folder)]
    return next((name for name in names if name in DOMAINS), "")
