"""Hops through CVT nodes: two relations around a mediator node, shown as one `r1..r2`."""

from collections.abc import Iterable, Sequence
from typing import Protocol, cast

from graphwalker.graphs.base import (
    FLATTENED,
    Direction,
    Entity,
    KnowledgeGraph,
    Side,
    Step,
    Triple,
)
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.names import names_nothing

__all__ = [
    "RELATIONS_PER_CVT",
    "flat_relations",
    "flat_relations_many",
    "is_cvt",
    "is_literal",
    "step",
    "step_many",
]

RELATIONS_PER_CVT = 50
"""Relations looked at around one CVT node (GraphWalker's limit)."""

CVTS_PER_RELATION = 1000
"""CVT nodes looked at to list what lies behind one relation; counts beyond are lower bounds."""


class CrossesCvts(Protocol):
    """What an embedded graph may offer to go through CVT nodes faster than over its neighbors."""

    def flat_relations(self, entity_id: str, direction: Direction) -> list[tuple[str, int]]:
        """Exactly what the function of that name gives without it."""
        ...

    def cross_cvts(
        self, entity_id: str, near: str, far: str, direction: Direction, limit: int | None
    ) -> list[Entity]:
        """The entities at `far` of the CVT nodes at `near` of the entity, but not itself."""
        ...


class TakesSteps(Protocol):
    """What an embedded graph may offer to take one step without making it a batch."""

    def step(
        self, entity_id: str, relation: str, direction: Direction, limit: int | None = None
    ) -> list[Entity]:
        """Exactly what the function of that name gives without it."""
        ...


class AnswersWholeSteps(Protocol):
    """What a remote graph may offer to answer a tool call in one or two round trips."""

    def flat_relations_many(self, sides: Sequence[Side]) -> list[list[tuple[str, int]]]:
        """Exactly what the function of that name gives without it."""
        ...

    def step_many(self, steps: Sequence[Step]) -> list[list[Entity]]:
        """Exactly what the function of that name gives without it."""
        ...


def is_cvt(graph: KnowledgeGraph, entity: Entity) -> bool:
    """True for a CVT node: by the graph's schema where it has one, else where there is no name,
    or an id in the place of one. A literal is never one."""
    if is_literal(entity.id):
        return False
    if known := getattr(graph, "is_cvt", None):
        return known(entity)
    return names_nothing(entity.name) and names_nothing(graph.name(entity.id))


def flat_relations(
    graph: KnowledgeGraph, entity_id: str, direction: Direction
) -> list[tuple[str, int]]:
    """The relations to list for an entity, by relation id, each with its number of entities.

    Plain relations that lead to entities or literals, and `r1..r2` for each way through a
    CVT node to another entity: outgoing `entity -r1-> cvt -r2-> x`, incoming `x -r1-> cvt -r2->
    entity`. Every one of them is accepted by `step`.
    """
    return flat_relations_many(graph, [Side(entity_id, direction)])[0]


def flat_relations_many(
    graph: KnowledgeGraph, sides: Sequence[Side]
) -> list[list[tuple[str, int]]]:
    """`flat_relations` of each side, in at most 3 calls of the graph's batched forms."""
    if hasattr(graph, "flat_relations_many"):
        return cast(AnswersWholeSteps, graph).flat_relations_many(sides)
    if hasattr(graph, "cross_cvts"):
        return [cast(CrossesCvts, graph).flat_relations(*side) for side in sides]
    ends = _Ends(graph)
    plain = [dict(relations) for relations in graph.relations_many(sides)]
    looks = [
        Step(side.entity_id, relation, side.direction, CVTS_PER_RELATION)
        for side, relations in zip(sides, plain, strict=True)
        for relation in relations
        if ends.may_be_cvts(relation, side.direction)
    ]
    seen = dict(zip(looks, graph.neighbors_many(looks) if looks else (), strict=True))
    cvts = {look: [e for e in seen[look] if ends.cvt(e, look)] for look in looks}
    behind = _behind(graph, [Side(e.id, look.direction) for look in looks for e in cvts[look]])
    return [
        _listed(side, relations, seen, cvts, behind, ends)
        for side, relations in zip(sides, plain, strict=True)
    ]


def step(
    graph: KnowledgeGraph,
    entity_id: str,
    relation: str,
    direction: Direction,
    limit: int | None = None,
) -> list[Entity]:
    """The entities one hop away over a plain or a flattened relation, in id order, each once.

    A graph may store `a..b` natively (Freebase slices do): that wins over the way through a CVT.
    CVT nodes are never among the results, nor is the entity itself where the hop is flattened.
    """
    if hasattr(graph, "step"):
        return cast(TakesSteps, graph).step(entity_id, relation, direction, limit)
    return step_many(graph, [Step(entity_id, relation, direction, limit)])[0]


def step_many(graph: KnowledgeGraph, steps: Sequence[Step]) -> list[list[Entity]]:
    """`step` of each, in 1 call of the graph's batched forms, 2 where a hop is flattened.

    A relation that leads to CVT nodes and to entities alike may need one more.
    """
    if hasattr(graph, "step_many"):
        return cast(AnswersWholeSteps, graph).step_many(steps)
    if hasattr(graph, "cross_cvts"):
        return [_native_step(graph, one) for one in steps]
    ends = _Ends(graph)
    nears = [near for one in steps if (near := _near(one))]
    found = iter(graph.neighbors_many([*steps, *nears]))
    plain = {one: next(found) for one in steps}
    cvts = {near: [e for e in next(found) if ends.cvt(e, near)] for near in nears}
    results: dict[Step, list[Entity]] = {}
    for one in steps:
        if plain[one] or not _near(one):
            results[one] = _without_cvts(graph, one, plain[one], ends)
    crossed = [one for one in plain if one not in results]
    results.update(_cross(graph, crossed, cvts, ends))
    return [results[one] for one in steps]


class _Ends:
    """Which nodes at the far end of a relation are CVT nodes: as the graph's schema says, else
    those without a name."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self._leads = getattr(graph, "leads_to_cvts", None)
        self._is_cvt_end = getattr(graph, "is_cvt_end", None)

    def may_be_cvts(self, relation: str, direction: Direction) -> bool:
        """A graph that knows its mediated relations spares us a look at every neighbor."""
        return self._leads is None or self._leads(relation, direction)

    def cvt(self, end: Entity, over: Step) -> bool:
        if is_literal(end.id):
            return False
        if self._is_cvt_end is not None:
            return self._is_cvt_end(end, over.relation, over.direction)
        return names_nothing(end.name)


def _behind(graph: KnowledgeGraph, sides: list[Side]) -> dict[Side, list[Triple]]:
    """What stands around CVT nodes, over the first relations of each."""
    distinct = list(dict.fromkeys(sides))
    if not distinct:
        return {}
    found = graph.triples_many(distinct)
    return {side: _first_relations(triples) for side, triples in zip(distinct, found, strict=True)}


def _first_relations(triples: list[Triple]) -> list[Triple]:
    kept = set(list(dict.fromkeys(t.relation for t in triples))[:RELATIONS_PER_CVT])
    return [t for t in triples if t.relation in kept]


def _listed(
    side: Side,
    plain: dict[str, int],
    seen: dict[Step, list[Entity]],
    cvts: dict[Step, list[Entity]],
    behind: dict[Side, list[Triple]],
    ends: _Ends,
) -> list[tuple[str, int]]:
    """The list of one side from all that was looked up for it."""
    listed: dict[str, int] = {}
    for relation, count in plain.items():
        look = Step(side.entity_id, relation, side.direction, CVTS_PER_RELATION)
        mediators = cvts.get(look, [])
        if not mediators or len(mediators) < len(seen[look]):
            listed[relation] = count - len(mediators)
        around = [t for cvt in mediators for t in behind[Side(cvt.id, side.direction)]]
        for pair, others in _pairs(side, relation, around, ends).items():
            if pair not in plain:
                listed[pair] = len(others)
    return sorted(listed.items())


def _pairs(side: Side, near: str, around: Iterable[Triple], ends: _Ends) -> dict[str, set[str]]:
    """What lies behind the CVT nodes at the end of `near`: ids of entities by `r1..r2`."""
    found: dict[str, set[str]] = {}
    if FLATTENED in near:
        return found
    out = side.direction is Direction.OUT
    for triple in around:
        cvt, other = (triple.head, triple.tail) if out else (triple.tail, triple.head)
        pair = (near, triple.relation) if out else (triple.relation, near)
        if other.id == side.entity_id or FLATTENED in pair[0]:
            continue
        if not ends.cvt(other, Step(cvt.id, triple.relation, side.direction)):
            found.setdefault(FLATTENED.join(pair), set()).add(other.id)
    return found


def _near(one: Step) -> Step | None:
    """The first half of a flattened hop, as seen from the entity; `None` for a plain hop."""
    if FLATTENED not in one.relation:
        return None
    return Step(one.entity_id, _halves(one)[0], one.direction)


def _halves(one: Step) -> tuple[str, str]:
    first, _, second = one.relation.partition(FLATTENED)
    return (first, second) if one.direction is Direction.OUT else (second, first)


def _without_cvts(
    graph: KnowledgeGraph, one: Step, first: list[Entity], ends: _Ends
) -> list[Entity]:
    """The step's entities; `first` is what the graph gave for it. Asks for more only where CVT
    nodes took the place of entities."""
    if not ends.may_be_cvts(one.relation, one.direction):
        return first
    asked, found = one.limit, first
    while True:
        kept = [end for end in found if not ends.cvt(end, one)]
        if one.limit is None or asked is None or len(kept) >= one.limit or len(found) < asked:
            return kept[: one.limit]
        asked = max(64, asked * 4)
        found = graph.neighbors(one.entity_id, one.relation, one.direction, asked)


def _cross(
    graph: KnowledgeGraph, steps: list[Step], cvts: dict[Step, list[Entity]], ends: _Ends
) -> dict[Step, list[Entity]]:
    """The flattened steps, over the CVT nodes at the end of each one's first half."""
    hops = {one: _far_hops(one, cvts) for one in steps}
    every = list(dict.fromkeys(hop for one in steps for hop in hops[one]))
    reached = dict(zip(every, graph.neighbors_many(every) if every else (), strict=True))
    results: dict[Step, list[Entity]] = {}
    for one in steps:
        others = {
            e.id: e
            for hop in hops[one]
            for e in reached[hop]
            if e.id != one.entity_id and not ends.cvt(e, hop)
        }
        results[one] = sorted(others.values(), key=_by_id)[: one.limit]
    return results


def _far_hops(one: Step, cvts: dict[Step, list[Entity]]) -> list[Step]:
    near = _near(one)
    mediators = cvts[near] if near else []
    return [Step(cvt.id, _halves(one)[1], one.direction) for cvt in mediators]


def _native_step(graph: KnowledgeGraph, one: Step) -> list[Entity]:
    found = _without_cvts(graph, one, graph.neighbors(*one), _Ends(graph))
    if found or FLATTENED not in one.relation:
        return found
    if graph.count(one.entity_id, one.relation, one.direction):
        return []
    near, far = _halves(one)
    crossing = cast(CrossesCvts, graph)
    return crossing.cross_cvts(one.entity_id, near, far, one.direction, one.limit)


def _by_id(entity: Entity) -> bytes:
    return entity.id.encode()
