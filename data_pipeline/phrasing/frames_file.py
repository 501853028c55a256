"""A phrases file of mined frames: each relation's, most asked first, with their counts."""

import json
from collections import Counter

from data_pipeline.phrasing.mine import Mined, by_relation
from graphwalker.graphs.base import Direction

HEAD = """# Questions that people have asked, one hop each, with {{x}} for what they start at: mend
# what reads badly, and give the file as phrases_file=FILE. `out` finds what the relation leads to,
# `in` starts there; `out_counts` says how often each was asked. Mined from:
{sources}
"""


def frames_text(mined: Mined, least: int = 1) -> str:
    """The file as TOML; frames that were asked fewer than `least` times are left out."""
    lines = [
        f"# {row['file']}: {row['used']} of {row['questions']} questions ({row['digest']})"
        for row in mined.sources
    ]
    blocks = [HEAD.format(sources="\n".join(lines))]
    for relation, directions in by_relation(mined.frames).items():
        rows = {
            direction: [(f, n) for f, n in _most_first(counts) if n >= least]
            for direction, counts in sorted(directions.items())
        }
        if any(rows.values()):
            blocks.append(_block(relation, rows))
    return "\n".join(blocks)


def _block(relation: str, rows: dict[Direction, list[tuple[str, int]]]) -> str:
    lines = ["[[relation]]", f"id = {json.dumps(relation, ensure_ascii=False)}"]
    for direction, frames in rows.items():
        if frames:
            texts = "".join(f"  {json.dumps(text, ensure_ascii=False)},\n" for text, _ in frames)
            lines.append(f"{direction}_casual = [\n{texts}]")
            lines.append(f"{direction}_counts = {[count for _, count in frames]}")
    return "\n".join(lines) + "\n"


def _most_first(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
