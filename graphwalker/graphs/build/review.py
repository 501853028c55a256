"""What a build says of its input: what a person may not have meant, with its share."""

import re
from collections.abc import Iterator, Mapping, Sequence

LONG_TEXT = 2_000
"""Characters of a literal that hardly fits into an observation."""
_MANY_RELATIONS = 50
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


def _share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({100 * part / max(1, whole):.0f} %)"
