"""Seed files: predicates.txt and seeds.txt, from training files, whitelists or a graph's schema."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from data_pipeline.seeds.seeds import NO_NAMES
from data_pipeline.seeds.sparql import NAMING, is_entity, node_id, read_sparql
from graphwalker.datasets.files import Record, open_file
from graphwalker.errors import UserError
from graphwalker.files import write_json, write_text
from graphwalker.graphs.base import FLATTENED, KnowledgeGraph

PREDICATES, SEEDS, CARD = "predicates.txt", "seeds.txt", "seeds.json"
SHOWN = 10
"""Queries that cannot be read, as far as the card names them."""
_SPARQL = ("sparql", "Sparql", "sparql_query", "SparqlQuery")
_QUERIES = ("Parses", "query")
"""Where WebQSP and QALD keep theirs: a list of parses, or an object, one level down."""

Tick = Callable[[int, int], None]


@dataclass(slots=True)
class FoundSeeds:
    """What was read so far: how many queries (or lines of whitelists) name each id."""

    predicates: Counter[str] = field(default_factory=Counter[str])
    entities: Counter[str] = field(default_factory=Counter[str])
    queries: int = 0
    unreadable: list[str] = field(default_factory=list[str])


def read_seeds(files: Sequence[Path], progress: Tick | None = None) -> FoundSeeds:
    """Return the predicates and entities of training files (CWQ, WebQSP, GrailQA: their SPARQL) and
    of whitelists (a JSON list, or one id or IRI a line).

    A query that is no SPARQL is counted and set aside; raises `UserError` naming the file where
    nothing at all could be read.
    """
    found = FoundSeeds()
    for path in files:
        before = len(found.unreadable)
        if not _read(path, found, progress):
            raise UserError(f"{path}: {_why_nothing(found.unreadable[before:])}")
    return found


def schema_seeds(graph: KnowledgeGraph, entities: int | None = None) -> FoundSeeds:
    """Get all relations of a graph and its named entities, at most `entities` evenly spread ones.

    Raises `UserError` for a graph without either.
    """
    if graph.size == 0 and graph.is_remote:
        raise UserError(
            "an endpoint does not list its entities: give training files with SPARQL, or a file of "
            "ids, one a line"
        )
    if graph.size == 0:
        raise UserError(NO_NAMES)
    stride = max(1, -(-graph.size // entities)) if entities else 1
    ids = (graph.entity_at(index).id for index in range(0, graph.size, stride))
    return FoundSeeds(Counter(graph.relation_ids()), Counter(ids))


def known_to(graph: KnowledgeGraph, found: FoundSeeds) -> tuple[FoundSeeds, dict[str, int]]:
    """Return what the graph has of it, and how much it lacks. Raises `UserError` for all."""
    halves = {half for r in graph.relation_ids() for half in (r, *r.split(FLATTENED))}
    predicates = {
        p: n
        for p, n in found.predicates.items()
        if not halves or set(p.split(FLATTENED)) <= halves  # a graph may not list its relations
    }
    entities = {e: n for e, n in found.entities.items() if graph.name(e)}
    for what, all_of, kept in (
        ("predicates is a relation", found.predicates, predicates),
        ("seed entities is a named entity", found.entities, entities),
    ):
        if all_of and not kept:
            raise UserError(f"none of the {len(all_of):,} {what} of this graph")
    left_out = {
        "predicates_not_in_graph": len(found.predicates) - len(predicates),
        "entities_not_in_graph": len(found.entities) - len(entities),
    }
    kept_ones = FoundSeeds(Counter(predicates), Counter(entities), found.queries, found.unreadable)
    return kept_ones, left_out


def write_seeds(out: Path, found: FoundSeeds, about: Mapping[str, Any]) -> dict[str, Any]:
    """Write predicates.txt and seeds.txt, one id a line in id order, and seeds.json with counts.

    `synth` takes them as `predicates_file` and `seeds_file`. A file that would be empty is not
    written. Returns the card.
    """
    out.mkdir(parents=True, exist_ok=True)
    for name, ids in ((PREDICATES, found.predicates), (SEEDS, found.entities)):
        if ids:
            write_text(out / name, "".join(f"{one}\n" for one in sorted(ids)))
        else:
            (out / name).unlink(missing_ok=True)
    card = {
        "predicates": len(found.predicates),
        "entities": len(found.entities),
        "queries": found.queries,
        "unreadable_queries": len(found.unreadable),
        **about,
        "unreadable": found.unreadable[:SHOWN],
        "predicate_counts": dict(sorted(found.predicates.items(), key=lambda i: (-i[1], i[0]))),
    }
    write_json(out / CARD, card, ensure_ascii=False)
    return card


def _read(path: Path, found: FoundSeeds, progress: Tick | None) -> bool:
    """Adds what the file holds; false when it holds nothing."""
    contents = open_file(path)
    something = False
    for record in contents.records:
        something |= _add(path, record, found)
        if progress:
            progress(record.number, contents.total or record.number)
    return something


def _add(path: Path, record: Record, found: FoundSeeds) -> bool:
    if isinstance(record.value, str):
        return sum(_add_id(path, record.number, one, found) for one in _ids(record.value)) > 0
    something = False
    for sparql in _sparql(record.value):
        found.queries += 1
        try:
            uses = read_sparql(sparql)
        except UserError as error:
            found.unreadable.append(f"{path.name}: record {record.number}: {error}")
            continue
        found.predicates.update(uses.predicates)
        found.entities.update(uses.entities)
        something |= bool(uses.predicates or uses.entities)
    return something


def _ids(line: str) -> list[str]:
    """Return what a line of a whitelist names: one id, or a whole JSON list of them."""
    if not line.startswith("["):
        return [line]
    try:
        listed: object = json.loads(line)
    except (ValueError, RecursionError):
        return [line]
    items = cast(list[object], listed) if isinstance(listed, list) else []
    return [item for item in items if isinstance(item, str)] if items else [line]


def _add_id(path: Path, number: int, text: str, found: FoundSeeds) -> bool:
    """Adds an entity's id or a predicate's, given as an id or as an IRI."""
    text = text.strip()
    if not text or text.startswith("#"):
        return False
    if len(text.split()) > 1:
        raise UserError(f"{path}: record {number}: {text[:60]!r} is not one id or IRI")
    one = node_id(text.strip("<>"))
    if is_entity(one):
        found.entities[one] += 1
    elif one not in NAMING:
        found.predicates[one] += 1
    return True


def _sparql(value: object) -> Iterator[str]:
    """Yield the queries of one record, wherever its benchmark keeps them."""
    if isinstance(value, list):
        for item in cast(list[object], value):
            yield from _sparql(item)
    elif isinstance(value, dict):
        record = cast(dict[str, object], value)
        own = (record.get(key) for key in _SPARQL)
        yield from (query for query in own if isinstance(query, str) and query.strip())
        for key in _QUERIES:
            if isinstance(record.get(key), list | dict):
                yield from _sparql(record[key])


def _why_nothing(unreadable: list[str]) -> str:
    if unreadable:
        return f"no query of it can be read, the first for this: {unreadable[0]}"
    return (
        "holds no SPARQL and no list of ids: give a training file of CWQ, WebQSP or GrailQA, "
        "or a whitelist with one id a line"
    )
