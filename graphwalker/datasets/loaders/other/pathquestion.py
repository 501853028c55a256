"""PathQuestion and PathQuestion-Large (Zhou et al., 2018): a question with its gold path a line."""

import re

from pydantic import Field

from graphwalker.datasets import records
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer, Question


class PathQuestionLine(records.Published):
    """`question<TAB>answer(a1/a2/)<TAB>subject#r1#e1#r2#answer`, as the release has it; the part
    from `#<end>#` on, which PathQuestion has and PathQuestion-Large has not, says nothing new.

    Entities are named as in the graph beside it, with `_` for a space; that is their id, too.
    """

    form = "PathQuestion"
    datasets = ("pathquestion",)
    line = re.compile(r"[^\t]+\t[^\t]+\(.*/\)\t[^\t#]+#[^\t#]+#[^\t]+$")

    question: records.Text
    answers: records.Text = Field(validation_alias="answer(answers)")
    path: records.Text

    def to_question(self, number: int, file: records.DatasetFile) -> Question:
        nodes = self.path.split("#<end>")[0].split("#")
        entities, relations = nodes[::2], nodes[1::2]
        answers = _answers(self.answers)
        if len(nodes) < 3 or len(nodes) % 2 == 0 or not all(nodes):
            raise UserError("column 'path' must be subject#relation#entity, with any more hops")
        if entities[-1] not in answers:
            end = entities[-1]
            raise UserError(f"column 'path' ends at {end!r}, which is not among the answers")
        return Question(
            id=file.question_id(number, f"{len(relations)}-hop"),
            text=self.question,
            topic_entities=(Entity(entities[0], entities[0]),),
            answers=tuple(_answer(name) for name in answers),
            structure=f"{len(relations)}-hop",
            hops=len(relations),
            annotations={"relation_path": relations, "entities": entities},
        )


def _answers(given: str) -> list[str]:
    """`a(a/b/)`: the answer of this path, then all answers, each followed by a slash."""
    for cut in (m.start() for m in re.finditer(r"\(", given)):
        first, rest = given[:cut], given[cut + 1 :]
        if rest.endswith("/)") and f"/{first}/" in f"/{rest[:-1]}":
            # A name may hold a slash itself; the answer of the path is known whole.
            before, _, after = f"/{rest[:-1]}".partition(f"/{first}/")
            names = [*before.split("/"), first, *after.split("/")]
            return list(dict.fromkeys(name for name in names if name))
    raise UserError(f"column 'answer(answers)' must be like a(a/b/), not {given!r}")


def _answer(name: str) -> Answer:
    spaced = name.replace("_", " ")
    return Answer(name, name, (spaced,) if spaced != name else ())
