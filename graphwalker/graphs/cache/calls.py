"""Graph calls: look-ups of a graph as data, to be gathered, cached, recorded and replayed."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from graphwalker.errors import GraphError
from graphwalker.graphs.base import (
    AtLeast,
    BatchedGraph,
    Direction,
    Entity,
    KnowledgeGraph,
    Side,
    Step,
    Triple,
)


class GraphCall(NamedTuple):
    """A method of the graph and its arguments: texts, numbers, `None`, tuples of texts."""

    method: str
    arguments: tuple[Any, ...]


def answer(graph: KnowledgeGraph, calls: Sequence[GraphCall]) -> list[Any]:
    """Return what the graph answers to each call, in one call of a batched form for each method."""
    found: dict[GraphCall, Any] = {}
    methods = dict.fromkeys(call.method for call in calls)
    for method in methods:
        of_method = list(dict.fromkeys(call for call in calls if call.method == method))
        results = _ANSWERS[method](graph, [call.arguments for call in of_method])
        if len(results) != len(of_method):
            raise GraphError(f"{method}: {len(of_method)} calls, {len(results)} answers")
        found.update(zip(of_method, results, strict=True))
    return [found[call] for call in calls]


def encode(result: Any) -> Any:
    """Return the result as JSON data; `decode` gives it back."""
    return [_encode_item(item) for item in result] if isinstance(result, list) else result  # pyright: ignore[reportUnknownVariableType]


def decode(method: str, data: Any) -> Any:
    """Return the result of `method` from its JSON data. Raises `GraphError` where it is not one."""
    try:
        return _DECODERS[method](data)
    except (TypeError, ValueError, KeyError, IndexError):
        raise GraphError(f"not a result of {method}: {str(data)[:80]}") from None


class AnsweringGraph(BatchedGraph):
    """A graph whose every look-up is a call as data: a subclass says what answers them."""

    @abstractmethod
    def answer(self, calls: Sequence[GraphCall]) -> list[Any]:
        """Return one result for each call, in their order. Raises `GraphError`."""

    def resolve(self, name: str) -> list[Entity]:
        return self._one("resolve", name)

    def name(self, entity_id: str) -> str:
        return self._one("name", entity_id)

    def count(self, entity_id: str, relation: str, direction: Direction) -> int:
        return self._one("count", entity_id, relation, direction)

    def types(self, entity_id: str) -> list[str]:
        return self._one("types", entity_id)

    def names_many(self, entity_ids: Sequence[str]) -> list[str]:
        return self.answer([GraphCall("name", (entity_id,)) for entity_id in entity_ids])

    def relations_many(self, sides: Sequence[Side]) -> list[list[tuple[str, int]]]:
        return self.answer([GraphCall("relations", tuple(side)) for side in sides])

    def neighbors_many(self, steps: Sequence[Step]) -> list[list[Entity]]:
        return self.answer([GraphCall("neighbors", tuple(step)) for step in steps])

    def triples_many(
        self,
        sides: Sequence[Side],
        relations: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[list[Triple]]:
        over = None if relations is None else tuple(relations)
        return self.answer([GraphCall("triples", (*side, over, limit)) for side in sides])

    def flat_relations_many(self, sides: Sequence[Side]) -> list[list[tuple[str, int]]]:
        return self.answer([GraphCall("flat_relations", tuple(side)) for side in sides])

    def step_many(self, steps: Sequence[Step]) -> list[list[Entity]]:
        return self.answer([GraphCall("step", tuple(step)) for step in steps])

    def _one(self, method: str, *arguments: Any) -> Any:
        return self.answer([GraphCall(method, arguments)])[0]


Arguments = list[tuple[Any, ...]]
_OR_MORE = "or more"
"""Behind a count that was not finished."""


def _triples(graph: KnowledgeGraph, calls: Arguments) -> list[list[Triple]]:
    groups: dict[Any, list[Side]] = {}
    for entity_id, direction, relations, limit in calls:
        groups.setdefault((relations, limit), []).append(Side(entity_id, direction))
    found = {
        (*side, *key): triples
        for key, sides in groups.items()
        for side, triples in zip(sides, graph.triples_many(sides, *key), strict=True)
    }
    return [found[one] for one in calls]


_ANSWERS: dict[str, Callable[[KnowledgeGraph, Arguments], list[Any]]] = {
    "resolve": lambda graph, calls: [graph.resolve(*one) for one in calls],
    "count": lambda graph, calls: [graph.count(*one) for one in calls],
    "types": lambda graph, calls: [graph.types(*one) for one in calls],
    "name": lambda graph, calls: graph.names_many([one[0] for one in calls]),
    "relations": lambda graph, calls: graph.relations_many([Side(*one) for one in calls]),
    "neighbors": lambda graph, calls: graph.neighbors_many([Step(*one) for one in calls]),
    "triples": _triples,
    "flat_relations": lambda g, calls: g.flat_relations_many([Side(*one) for one in calls]),
    "step": lambda graph, calls: graph.step_many([Step(*one) for one in calls]),
}


def _encode_item(item: Any) -> Any:
    if isinstance(item, Entity):
        return [item.id, item.name]
    match item:
        case (str() as relation, AtLeast() as count):
            return [relation, int(count), _OR_MORE]
        case _:
            pass
    if isinstance(item, Triple):
        return [*_encode_item(item.head), item.relation, *_encode_item(item.tail)]
    return item


def _texts(data: Any) -> list[str]:
    return [_text(item) for item in _as_list(data)]


def _text(data: Any) -> str:
    if not isinstance(data, str):
        raise TypeError
    return data


def _as_list(data: Any) -> list[Any]:
    if not isinstance(data, list):
        raise TypeError
    return data  # pyright: ignore[reportUnknownVariableType]


def _entities(data: Any) -> list[Entity]:
    return [Entity(_text(entity_id), _text(name)) for entity_id, name in _as_list(data)]


def _read_counts(data: Any) -> list[tuple[str, int]]:
    return [_count(*item) for item in _as_list(data)]


def _count(relation: Any, count: Any, mark: str = "") -> tuple[str, int]:
    if mark not in ("", _OR_MORE):
        raise ValueError(mark)
    return _text(relation), AtLeast(count) if mark else int(count)


def _decode_triples(data: Any) -> list[Triple]:
    return [
        Triple(Entity(head, head_name), relation, Entity(tail, tail_name))
        for head, head_name, relation, tail, tail_name in map(_texts, _as_list(data))
    ]


_DECODERS: dict[str, Callable[[Any], Any]] = {
    "resolve": _entities,
    "count": int,
    "types": _texts,
    "name": _text,
    "relations": _read_counts,
    "neighbors": _entities,
    "triples": _decode_triples,
    "flat_relations": _read_counts,
    "step": _entities,
}
