"""Hops through CVT nodes: two relations around a mediator node, shown as one `r1..r2`.

This is how any graph does it over its plain look-ups. A backend that is faster at it overrides
`flat_relations_many` and `step_many`; `conformance` compares the two.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.triples import FLATTENED, Direction, Entity, Side, Step, Triple

if TYPE_CHECKING:
    from graphwalker.graphs.base import KnowledgeGraph

RELATIONS_PER_CVT = 50
"""Relations looked at around one CVT node (GraphWalker's limit)."""

CVTS_PER_RELATION = 1000
"""CVT nodes looked at to list what lies behind one relation; counts beyond are lower bounds."""


def flat_relations_many(
    graph: "KnowledgeGraph", sides: Sequence[Side]
) -> list[list[tuple[str, int]]]:
    """`KnowledgeGraph.flat_relations` of each side, in at most 3 of the graph's batched calls."""
    plain = [dict(relations) for relations in graph.relations_many(sides)]
    looks = [
        Step(side.entity_id, relation, side.direction, CVTS_PER_RELATION)
        for side, relations in zip(sides, plain, strict=True)
        for relation in relations
        if graph.leads_to_cvts(relation, side.direction)
    ]
    seen = dict(zip(looks, graph.neighbors_many(looks) if looks else (), strict=True))
    cvts = {look: [e for e in seen[look] if _is_cvt(graph, e, look)] for look in looks}
    behind = _behind(graph, [Side(e.id, look.direction) for look in looks for e in cvts[look]])
    return [
        _list_side(graph, side, relations, seen, cvts, behind)
        for side, relations in zip(sides, plain, strict=True)
    ]


def step_many(graph: "KnowledgeGraph", steps: Sequence[Step]) -> list[list[Entity]]:
    """`KnowledgeGraph.step` of each, in 1 of the graph's batched calls, 2 for flattened hops.

    A relation that leads to CVT nodes and to entities alike may need one more.
    """
    nears = [near for one in steps if (near := _near(one))]
    found = iter(graph.neighbors_many([*steps, *nears]))
    plain = {one: next(found) for one in steps}
    cvts = {near: [e for e in next(found) if _is_cvt(graph, e, near)] for near in nears}
    results: dict[Step, list[Entity]] = {}
    for one in steps:
        if plain[one] or not _near(one):
            results[one] = _without_cvts(graph, one, plain[one])
    crossed = [one for one in plain if one not in results]
    results.update(_cross(graph, crossed, cvts))
    return [results[one] for one in steps]


def _is_cvt(graph: "KnowledgeGraph", end: Entity, over: Step) -> bool:
    return not is_literal(end.id) and graph.is_cvt_end(end, over.relation, over.direction)


def _behind(graph: "KnowledgeGraph", sides: list[Side]) -> dict[Side, list[Triple]]:
    """Return what stands around CVT nodes, over the first relations of each."""
    distinct = list(dict.fromkeys(sides))
    if not distinct:
        return {}
    found = graph.triples_many(distinct)
    return {side: _first_relations(triples) for side, triples in zip(distinct, found, strict=True)}


def _first_relations(triples: list[Triple]) -> list[Triple]:
    kept = set(list(dict.fromkeys(t.relation for t in triples))[:RELATIONS_PER_CVT])
    return [t for t in triples if t.relation in kept]


def _list_side(
    graph: "KnowledgeGraph",
    side: Side,
    plain: dict[str, int],
    seen: dict[Step, list[Entity]],
    cvts: dict[Step, list[Entity]],
    behind: dict[Side, list[Triple]],
) -> list[tuple[str, int]]:
    """Return the list of one side from all that was looked up for it."""
    listed: dict[str, int] = {}
    for relation, count in plain.items():
        look = Step(side.entity_id, relation, side.direction, CVTS_PER_RELATION)
        mediators = cvts.get(look, [])
        if not mediators or len(mediators) < len(seen[look]):
            listed[relation] = count - len(mediators)
        around = [t for cvt in mediators for t in behind[Side(cvt.id, side.direction)]]
        for pair, others in _pairs(graph, side, relation, around).items():
            if pair not in plain:
                listed[pair] = len(others)
    return sorted(listed.items())


def _pairs(
    graph: "KnowledgeGraph", side: Side, near: str, around: Iterable[Triple]
) -> dict[str, set[str]]:
    """Return what lies behind the CVT nodes at the end of `near`: ids of entities by `r1..r2`."""
    found: dict[str, set[str]] = {}
    if FLATTENED in near:
        return found
    out = side.direction == Direction.OUT
    for triple in around:
        cvt, other = (triple.head, triple.tail) if out else (triple.tail, triple.head)
        pair = (near, triple.relation) if out else (triple.relation, near)
        if other.id == side.entity_id or FLATTENED in pair[0]:
            continue
        if not _is_cvt(graph, other, Step(cvt.id, triple.relation, side.direction)):
            found.setdefault(FLATTENED.join(pair), set()).add(other.id)
    return found


def _near(one: Step) -> Step | None:
    """Return the first half of a flattened hop, as seen from the entity; `None` for a plain hop."""
    if FLATTENED not in one.relation:
        return None
    return Step(one.entity_id, _halves(one)[0], one.direction)


def _halves(one: Step) -> tuple[str, str]:
    first, _, second = one.relation.partition(FLATTENED)
    return (first, second) if one.direction == Direction.OUT else (second, first)


def _without_cvts(graph: "KnowledgeGraph", one: Step, first: list[Entity]) -> list[Entity]:
    """Return the step's entities; `first` is what the graph gave for it. Asks for more only where
    CVT nodes took the place of entities."""
    if not graph.leads_to_cvts(one.relation, one.direction):
        return first
    limit, found = one.limit, first
    while True:
        kept = [end for end in found if not _is_cvt(graph, end, one)]
        if one.limit is None or limit is None or len(kept) >= one.limit or len(found) < limit:
            return kept[: one.limit]
        limit = max(64, limit * 4)
        found = graph.neighbors(one.entity_id, one.relation, one.direction, limit)


def _cross(
    graph: "KnowledgeGraph", steps: list[Step], cvts: dict[Step, list[Entity]]
) -> dict[Step, list[Entity]]:
    """Return the flattened steps, over the CVT nodes at the end of each one's first half."""
    hops = {one: _far_hops(one, cvts) for one in steps}
    every = list(dict.fromkeys(hop for one in steps for hop in hops[one]))
    reached = dict(zip(every, graph.neighbors_many(every) if every else (), strict=True))
    results: dict[Step, list[Entity]] = {}
    for one in steps:
        others = {
            e.id: e
            for hop in hops[one]
            for e in reached[hop]
            if e.id != one.entity_id and not _is_cvt(graph, e, hop)
        }
        results[one] = sorted(others.values(), key=lambda end: end.id)[: one.limit]
    return results


def _far_hops(one: Step, cvts: dict[Step, list[Entity]]) -> list[Step]:
    near = _near(one)
    mediators = cvts[near] if near else []
    return [Step(cvt.id, _halves(one)[1], one.direction) for cvt in mediators]
