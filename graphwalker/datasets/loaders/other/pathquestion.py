"""PathQuestion and PathQuestion-Large (Zhou et al., 2018): a question with its gold path a line."""

import re

from graphwalker.datasets.fields import Field
from graphwalker.datasets.forms import Form, Source
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer, Question

_LINE = re.compile(r"[^\t]+\t[^\t]+\(.*/\)\t[^\t#]+#[^\t#]+#[^\t]+$")
COLUMNS = ("question", "answer(answers)", "path")


def parse(line: Field, number: int, source: Source) -> Question:
    """`question<TAB>answer(a1/a2/)<TAB>subject#r1#e1#r2#answer`, as the release has it; the part
    from `#<end>#` on, which PathQuestion has and PathQuestion-Large has not, says nothing new.

    Entities are named as in the graph beside it, with `_` for a space; that is their id, too.
    """
    cells = line.string().split("\t")
    if len(cells) != len(COLUMNS):
        raise UserError(f"has {len(cells)} columns, not {len(COLUMNS)}: {', '.join(COLUMNS)}")
    text, given, steps = (cell.strip() for cell in cells)
    if not text:
        raise UserError("column 'question' is empty")
    nodes = steps.split("#<end>")[0].split("#")
    entities, relations = nodes[::2], nodes[1::2]
    answers = _answers(given)
    if len(nodes) < 3 or len(nodes) % 2 == 0 or not all(nodes):
        raise UserError("column 'path' must be subject#relation#entity, with any more hops")
    if entities[-1] not in answers:
        raise UserError(f"column 'path' ends at {entities[-1]!r}, which is not among the answers")
    return Question(
        id=source.question_id(number, f"{len(relations)}-hop"),
        text=text,
        topic_entities=(Entity(entities[0], entities[0]),),
        answers=tuple(_answer(name) for name in answers),
        dataset=source.dataset,
        structure=f"{len(relations)}-hop",
        hops=len(relations),
        split=source.split,
        annotations={"relation_path": relations, "entities": entities},
    )


def _answers(given: str) -> list[str]:
    """`a(a/b/)`: the answer of this path, then all answers, each followed by a slash."""
    first = given.partition("(")[0]
    for cut in (m.start() for m in re.finditer(r"\(", given)):
        first, rest = given[:cut], given[cut + 1 :]
        if rest.endswith("/)") and f"/{first}/" in f"/{rest[:-1]}":
            found = [name for name in rest[:-2].split("/") if name]
            # A name may hold a slash itself; the answer of the path is known whole.
            return list(dict.fromkeys(found if first in found else [first, *found]))
    raise UserError(f"column 'answer(answers)' must be like a(a/b/), not {given!r}")


def _answer(name: str) -> Answer:
    spaced = name.replace("_", " ")
    return Answer(name, name, (spaced,) if spaced != name else ())


FORMS = (Form("PathQuestion", ("pathquestion",), parse, line=_LINE),)
