"""A big world with the shape of the Freebase dump: book-keeping, CVT families, a hub.

Of a hundred lines of N-Triples 30 assign types (`type.object.type`, `rdf:type`, and unless they are
left out `type.type.instance`), 11 are names and keys, 3 are web pages; the others are facts: plain
ones, some with their inverses, and CVT nodes of 20 families. A tenth of all lines lead to one hub:
over three plain relations, and over each CVT family (4 to some thousands of nodes).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

NS = "http://rdf.freebase.com/ns/"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
DATE = "http://www.w3.org/2001/XMLSchema#date"
HUB, FAMILIES, KINDS = "m.00hub", 20, 24
HUB_RELATIONS = ("people.person.nationality", "location.location.containedby", "film.film.country")
"""They take 45, 35 and 20 of a hundred of the hub's plain edges."""
BLOCK = 100_000

Array = np.ndarray[Any, Any]
Columns = tuple[list[str], list[str], list[str]]
"""Heads, relations and tails, as terms of N-Triples without the angle brackets of the relation."""


def make(lines: int, out: Path, seed: int = 0, instances: bool = True) -> Path:
    """Write `world.nt` of about so many lines into `out`, each fact once."""
    out.mkdir(parents=True, exist_ok=True)
    path, entities = out / "world.nt", max(500, lines // 20)
    with path.open("w", encoding="utf-8") as file:
        for columns in _world(entities, lines // 10, seed, instances):
            file.write(_text(columns))
    return path


def _world(entities: int, hub_edges: int, seed: int, instances: bool) -> Iterator[Columns]:
    for start in range(0, entities, BLOCK):
        numbers = np.arange(start, min(entities, start + BLOCK))
        rng = np.random.default_rng([seed, 1, start])
        yield from _book_keeping(numbers, rng, instances)
        yield from _facts(numbers, entities, rng)
        yield from _statements(numbers, entities, rng)
    yield [_iri(HUB)], [f"{NS}type.object.name"], ['"The Hub"@en']
    for i, (relation, share) in enumerate(zip(HUB_RELATIONS, (0.45, 0.35, 0.2), strict=True)):
        yield from _to_hub(relation, round(hub_edges * share), entities, i)
    for family in range(FAMILIES):
        rng = np.random.default_rng([seed, 2, family])
        yield from _hub_family(family, min(round(4 * 1.4**family), hub_edges // 20), entities, rng)


def _book_keeping(numbers: Array, rng: np.random.Generator, instances: bool) -> Iterator[Columns]:
    me = _entities(numbers)
    for add in (0, 1):
        kinds = [_iri(_kind(k)) for k in ((numbers + add * 7) % KINDS).tolist()]
        for relation in (f"{NS}type.object.type", RDF_TYPE):
            yield me, [relation] * len(me), kinds
        if instances:
            yield kinds, [f"{NS}type.type.instance"] * len(me), me
    yield me, [f"{NS}type.object.name"] * len(me), [f'"Topic {n}"@en' for n in numbers.tolist()]
    some = numbers[numbers % 5 == 0]
    yield _entities(some), [f"{NS}type.object.name"] * len(some), [f'"Thema {n}"@de' for n in some]
    keys = [f'"/wikipedia/en/{n}"' for n in numbers.tolist()]
    yield me, [f"{NS}type.object.key"] * len(me), keys
    some = numbers[rng.random(len(numbers)) < 0.6]
    pages = [f"<http://en.example.org/{n}>" for n in some.tolist()]
    yield _entities(some), [f"{NS}common.topic.topical_webpage"] * len(some), pages


def _facts(numbers: Array, entities: int, rng: np.random.Generator) -> Iterator[Columns]:
    """Yield about four plain facts a topic, a third of the relations with inverses."""
    for index in range(9):
        some = numbers[rng.random(len(numbers)) < 0.8 / (1 + 0.25 * index)]
        heads, tails = _entities(some), _entities(_draw_skewed(rng, entities, len(some)))
        kinds = [_kind(k) for k in (some % KINDS).tolist()]
        yield heads, [f"{NS}{kind}.relation_{index}" for kind in kinds], tails
        if index % 3 == 0:
            yield tails, [f"{NS}{kind}.inverse_{index}" for kind in kinds], heads
    born = numbers[numbers % 2 == 0]
    days = [f'"{1900 + n % 100}-{n % 12 + 1:02}-{n % 28 + 1:02}"^^<{DATE}>' for n in born.tolist()]
    yield _entities(born), [f"{NS}people.person.date_of_birth"] * len(born), days


def _statements(numbers: Array, entities: int, rng: np.random.Generator) -> Iterator[Columns]:
    """Yield CVT nodes of random families between topics, one a topic on average."""
    near, far = _draw_skewed(rng, entities, len(numbers)), _draw_skewed(rng, entities, len(numbers))
    families = rng.integers(0, FAMILIES, len(numbers))
    nodes = [_iri(f"m.1{n:07x}") for n in numbers.tolist()]
    yield from _family(nodes, families.tolist(), _entities(near), _entities(far))


def _hub_family(
    family: int, count: int, entities: int, rng: np.random.Generator
) -> Iterator[Columns]:
    nodes = [_iri(f"m.2{family:02x}{n:06x}") for n in range(count)]
    far = _entities(rng.integers(0, entities, count))
    yield from _family(nodes, [family] * count, [_iri(HUB)] * count, far)


def _family(
    nodes: list[str], families: list[int], near: list[str], far: list[str]
) -> Iterator[Columns]:
    def over(name: str) -> list[str]:
        return [f"{NS}domain_{f % 8}.{name.format(f)}" for f in families]

    yield near, over("topic.statements_{}"), nodes
    yield nodes, over("statement_{}.about"), near
    yield nodes, over("statement_{}.value"), far
    days = [f'"{1950 + i % 70}-{i % 12 + 1:02}-01"^^<{DATE}>' for i in range(len(nodes))]
    yield nodes, over("statement_{}.from"), days


def _to_hub(relation: str, count: int, entities: int, turn: int) -> Iterator[Columns]:
    """Yield edges to the hub, each head once a relation."""
    for start in range(0, count, BLOCK):
        numbers = np.arange(start, min(count, start + BLOCK))
        heads = _entities((numbers + turn * 13) % entities)
        yield heads, [NS + relation] * len(heads), [_iri(HUB)] * len(heads)


def _kind(number: int) -> str:
    return f"domain_{number % 8}.kind_{number:02d}"


def _entities(numbers: Array) -> list[str]:
    return [f"<{NS}m.0{n:07x}>" for n in numbers.tolist()]


def _iri(node_id: str) -> str:
    return f"<{NS}{node_id}>"


def _draw_skewed(rng: np.random.Generator, entities: int, count: int) -> Array:
    """Draw topics with a skew: the first thousandth gets a tenth of the draws."""
    return (rng.random(count) ** 3 * entities).astype(np.int64) * 7919 % entities


def _text(columns: Columns) -> str:
    rows = zip(*columns, strict=True)
    return "".join([f"{head} <{relation}> {tail} .\n" for head, relation, tail in rows])
