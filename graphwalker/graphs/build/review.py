"""What a build says of its input: what a person may not have meant, with its share."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from graphwalker.errors import UserError
from graphwalker.graphs.build.numbering import numbers
from graphwalker.graphs.intake.rows import LINE_BITS, Source
from graphwalker.graphs.intake.sorter import Sorter

LONG_TEXT = 2_000
"""Characters of a literal that hardly fits into an observation."""
_MANY_RELATIONS = 50
_WIKIDATA = "http://www.wikidata.org/prop/"
_SCHEMA = ("http://www.w3.org/2000/01/rdf-schema#", "http://www.w3.org/2002/07/owl#")
"""Where relations of an ontology begin; agents are not shown these."""
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
    if found := next((one for one in relations if one.startswith(_WIKIDATA)), ""):
        yield (
            f"relations are addresses of Wikidata ({found}): environment.layers.wikidata=true "
            "reads them"
        )
    if relations and all(one.startswith(_SCHEMA) for one in relations):
        yield (
            f"an ontology: all {len(relations):,} relations are of RDF Schema or OWL, which agents "
            "see only with environment.skip_relations=[]"
        )
    if long := counts.get("long_texts"):
        yield f"{_share(long, counts['literals'])} literals have more than {LONG_TEXT:,} characters"
    if repeated := counts["stated"] - counts["triples"]:
        yield f"{_share(repeated, counts['stated'])} facts are stated again; each counts once"


def unfit_ids(sorter: Sorter, sources: Iterable[Source]) -> Iterator[str]:
    """Say which names files have ids that are in no fact. Raises `UserError` for a file none of
    whose ids is: it is another graph's."""
    files = [source for source in sources if source.kind == "names"]
    if not files:
        return
    linked = np.zeros(sorter.rows("node"), dtype=bool)
    for heads, tails in sorter.chunks("edge", ["h", "t"]):
        linked[heads] = linked[tails] = True
    sorter.run(
        f"CREATE TABLE stated AS SELECT DISTINCT n, line >> {LINE_BITS} AS file FROM name"
        f" POSITIONAL JOIN {numbers('name', 'id', 'one')}"
    )
    for source in files:
        own = [n[o == source.number] for n, o in sorter.chunks("stated", ["n", "file"])]
        nodes = np.unique(np.concatenate(own)) if own else np.zeros(0, dtype=np.uint32)
        loose = nodes[~linked[nodes]]
        if not len(loose):
            continue
        example = _id_of(sorter, loose[0])
        if len(loose) == len(nodes):
            raise UserError(
                f"{source.shown}: none of its {len(nodes):,} ids is in a fact: it has {example}, "
                f"the facts have {_id_of(sorter, np.argmax(linked))}; give the names of this graph"
            )
        share = _share(len(loose), len(nodes))
        yield f"{source.shown}: {share} ids are in no fact; the first: {example}"


def _id_of(sorter: Sorter, node: Any) -> str:
    ((entity_id,),) = sorter.records(f"SELECT id[:80] FROM node WHERE rowid = {int(node)}")
    return entity_id


def _share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({100 * part / max(1, whole):.0f} %)"
