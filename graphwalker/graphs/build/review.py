"""What a build says of its input: what a person may not have meant, with its share."""

import re
from collections.abc import Iterator, Mapping, Sequence

from graphwalker.graphs.intake.blocks import read_blocks
from graphwalker.graphs.intake.columns import SAMPLED, is_clear, names_facts
from graphwalker.graphs.intake.readers import is_tsv
from graphwalker.graphs.intake.rows import Source

LONG_TEXT = 2_000
"""Characters of a literal that hardly fits into an observation."""
_FEW_ROWS, _MANY_RELATIONS = 10, 50
_ID = re.compile(r"\d+|Q\d+|[mg]\.[0-9a-z_]+|[0-9a-f]{8}-[0-9a-f-]{20,}")


def review_counts(counts: Mapping[str, int], relations: Sequence[str]) -> Iterator[str]:
    """Warnings from the counts of a build and the ids of its relations."""
    nodes = counts["nodes"] - counts["literals"]
    if unnamed := nodes - counts["entities"]:
        yield (
            f"{_share(unnamed, nodes)} nodes have no name and count as mediators; --names FILE or "
            "--names-from-ids names them"
        )
    if unwanted := counts.get("unwanted"):
        yield f"{_share(unwanted, nodes)} nodes have a name in another language only, which is used"
    ids = [relation for relation in relations if _ID.fullmatch(relation)]
    if ids:
        shown = ", ".join(ids[:3])
        yield (
            f"{_share(len(ids), len(relations))} relations look like ids ({shown}): are the "
            "columns head, relation, tail? --columns names them"
        )
    elif len(relations) > _MANY_RELATIONS and 2 * len(relations) > counts["triples"]:
        yield (
            f"{len(relations):,} relations in {counts['triples']:,} triples: are the columns head, "
            "relation, tail? --columns names them"
        )
    if long := counts.get("long_texts"):
        yield f"{_share(long, counts['literals'])} literals have more than {LONG_TEXT:,} characters"
    if repeated := counts["stated"] - counts["triples"]:
        yield f"{_share(repeated, counts['stated'])} facts are stated again; each counts once"
    if divided := counts.get("divided"):
        yield f"{divided:,} fields held several values, and were divided"


def review_header(source: Source) -> Iterator[str]:
    """A warning where the first row of a TSV file, which was taken as a fact, seems a header."""
    if not is_tsv(source) or source.form.columns:
        return
    block = next(read_blocks(source.path), None)
    lines = block.text.split("\n")[: SAMPLED + 1] if block else []
    first, *rows = [fields for line in lines if len(fields := line.split("\t")) == 3] or [[]]
    if len(rows) < _FEW_ROWS or is_clear(first) or names_facts(first):
        return
    middles = {row[1] for row in rows}
    ends = {end for row in rows for end in (row[0], row[2])}
    if first[1] not in middles and not ends & {first[0], first[2]} and len(middles) < len(rows) / 2:
        yield (
            f"{source.shown}:1: counts as a fact ({', '.join(first)[:80]}); where it is a header, "
            f"build again with --columns {','.join(first)[:80]}"
        )


def _share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({100 * part / max(1, whole):.0f} %)"
