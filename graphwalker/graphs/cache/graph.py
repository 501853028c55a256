"""A graph behind a cache: for endpoints, whose every call is a round trip."""

from collections.abc import Sequence
from typing import Any

from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.graphs.batched import OverGraph
from graphwalker.graphs.cache.calls import AnsweringGraph, GraphCall, answer
from graphwalker.graphs.cache.memory import Cache

PROCESS_CACHE = Cache()
"""Shared by all cached graphs of this process that are given no cache of their own."""


class CachedGraph(OverGraph, AnsweringGraph):
    """Gives what `graph` gives and asks it once. `name` tells graphs of one cache apart: an
    address or a checksum, and whatever else changes the answers (language, named graph).

    Safe among threads where `graph` is. A failed call raises and is not remembered.
    """

    def __init__(self, graph: KnowledgeGraph, name: str, cache: Cache | None = None) -> None:
        super().__init__(graph)
        self._name = name
        self.cache = PROCESS_CACHE if cache is None else cache

    def answer(self, calls: Sequence[GraphCall]) -> list[Any]:
        keys = [(self._name, call) for call in calls]
        found = self.cache.get_many(keys, self._ask)
        return [list(one) if isinstance(one, list) else one for one in found]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]

    def _ask(self, keys: list[tuple[str, GraphCall]]) -> list[Any]:
        return answer(self.graph, [call for _, call in keys])
