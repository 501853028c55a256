"""Hops through CVT nodes: two relations around a node without a name, shown as one `r1..r2`."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, cast

from graphwalker.graphs.base import FLATTENED, Direction, Entity, KnowledgeGraph
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.names import names_nothing

__all__ = ["RELATIONS_PER_CVT", "flat_relations", "is_cvt", "is_literal", "step"]

RELATIONS_PER_CVT = 50
"""Relations looked at around one CVT node (GraphWalker's limit)."""

CVTS_PER_RELATION = 1000
"""CVT nodes looked at to list what lies behind one relation; counts beyond are lower bounds."""


class CrossesCvts(Protocol):
    """What a graph may offer to go through CVT nodes faster than over its neighbors."""

    def flat_relations(self, entity_id: str, direction: Direction) -> list[tuple[str, int]]:
        """Exactly what the function of that name gives without it."""
        ...

    def cross_cvts(
        self, entity_id: str, near: str, far: str, direction: Direction, limit: int | None
    ) -> list[Entity]:
        """The entities at `far` of the CVT nodes at `near` of the entity, but not itself."""
        ...


def is_cvt(graph: KnowledgeGraph, entity: Entity) -> bool:
    """True for a node with no name, or with an id in the place of one, that is not a literal."""
    if is_literal(entity.id):
        return False
    return names_nothing(entity.name) and names_nothing(graph.name(entity.id))


def flat_relations(
    graph: KnowledgeGraph, entity_id: str, direction: Direction
) -> list[tuple[str, int]]:
    """The relations to list for an entity, by relation id, each with its number of entities.

    Plain relations that lead to named entities or literals, and `r1..r2` for each way through a
    CVT node to another entity: outgoing `entity -r1-> cvt -r2-> x`, incoming `x -r1-> cvt -r2->
    entity`. Every one of them is accepted by `step`.
    """
    if native := _crossing(graph):
        return native.flat_relations(entity_id, direction)
    plain = dict(graph.relations(entity_id, direction))
    leads_to_cvts = _cvt_test(graph)
    listed: dict[str, int] = {}
    for relation, count in plain.items():
        if not leads_to_cvts(relation, direction):
            listed[relation] = count
            continue
        ends = graph.neighbors(entity_id, relation, direction, CVTS_PER_RELATION)
        cvts = [end for end in ends if _nameless(end)]
        if len(cvts) < len(ends):
            listed[relation] = count - len(cvts)
        for pair, others in _around(graph, entity_id, relation, cvts, direction).items():
            if pair not in plain:
                listed[pair] = len(others)
    return sorted(listed.items())


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
    found = _plain_step(graph, entity_id, relation, direction, limit)
    if found or FLATTENED not in relation:
        return found
    if graph.count(entity_id, relation, direction):
        return []
    first, _, second = relation.partition(FLATTENED)
    near, far = (first, second) if direction is Direction.OUT else (second, first)
    if native := _crossing(graph):
        return native.cross_cvts(entity_id, near, far, direction, limit)
    others: dict[str, Entity] = {}
    for cvt in filter(_nameless, graph.neighbors(entity_id, near, direction)):
        for other in graph.neighbors(cvt.id, far, direction):
            if other.id != entity_id and not _nameless(other):
                others[other.id] = other
    return sorted(others.values(), key=_by_id)[:limit]


def _plain_step(
    graph: KnowledgeGraph, entity_id: str, relation: str, direction: Direction, limit: int | None
) -> list[Entity]:
    if not _cvt_test(graph)(relation, direction):
        return graph.neighbors(entity_id, relation, direction, limit)
    asked = limit
    while True:
        ends = graph.neighbors(entity_id, relation, direction, asked)
        named = [end for end in ends if not _nameless(end)]
        if limit is None or asked is None or len(named) >= limit or len(ends) < asked:
            return named[:limit]
        asked = max(64, asked * 4)


def _around(
    graph: KnowledgeGraph, entity_id: str, near: str, cvts: Iterable[Entity], direction: Direction
) -> dict[str, set[str]]:
    """What lies behind the CVT nodes at the end of `near`: ids of entities by `r1..r2`."""
    found: dict[str, set[str]] = {}
    if FLATTENED in near:
        return found
    for cvt in cvts:
        for far, other in _second_hops(graph, cvt.id, direction):
            if other.id == entity_id or _nameless(other):
                continue
            pair = (near, far) if direction is Direction.OUT else (far, near)
            if FLATTENED not in pair[0]:
                found.setdefault(FLATTENED.join(pair), set()).add(other.id)
    return found


def _second_hops(
    graph: KnowledgeGraph, cvt_id: str, direction: Direction
) -> Iterator[tuple[str, Entity]]:
    for relation, _ in graph.relations(cvt_id, direction)[:RELATIONS_PER_CVT]:
        for other in graph.neighbors(cvt_id, relation, direction):
            yield relation, other


def _cvt_test(graph: KnowledgeGraph) -> Callable[[str, Direction], bool]:
    """A graph that knows its mediated relations spares us a look at every neighbor."""
    known: Callable[[str, Direction], bool] | None = getattr(graph, "leads_to_cvts", None)
    return known or _always


def _crossing(graph: KnowledgeGraph) -> CrossesCvts | None:
    return cast(CrossesCvts, graph) if hasattr(graph, "cross_cvts") else None


def _always(relation: str, direction: Direction) -> bool:
    return True


def _nameless(entity: Entity) -> bool:
    return names_nothing(entity.name) and not is_literal(entity.id)


def _by_id(entity: Entity) -> bytes:
    return entity.id.encode()
