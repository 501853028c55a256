"""A phrases file of what a chat model wrote, in the form that people mend."""

import json
from collections.abc import Sequence

from data_pipeline.phrasing.ask import ModelWordings
from data_pipeline.phrasing.prompt import ShownRelation
from graphwalker.graphs.base import Direction

HEAD = """# How the relations of {graph} are put into words, by the chat model {model}: mend what
# reads badly, and give the file as phrases_file=FILE. `out` is what the relation finds from
# {{x}}, `in` what it finds from its other end; the lists `_casual` are whole questions as people
# type them.
# {kept} texts of {worded} relations are kept; refused: {refused}.
"""


def model_text(
    graph: str, model: str, relations: Sequence[ShownRelation], made: ModelWordings
) -> str:
    """The file as TOML."""
    refused = ", ".join(f"{n} {reason}" for reason, n in sorted(made.refused.items())) or "none"
    worded = len(made.wordings)
    blocks = [HEAD.format(graph=graph, model=model, kept=made.kept, worded=worded, refused=refused)]
    for seen in relations:
        wordings = made.wordings.get(seen.relation)
        if wordings is None:
            continue
        lines = ["[[relation]]", f"id = {_quoted(seen.relation)}"]
        lines += [f"{key} = {_quoted(n)}" for key, n in _nouns(seen) if n]
        for direction in Direction:
            kinds = wordings.get(direction, {})
            texts = [*kinds.get("phrase", ()), *kinds.get("clause", ())]
            for name, found in (
                (f"{direction}", (*texts, *kinds.get("question", ()))),
                (f"{direction}_casual", kinds.get("casual", ())),
            ):
                if found:
                    lines.append(f"{name} = [{', '.join(map(_quoted, found))}]")
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def _nouns(seen: ShownRelation) -> tuple[tuple[str, str], ...]:
    return ("from", seen.subject), ("to", seen.object)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
