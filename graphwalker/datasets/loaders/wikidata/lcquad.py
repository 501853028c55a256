"""LC-QuAD 2.0 (Dubey et al., 2019): questions with SPARQL over Wikidata, and without answers."""

import re
from typing import Any

from graphwalker.datasets import records
from graphwalker.datasets.answers import distinct, literal, wikidata_id
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer, Question

_ITEM = re.compile(r"\bwd:(Q\d+)")


class LcQuad(records.Published):
    """`uid`, `question`, `sparql_wikidata`; the graph gives the answers, where the query fits it.

    Topic entities are the items of the query. Some questions are null or `n/a`; their paraphrase is
    taken. A record without either is set aside.
    """

    form = "LC-QuAD 2.0"
    datasets = ("lcquad2",)
    answers_by_query = True
    sets_aside = True

    uid: records.Key
    sparql: records.Text = records.published_as("sparql_wikidata")
    question: records.MaybeText = ""
    paraphrase: Any = records.published_as("paraphrased_question", default="")
    answer: list[Any] = []
    template: Any = ""

    def to_question(self, number: int, file: records.DatasetFile) -> Question:
        wordings = (w.strip() for w in (self.question, self.paraphrase) if isinstance(w, str))
        text = next((w for w in wordings if w.lower() not in ("", "n/a")), "")
        if not text:
            raise UserError("has no question and no paraphrase")
        return Question(
            id=self.uid,
            text=text,
            topic_entities=tuple(map(Entity, dict.fromkeys(_ITEM.findall(self.sparql)))),
            answers=distinct(map(_answer, map(str, self.answer))),
            annotations={"sparql": self.sparql},
            facets={"template": str(self.template)} if self.template else {},
        )


def _answer(text: str) -> Answer:
    item = wikidata_id(text)
    return Answer("", item) if item else literal(text)
