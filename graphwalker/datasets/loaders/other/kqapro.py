"""KQA Pro (Cao et al., 2022): questions with programs over its own part of Wikidata."""

from typing import Any

from graphwalker.datasets import records
from graphwalker.datasets.answers import yes_no
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer, Question

TRUTH = {"yes": True, "no": False}


class _Step(records.Nested):
    function: records.Text
    inputs: records.MaybeTexts = []


class KqaPro(records.Published):
    """`question`, `program`, `sparql` and one `answer` in words; test.json has `choices` alone.

    Topic entities are the names that its program finds. `graphwalker graph build
    kb.json` makes the graph.
    """

    form = "KQA Pro"
    datasets = ("kqapro",)

    question: records.Text
    program: list[_Step]
    answer: records.MaybeText = ""
    choices: list[Any]
    sparql: records.MaybeText = ""

    def to_question(self, number: int, file: records.DatasetFile) -> Question:
        found = [step.inputs[0] for step in self.program if step.function == "Find" and step.inputs]
        return Question(
            text=self.question,
            topic_entities=tuple(Entity("", name) for name in dict.fromkeys(found)),
            answers=_answers(self.answer),
            structure=self.program[-1].function if self.program else "",
            annotations={"sparql": self.sparql} if self.sparql else {},
        )


def _answers(text: str) -> tuple[Answer, ...]:
    if text in TRUTH:
        return (yes_no(TRUTH[text]),)
    return (Answer(text),) if text else ()
