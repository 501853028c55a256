"""A graph as a stranger describes theirs: kinds of things with their names, and relations.

A schema is written down in one place and drawn at random from a seed; its facts are written in the
format that its owner has: CSV tables, TSV with or without types, N-Triples, a Neo4j export.
"""

import csv
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.foreign_data import LABEL, Fact, as_file, once

TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


@dataclass(frozen=True, slots=True)
class Relation:
    """From every thing of kind `start` (of a `share` of them) to `many` of kind `end`."""

    start: str
    id: str
    end: str
    many: int = 1
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Schema:
    """Kinds of things by their labels, and what holds between them."""

    kinds: dict[str, Sequence[str]]
    relations: Sequence[Relation]
    untyped: Sequence[str] = ()
    """Kinds that are values alone: dates, numbers, words. No type is written for them."""
    seed: int = 0

    def facts(self) -> list[Fact]:
        """The facts, drawn: no thing has a relation to itself."""
        rng = random.Random(self.seed)
        found: list[Fact] = []
        for relation in self.relations:
            for head in self.kinds[relation.start]:
                if rng.random() >= relation.share:
                    continue
                others = [name for name in self.kinds[relation.end] if name != head]
                tails = rng.sample(others, min(relation.many, len(others)))
                found += [(head, relation.id, tail) for tail in tails]
        return once(found)

    def types(self) -> dict[str, str]:
        return {n: k for k, names in self.kinds.items() if k not in self.untyped for n in names}


def relations(*rows: str) -> list[Relation]:
    """From lines `start id end [many] [share]`."""
    made: list[Relation] = []
    for row in rows:
        start, id_, end, *more = row.split()
        share = float(more[1]) if len(more) > 1 else 1.0
        made.append(Relation(start, id_, end, int(more[0]) if more else 1, share))
    return made


def as_tsv(folder: Path, schema: Schema, typed: bool = False) -> list[str]:
    """Triples as TSV, with a file of types beside them where the owner has one."""
    inputs = ["--triples", as_file(folder / "triples.tsv", map("\t".join, schema.facts()))]
    if typed:
        inputs += ["--types", as_file(folder / "t.tsv", map("\t".join, schema.types().items()))]
    return inputs


def as_tables(folder: Path, schema: Schema) -> list[str]:
    """A CSV table for every kind that has columns: one row a thing, several values between `;`."""
    facts, inputs = schema.facts(), list[str]()
    for kind, names in schema.kinds.items():
        columns = list(dict.fromkeys(r.id for r in schema.relations if r.start == kind))
        if not columns:
            continue
        path = folder / f"{kind}.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([kind, *columns])
            for name in names:
                cells = [[t for h, r, t in facts if (h, r) == (name, c)] for c in columns]
                writer.writerow([name, *map(";".join, cells)])
        inputs += ["--triples", str(path)]
    return inputs


def as_linked_data(
    folder: Path, schema: Schema, node: str, property_: str, class_: str = ""
) -> list[str]:
    """N-Triples with labels, with `rdf:type` where `class_` says how classes begin."""

    def iri(name: str) -> str:
        return node + "".join(c if c.isalnum() else "_" for c in name)

    facts, types = schema.facts(), schema.types()
    names = sorted({end for head, _, tail in facts for end in (head, tail)})
    lines = [
        f"<{iri(name)}> <{LABEL}> {json.dumps(name, ensure_ascii=False)}@en ." for name in names
    ]
    lines += [f"<{iri(h)}> <{property_}{r}> <{iri(t)}> ." for h, r, t in facts]
    if class_:
        lines += [f"<{iri(n)}> <{TYPE}> <{class_}{types[n]}> ." for n in names if n in types]
    return ["--triples", as_file(folder / "data.nt", lines)]


def as_wikibase(folder: Path, schema: Schema, base: str) -> list[str]:
    """N-Triples with items and properties by number, labels for both. An id in the schema is the
    number of a property and its label: `P12_served_by`; the last property says what a thing is."""
    facts, types = schema.facts(), schema.types()
    facts += [(n, "P1_instance_of", kind.replace("_", " ")) for n, kind in types.items()]
    names = sorted({end for head, _, tail in facts for end in (head, tail)})
    items = {name: f"{base}entity/Q{k + 1}" for k, name in enumerate(names)}
    called = {r: r.partition("_") for _, r, _ in facts}
    lines = [f"<{items[n]}> <{LABEL}> {json.dumps(n, ensure_ascii=False)}@en ." for n in names]
    for number, _, label in called.values():
        lines.append(f'<{base}entity/{number}> <{LABEL}> "{label.replace("_", " ")}"@en .')
    lines += [
        f"<{items[h]}> <{base}prop/direct/{called[r][0]}> <{items[t]}> ." for h, r, t in facts
    ]
    return ["--triples", as_file(folder / "wikibase.nt", lines)]


def as_neo4j(folder: Path, schema: Schema, key: str = "name") -> list[str]:
    """JSON lines as Neo4j exports them: labels, and relationships in capitals."""
    ids = {name: f"n{k}" for k, name in enumerate(schema.types())}
    rows = [
        {"type": "node", "id": ids[n], "labels": [kind], "properties": {key: n}}
        for n, kind in schema.types().items()
    ]
    for k, (head, relation, tail) in enumerate(schema.facts()):
        ends = {"start": {"id": ids[head]}, "end": {"id": ids[tail]}}
        rows.append({"type": "relationship", "id": f"r{k}", "label": relation, **ends})
    return ["--property", as_file(folder / "graph.json", map(json.dumps, rows))]
