"""The lexicon of one graph: people's own words, hand-written ones, else made from ids, from the
graph's labels of its relations and from the types of its nodes."""

import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from data_pipeline.wording.ids import Nouns, is_plain
from data_pipeline.wording.lexicon import (
    Entry,
    Lexicon,
    entry_from_id,
    parse_table,
    written_for,
)
from data_pipeline.wording.own_phrases import read_phrases, used_words_text
from data_pipeline.wording.type_nouns import TYPES, nouns_of, says_type, spread, type_nouns
from graphwalker.errors import UserError
from graphwalker.files import write_text
from graphwalker.graphs.base import FLATTENED, Direction, KnowledgeGraph
from graphwalker.graphs.views.wikidata import usual_labels
from graphwalker.query.query import Hop

COUNTED = 20_000
"""Entities whose relations are counted."""
__all__ = ["TYPES", "labels_of", "lexicon_of", "most_used", "nouns_of", "says_type", "spread"]
__all__ += ["type_nouns", "wikidata"]
WIKIDATA = "http://www.wikidata.org/entity/"


def lexicon_of(graph: KnowledgeGraph, phrases_file: str = "") -> Lexicon:
    """How the relations of the graph are worded. Raises `UserError` for a bad phrases file."""
    relations = graph.relation_ids()
    plain = [relation for relation in relations if is_plain(relation)]
    labels = labels_of(graph, plain) if plain else {}
    nouns = nouns_of(graph, labels) if plain else {}
    unknown = Nouns()

    def make_entry(hop: Hop) -> Entry:
        relation = hop.relation
        property_ = _wikidata_id(relation)
        if property_ and relation in labels and not _own_wikibase(relation, labels[relation]):
            written = wikidata().get(Hop(property_, hop.direction))
            if written:
                return written
        return entry_from_id(hop, nouns.get(relation, unknown), labels.get(relation, ""))

    if not phrases_file:
        return Lexicon.for_graph(relations, {}, make_entry)
    written = written_for(relations)
    own = read_phrases(phrases_file, relations, lambda hop: written.get(hop) or make_entry(hop))
    return Lexicon.for_graph(relations, own, make_entry)


@cache
def wikidata() -> dict[Hop, Entry]:
    """The phrase bank of Wikidata's properties, by their bare ids."""
    path = files("data_pipeline.wording").joinpath("banks", "wikidata.toml")
    return parse_table(tomllib.loads(path.read_text(encoding="utf-8")))


def _wikidata_id(relation: str) -> str:
    """`P31` of the property itself and of its IRIs, `""` of anything else."""
    last = re.split(r"[#/:]", relation)[-1]
    return last if re.fullmatch(r"P\d+", last) else ""


def _own_wikibase(relation: str, label: str) -> bool:
    """Whether a property is of somebody's own Wikibase, where P57 is not Wikidata's."""
    return bool(label) and not _is_wikidatas(relation)


def _is_wikidatas(relation: str) -> bool:
    return "://" not in relation or "wikidata.org" in relation


def labels_of(graph: KnowledgeGraph, relations: Sequence[str]) -> dict[str, str]:
    """What the graph calls each relation (`rdfs:label`, Wikidata's label), else its usual label
    where it is Wikidata's, else `""`."""
    spellings: dict[str, list[str]] = {}
    for relation in relations:
        property_ = _wikidata_id(relation)
        more = [WIKIDATA + property_, property_] if property_ else []
        more += [_entity_iri(relation, property_)] if property_ and "/prop/" in relation else []
        spellings[relation] = list(dict.fromkeys([relation, *more]))
    wanted = [spelling for found in spellings.values() for spelling in found]
    names = dict(zip(wanted, graph.names_many(wanted), strict=True))
    return {
        relation: next(
            (n for n in map(names.__getitem__, found) if _is_label(n) and n not in found),
            usual_labels().get(_wikidata_id(relation), "") if _is_wikidatas(relation) else "",
        )
        for relation, found in spellings.items()
    }


def _entity_iri(relation: str, property_: str) -> str:
    """Where a Wikibase keeps the label of a property: `.../entity/P57` of `.../prop/direct/P57`."""
    return f"{relation.partition('/prop/')[0]}/entity/{property_}"


def _is_label(name: str) -> bool:
    return bool(name.strip()) and ":" not in name and len(name.split()) <= 8


def most_used(graph: KnowledgeGraph, name: str) -> list[str]:
    """The relations of the graph, ways through CVT nodes among them, most used first; counted
    around the entities that are looked at. Raises `UserError` for a graph that lists none."""
    counts: Counter[str] = Counter()
    for entity in spread(graph, COUNTED):
        counts.update(dict(graph.flat_relations(entity.id, Direction.OUT)))
    through = {half for r in counts if FLATTENED in r for half in r.split(FLATTENED)}
    counts.update(dict.fromkeys(set(graph.relation_ids()) - through, 0))
    if not counts:
        raise UserError(f"{name} cannot list its relations: write the file by hand")
    return sorted(counts, key=lambda relation: (-counts[relation], relation))


def write_used_words(graph: KnowledgeGraph, name: str, out: Path) -> dict[str, Any]:
    """Write a phrases file of the words that are used now; returns what the command prints."""
    relations = most_used(graph, name)
    write_text(out, used_words_text(name, lexicon_of(graph), relations))
    return {"relations": len(relations), "written": str(out)}
