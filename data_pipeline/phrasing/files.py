"""Phrases files in TOML: of mined frames with their counts, and of what a chat model wrote."""

import json
from collections import Counter
from collections.abc import Sequence

from data_pipeline.phrasing.ask import ModelWordings
from data_pipeline.phrasing.mine import Mined, by_relation
from data_pipeline.phrasing.prompt import ShownRelation
from data_pipeline.wording.own_phrases import relation_block
from graphwalker.graphs.base import Direction

MINED_HEAD = """\
# Questions that people have asked, one hop each, with {{x}} for what they start at: mend
# what reads badly, and give the file as phrases_file=FILE. `out` finds what the relation leads to,
# `in` starts there; `out_counts` says how often each was asked. Mined from:
{sources}
"""
MODEL_HEAD = """\
# How the relations of {graph} are put into words, by the chat model {model}: mend what
# reads badly, and give the file as phrases_file=FILE. `out` is what the relation finds from
# {{x}}, `in` what it finds from its other end; the lists `_casual` are whole questions as people
# type them.
# {kept} texts of {worded} relations are kept; refused: {refused}.
"""


def frames_text(mined: Mined, least: int = 1) -> str:
    """Return the file of mined frames, without those that were asked fewer than `least` times."""
    lines = [
        f"# {row['file']}: {row['used']} of {row['questions']} questions ({row['digest']})"
        for row in mined.sources
    ]
    blocks = [MINED_HEAD.format(sources="\n".join(lines))]
    for relation, directions in by_relation(mined.frames).items():
        values: list[tuple[str, str]] = []
        for direction, counts in sorted(directions.items()):
            frames = [(f, n) for f, n in _most_first(counts) if n >= least]
            texts = "".join(f"  {json.dumps(text, ensure_ascii=False)},\n" for text, _ in frames)
            if frames:
                values.append((f"{direction}_casual", f"[\n{texts}]"))
                values.append((f"{direction}_counts", str([count for _, count in frames])))
        if values:
            blocks.append(relation_block(relation, values))
    return "\n".join(blocks)


def _most_first(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def model_text(
    graph: str, model: str, relations: Sequence[ShownRelation], made: ModelWordings
) -> str:
    """Return the file of a chat model's wordings."""
    refused = ", ".join(f"{n} {reason}" for reason, n in sorted(made.refused.items())) or "none"
    about = {"graph": graph, "model": model, "kept": made.kept, "worded": len(made.wordings)}
    blocks = [MODEL_HEAD.format(**about, refused=refused)]
    for seen in relations:
        if (wordings := made.wordings.get(seen.relation)) is None:
            continue
        found: dict[str, object] = {"from": seen.subject, "to": seen.object}
        for direction in Direction:
            kinds = wordings.get(direction, {})
            texts = [text for k in ("phrase", "clause", "question") for text in kinds.get(k, ())]
            found |= {f"{direction}": texts, f"{direction}_casual": kinds.get("casual", ())}
        values = [(key, json.dumps(v, ensure_ascii=False)) for key, v in found.items() if v]
        blocks.append(relation_block(seen.relation, values))
    return "\n".join(blocks)
