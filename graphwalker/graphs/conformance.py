"""Conformance: what every graph must do, checked on the entities of any graph."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from graphwalker.graphs import cvt
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, Side, Step, Triple
from graphwalker.graphs.cvt import CVTS_PER_RELATION, RELATIONS_PER_CVT
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.names import fold

READ_WHOLE = 2000
"""Longest list that is read to its end; longer ones are checked by their first entries."""

HOSTILE = (
    "",
    " ",
    "no.such.thing",
    'O"Neil',
    "back\\slash",
    "m.1> . } ; DROP ALL # <",
    "' OR 1=1 --",
    '"} UNION { ?s ?p ?o',
    "line\nbreak",
    "a{b}c|d^e`f",
    "?e ::x %s $y",
    "é\u0301\u2028\U0001f600",
    "\ud800",
    '"nothing like it"@en',
    "x" * 5000,
)
"""Ids and names that a careless query would choke on, or obey."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that does not hold: of which check, at which entity, and how."""

    check: str
    entity_id: str
    detail: str


Check = Callable[[KnowledgeGraph, Entity], Iterator[str]]


def check_graph(graph: KnowledgeGraph, entities: Sequence[Entity]) -> Iterator[Finding]:
    """Check each rule at each entity, and hostile texts once. Raises the graph's `GraphError`."""
    for detail in hostile_texts(graph):
        yield Finding("hostile texts", "", detail)
    for entity in entities:
        for name, check in CHECKS.items():
            for detail in check(graph, entity):
                yield Finding(name, entity.id, detail)


def hostile_texts(graph: KnowledgeGraph) -> Iterator[str]:
    """Texts that name nothing give nothing, whatever stands in them."""
    for text in HOSTILE:
        answers = {
            "resolve": graph.resolve(text),
            "types": graph.types(text),
            "name": [] if is_literal(text) else graph.name(text),
            "relations": graph.relations(text, Direction.OUT),
            "neighbors": graph.neighbors(text, text, Direction.IN),
            "triples": graph.triples(text, [text], Direction.OUT),
            "count": graph.count(text, text, Direction.OUT),
        }
        for method, found in answers.items():
            if found:
                yield f"{method}({text[:40]!r}) gives {str(found)[:80]}"


def _relations(graph: KnowledgeGraph, entity: Entity) -> Iterator[str]:
    for direction in Direction:
        listed = graph.relations(entity.id, direction)
        names = [relation for relation, _ in listed]
        if names != sorted(set(names), key=str.encode):
            yield f"relations {direction}: not in order, or twice"
        for relation, count in listed:
            if count < 1:
                yield f"{relation} {direction}: listed with {count}"
            if graph.count(entity.id, relation, direction) != count:
                yield f"{relation} {direction}: count and relations differ"


def _neighbors(graph: KnowledgeGraph, entity: Entity) -> Iterator[str]:
    for side, relation, count in _edges(graph, entity):
        limit = None if count <= READ_WHOLE else 50
        ends = graph.neighbors(entity.id, relation, side.direction, limit)
        where = f"{relation} {side.direction}"
        ids = [end.id.encode() for end in ends]
        if ids != sorted(set(ids)):
            yield f"{where}: neighbors not in id order, or twice"
        if limit is None and len(ends) != count:
            yield f"{where}: {count} counted, {len(ends)} given"
        for few in (0, 1, 3):
            if graph.neighbors(entity.id, relation, side.direction, few) != ends[:few]:
                yield f"{where}: the first {few} are not the first of all"
        for end in ends[:3]:
            if end.name != graph.name(end.id):
                yield f"{where}: {end.id} is named {end.name!r} here, {graph.name(end.id)!r} there"
            if not is_literal(end.id) and not graph.count(end.id, relation, side.direction.reverse):
                yield f"{where}: {end.id} does not lead back"


def _triples(graph: KnowledgeGraph, entity: Entity) -> Iterator[str]:
    here = Entity(entity.id, graph.name(entity.id))
    for direction in Direction:
        relations = [relation for relation, _ in graph.relations(entity.id, direction)]
        backwards = [*reversed(relations), "no.such.relation"]
        expected = [
            Triple(here, relation, end)
            if direction == Direction.OUT
            else Triple(end, relation, here)
            for relation in backwards
            for end in graph.neighbors(entity.id, relation, direction, 3)
        ]
        if graph.triples(entity.id, backwards, direction, 3) != expected:
            yield f"triples {direction}: not the neighbors, in the order of the relations asked"


def _batches(graph: KnowledgeGraph, entity: Entity) -> Iterator[str]:
    edges = list(_edges(graph, entity))
    steps = [Step(e.entity_id, r, e.direction, limit) for e, r, _ in edges for limit in (1, 4)]
    steps += [Step("no.such.thing", "no.such.relation", Direction.OUT)]
    ends = [end.id for found in graph.neighbors_many(steps) for end in found]
    nodes = list(dict.fromkeys([entity.id, "no.such.thing", *ends]))[:40]
    sides = [Side(node, direction) for node in nodes[:8] for direction in Direction]
    pairs = {
        "names_many": (graph.names_many(nodes), [graph.name(node) for node in nodes]),
        "relations_many": (graph.relations_many(sides), [graph.relations(*s) for s in sides]),
        "neighbors_many": (graph.neighbors_many(steps), [graph.neighbors(*s) for s in steps]),
        "triples_many": (
            graph.triples_many(sides, None, 2),
            [graph.triples(i, [r for r, _ in graph.relations(i, d)], d, 2) for i, d in sides],
        ),
    }
    for name, (together, alone) in pairs.items():
        if together != alone:
            yield f"{name}: not what the single calls give"
    if any((graph.names_many([]), graph.relations_many([]), graph.neighbors_many([]))):
        yield "a batch of nothing gives something"


def _resolving(graph: KnowledgeGraph, entity: Entity) -> Iterator[str]:
    name = graph.name(entity.id)
    if not name or is_literal(entity.id):
        return
    found = graph.resolve(name)
    if entity.id not in [candidate.id for candidate in found]:
        yield f"resolve({name!r}) does not find it"
    if any(fold(candidate.name) != fold(name) for candidate in found):
        yield f"resolve({name!r}) finds other names"
    order = [(c.name != name, -len(graph.types(c.id)), c.id.encode()) for c in found]
    if order != sorted(order):
        yield f"resolve({name!r}): not exact first, most types, then id"


def _flattened_hops(graph: KnowledgeGraph, entity: Entity) -> Iterator[str]:
    """Listing and stepping are what they would be without the graph's own short cuts."""
    sides = [Side(entity.id, direction) for direction in Direction]
    listed = graph.flat_relations_many(sides)
    if listed != cvt.flat_relations_many(graph, sides):
        yield "flattened relations are not what the plain calls give"
    steps = [
        Step(side.entity_id, relation, side.direction, 5)
        for side, relations in zip(sides, listed, strict=True)
        for relation, _ in relations
    ]
    counts = [count for relations in listed for _, count in relations]
    found = graph.step_many(steps)
    if found != cvt.step_many(graph, steps):
        yield "steps are not what the plain calls give"
    for step, count, ends in zip(steps, counts, found, strict=True):
        small = count < min(CVTS_PER_RELATION, RELATIONS_PER_CVT)
        if len(ends) != min(5, count) if small else not ends:
            yield f"{step.relation} {step.direction}: listed with {count}, leads to {len(ends)}"


def _edges(graph: KnowledgeGraph, entity: Entity) -> Iterator[tuple[Side, str, int]]:
    for direction in Direction:
        for relation, count in graph.relations(entity.id, direction):
            yield Side(entity.id, direction), relation, count


CHECKS: dict[str, Check] = {
    "relations": _relations,
    "neighbors": _neighbors,
    "triples": _triples,
    "batches": _batches,
    "names": _resolving,
    "flattened hops": _flattened_hops,
}
"""The rules by name; each yields what is wrong at an entity."""
