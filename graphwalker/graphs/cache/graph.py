"""A graph behind a cache of look-ups: each asked once, bounded by bytes, on disk if wanted."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from threading import Lock
from typing import Any, Protocol, TypeVar

from graphwalker.errors import GraphError
from graphwalker.graphs.base import Entity, KnowledgeGraph, OverGraph, Triple
from graphwalker.graphs.cache.calls import AnsweringGraph, GraphCall, answer

K = TypeVar("K", bound=Hashable)

DEFAULT_BYTES = 256 << 20
_OVERHEAD = 120
"""Bytes of a list or an entry besides its items: an estimate of object headers and table slots."""


class Tier(Protocol):
    """A slower store beneath the memory: what it returns counts as known."""

    def read(self, keys: Sequence[Any]) -> dict[Any, Any]:
        """Return the values of those keys that are known."""
        ...

    def write(self, found: dict[Any, Any]) -> None:
        """Keep the values."""
        ...


class Cache:
    """Values by key, the least recently used ones dropped once `max_bytes` are reached.

    Safe among threads: a key that several threads want at once is computed by one of them, the
    others wait. An error is handed to those who wait and is not kept.
    """

    def __init__(self, max_bytes: int = DEFAULT_BYTES, disk: Tier | None = None) -> None:
        self._max_bytes = max_bytes
        self._disk = disk
        self._lock = Lock()
        self._entries: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._flights: dict[Hashable, Future[Any]] = {}
        self.bytes = 0

    def get_many(self, keys: Sequence[K], compute: Callable[[list[K]], list[Any]]) -> list[Any]:
        """Return the value of each key; `compute` gives those that nobody knows, in one call."""
        found, mine, others = self._sort_out(keys)
        if mine:
            found.update(self._fly(mine, compute))
        for key, flight in others.items():
            found[key] = flight.result()
        return [found[key] for key in keys]

    def _sort_out(self, keys: Sequence[K]) -> tuple[dict[K, Any], list[K], dict[K, Future[Any]]]:
        """Tell what is known, what this thread takes upon itself, and what others are computing."""
        found: dict[K, Any] = {}
        mine: list[K] = []
        others: dict[K, Future[Any]] = {}
        with self._lock:
            for key in dict.fromkeys(keys):
                if key in self._entries:
                    self._entries.move_to_end(key)
                    found[key] = self._entries[key][0]
                elif key in self._flights:
                    others[key] = self._flights[key]
                else:
                    self._flights[key] = Future()
                    mine.append(key)
        return found, mine, others

    def _fly(self, mine: list[K], compute: Callable[[list[K]], list[Any]]) -> dict[K, Any]:
        try:
            known = self._disk.read(mine) if self._disk else {}
            missing = [key for key in mine if key not in known]
            new = dict(zip(missing, compute(missing), strict=True)) if missing else {}
            if self._disk and new:
                self._disk.write(new)
        except BaseException as error:
            self._land_with(mine, error)
            raise
        found = {**known, **new}
        with self._lock:
            for key in mine:
                self._keep(key, found[key])
                self._flights.pop(key).set_result(found[key])
        return found

    def _land_with(self, mine: list[K], error: BaseException) -> None:
        """Wake those who wait: none may wait for ever, or be interrupted in another's place."""
        known = error if isinstance(error, Exception) else GraphError("the call was interrupted")
        with self._lock:
            for key in mine:
                self._flights.pop(key).set_exception(known)

    def _keep(self, key: Hashable, value: Any) -> None:
        size = weight(key) + weight(value)
        if size > self._max_bytes:
            return
        self._entries[key] = (value, size)
        self.bytes += size
        while self.bytes > self._max_bytes:
            _, (_, dropped) = self._entries.popitem(last=False)
            self.bytes -= dropped


def weight(value: Any) -> int:
    """About how many bytes of memory the value takes."""
    if isinstance(value, str):
        return 56 + len(value) * (1 if value.isascii() else 4)
    if isinstance(value, Entity):
        return 56 + weight(value.id) + weight(value.name)
    if isinstance(value, Triple):
        return 64 + weight(value.head) + weight(value.relation) + weight(value.tail)
    if isinstance(value, list | tuple):
        return _OVERHEAD + sum(8 + weight(item) for item in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return 28


PROCESS_CACHE = Cache()
"""Shared by all cached graphs of this process that are given no cache of their own."""


class CachedGraph(AnsweringGraph, OverGraph):
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

    def sparql(self, query: str, timeout_s: float = 60.0) -> list[dict[str, Entity]] | bool:
        return self.graph.sparql(query, timeout_s)

    def _ask(self, keys: list[tuple[str, GraphCall]]) -> list[Any]:
        return answer(self.graph, [call for _, call in keys])
