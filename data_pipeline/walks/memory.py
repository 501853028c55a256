"""What walks remember of a graph: the steps taken lately, so that proofs do not take them again."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, OverGraph, Side, Step
from graphwalker.graphs.cache.calls import AnsweringGraph, GraphCall, answer

STEPS = 1 << 16
"""Steps of one generation; two generations are kept."""

ListingKey = tuple[str, str, Direction]
Known = tuple[int | None, list[Entity]]
"""The limit of the call, and what came."""


class RememberedGraph(AnsweringGraph, OverGraph):
    """Gives what `graph` gives. A step that was taken with the same limit, or came to its end
    below it, is not taken again: a walk is executed and proven over the steps that made it.

    The memory is bounded: its size depends on no number of walks. Safe among threads where `graph`
    is. The lists that it gives are its own: they are not to be changed.
    """

    def __init__(self, graph: KnowledgeGraph, size: int = STEPS) -> None:
        super().__init__(graph)
        self._size = size
        self._young: dict[ListingKey, Known] = {}
        self._old: dict[ListingKey, Known] = {}

    def answer(self, calls: Sequence[GraphCall]) -> list[Any]:
        return answer(self.graph, calls)

    def offers(self, hops: Iterable[tuple[str, Direction]]) -> Callable[[str], bool]:
        return self.graph.offers(hops)

    def flat_relations_many(self, sides: Sequence[Side]) -> list[list[tuple[str, int]]]:
        return self.graph.flat_relations_many(sides)

    def step_many(self, steps: Sequence[Step]) -> list[list[Entity]]:
        return [self.step(*one) for one in steps]

    def step(
        self, entity_id: str, relation: str, direction: Direction, limit: int | None = None
    ) -> list[Entity]:
        """As the graph's own."""
        key = entity_id, relation, direction
        known = self._young.get(key)
        if known is None and (known := self._old.get(key)):
            self._keep(key, known)
        limited, found = known or (0, [])
        # What was cut at a limit says enough for no larger one.
        enough = limited is None or len(found) < limited or (limit is not None and limit <= limited)
        if known is None or not enough:
            found = self.graph.step(entity_id, relation, direction, limit)
            self._keep(key, (limit, found))
        return found if limit is None or len(found) <= limit else found[:limit]

    def _keep(self, key: ListingKey, found: Known) -> None:
        if len(self._young) >= self._size:
            self._old, self._young = self._young, {}
        self._young[key] = found
