"""Questions answered by yes or no: CoLoTa over Wikidata (and CR-LT, its first part), StrategyQA."""

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from graphwalker.datasets import records
from graphwalker.datasets.answers import wikidata_id, yes_no
from graphwalker.graphs.base import Entity
from graphwalker.question import Question


def _item(text: str) -> str:
    found = wikidata_id(text)
    if not found:
        raise ValueError(f"must be a Wikidata id, not {text!r}")
    return found


_WikidataId = Annotated[records.Text, AfterValidator(_item)]


class CoLoTa(records.Published):
    """`kg_entities` is {name: Wikidata id}. The first reasoning strategy is the structure.

    CR-LT writes its fields in capitals, and its triples as one text.
    """

    form = "CoLoTa or CR-LT"
    datasets = ("colota",)
    sets_aside = True

    id: records.Key
    query: records.Text
    answer: bool
    linked: dict[str, Annotated[records.Text, AfterValidator(_item)]] = records.published_as(
        "kg_entities", "KG Entities"
    )
    triples: Annotated[
        list[records.Text],
        BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
    ] = records.published_as("kg_triples", "KG Triples")
    rule: records.AnyText = records.published_as("inference_rule", "Inference Rule")
    strategies: list[records.Text] = records.published_as(
        "reasoning_strategy", "Reasoning Strategy"
    )
    steps: list[dict[str, Any]] = records.published_as("reasoning_steps", "Reasoning Steps")

    def to_question(self, number: int, file: records.DatasetFile) -> Question:
        return Question(
            id=self.id,
            text=self.query,
            topic_entities=tuple(Entity(i, name.strip()) for name, i in self.linked.items()),
            answers=(yes_no(self.answer),),
            structure=self.strategies[0] if self.strategies else "",
            annotations={"inference_rule": self.rule.strip(), "triples": self.triples},
            facets={"strategies": ", ".join(self.strategies), "steps": str(len(self.steps))},
        )


class StrategyQa(records.Published):
    """`term` is the article that the question was written about: a topic without an id."""

    form = "StrategyQA"
    datasets = ("strategyqa",)

    qid: records.Key
    question: records.Text
    term: records.Text
    answer: bool
    decomposition: list[records.Text] | None = None
    facts: list[records.Text] | None = None

    def to_question(self, number: int, file: records.DatasetFile) -> Question:
        steps = self.decomposition
        return Question(
            id=self.qid,
            text=self.question,
            topic_entities=(Entity("", self.term),),
            answers=(yes_no(self.answer),),
            structure="yes-no",
            annotations=self.model_dump(include={"decomposition", "facts"}, exclude_none=True),
            facets={} if steps is None else {"steps": str(len(steps))},
        )
