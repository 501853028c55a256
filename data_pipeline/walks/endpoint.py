"""Walks over an endpoint: many attempts at once, their look-ups gathered into few requests."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import Any

from data_pipeline.config import SamplingConfig
from data_pipeline.seeds.seeds import lines_of
from graphwalker.config import Config
from graphwalker.errors import GraphError, UserError
from graphwalker.graphs.base import FLATTENED, Entity, KnowledgeGraph
from graphwalker.graphs.cache.calls import Ask, AskedGraph, answer
from graphwalker.graphs.compiled.graph import CompiledGraph
from graphwalker.graphs.compiled.open import open_graph
from graphwalker.graphs.open import is_endpoint, open_any

ATTEMPTS = 64
"""Attempts under way at once."""
REQUESTS = 2
"""Gatherings under way at once; what comes meanwhile waits for the next one."""


class EndpointGraph(AskedGraph):
    """Gives what `graph` gives. Look-ups of several threads go out together: while one gathering
    is answered the next one fills, so that requests are few where many walk and none waits long.

    `relations` are those that walks may take: an endpoint is not asked for all that it has.
    """

    size = 0  # it has no entities by number: walks start from a file of seeds

    def __init__(self, graph: KnowledgeGraph, address: str, relations: Sequence[str]) -> None:
        self._graph = graph
        self.checksum = address
        halves = {half for relation in relations for half in relation.split(FLATTENED)}
        self._relations = sorted(halves | set(relations))
        self._waiting: list[tuple[Sequence[Ask], Future[list[Any]]]] = []
        self._lock, self._requests = Lock(), BoundedSemaphore(REQUESTS)

    def relation_ids(self) -> list[str]:
        return list(self._relations)

    def entity_at(self, index: int) -> Entity:
        raise IndexError(index)

    def info(self) -> dict[str, int | str]:
        return {"endpoint": self.checksum}

    def answer(self, asks: Sequence[Ask]) -> list[Any]:
        found: Future[list[Any]] = Future()
        with self._lock:
            self._waiting.append((asks, found))
        with self._requests:
            if not found.done():
                self._ask_for_all()
        return found.result()

    def _ask_for_all(self) -> None:
        """Ask for everything that waits, and hand out the answers, or the failure."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        try:
            results = iter(answer(self._graph, [ask for asks, _ in waiting for ask in asks]))
        except BaseException as error:  # whatever it is, nobody is left waiting
            told = error if isinstance(error, Exception) else GraphError("the call was interrupted")
            for _, found in waiting:
                found.set_exception(told)
            raise
        for asks, found in waiting:
            found.set_result([next(results) for _ in asks])


class Threads:
    """Threads of this process as workers (a `pool.Engine`): they wait for an endpoint anyway."""

    def __init__(
        self,
        build: Callable[..., Callable[[Any], Any]],
        graph: Path | str,
        config: Config,
    ) -> None:
        self._make = build(graph, config)
        self._threads = ThreadPoolExecutor(ATTEMPTS)

    def submit(self, chunk: list[Any]) -> list[Future[Any]]:
        return [self._threads.submit(self._make, job) for job in chunk]

    def wait(self, chunk: list[Future[Any]]) -> list[Any]:
        return [made.result() for made in chunk]

    def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)


def open_seeded(graph: Path | str, config: SamplingConfig) -> CompiledGraph | EndpointGraph:
    """The graph that walks are made on: a compiled one, or an endpoint (`http...`) with the seeds
    and the predicates of the config. Raises `UserError` for an endpoint without them."""
    if not is_endpoint(graph):
        return open_graph(graph)
    if not config.seeds_file or not config.predicates_file:
        raise UserError(
            "walks over an endpoint need seeds_file=FILE and predicates_file=FILE: "
            "`graphwalker seeds` makes both from training questions"
        )
    opened = open_any(graph, wikidata=config.environment.layers.wikidata)
    return EndpointGraph(opened, str(graph), lines_of(config.predicates_file))
