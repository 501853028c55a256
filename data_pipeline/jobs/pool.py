"""Worker processes that make numbered records, handed over in order for any number of workers."""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from graphwalker.config import Config
from graphwalker.errors import GraphWalkerError
from graphwalker.graphs.open import is_endpoint

J = TypeVar("J")
R = TypeVar("R")

CHUNK = 16
"""Jobs handed to a worker at once."""

Build = Callable[[Path | str, Config], Callable[[Any], Any]]
"""A module-level function that opens the graph and returns what makes one record of one job."""

_make: Callable[[Any], Any] | None = None


class Engine(Protocol):
    """Where workers run. `wait` gives the records of a submitted chunk."""

    def submit(self, chunk: list[Any]) -> Any: ...

    def wait(self, chunk: Any) -> list[Any]: ...

    def close(self) -> None: ...


class Pool(Generic[J, R]):
    """Runs `make(job)` in `workers` processes, each of which opens the graph itself; in this one
    when there is one worker, in threads of this one over an endpoint. `engine` is `processes` or
    `ray`. Use as a context manager."""

    def __init__(
        self,
        build: Build,
        graph: Path | str,
        config: Config,
        workers: int,
        engine: str = "processes",
    ) -> None:
        self._workers = workers
        self._here: Callable[[J], R] | None = None
        self._engine: Engine | None = None
        if is_endpoint(graph):
            from data_pipeline.walks.endpoint import ATTEMPTS, Threads

            self._workers, self._engine = ATTEMPTS // CHUNK, Threads(build, graph, config)
        elif engine == "ray":
            from data_pipeline.jobs.ray import RayActors

            self._engine = RayActors(build, graph, config, workers)
        elif workers > 1:
            self._engine = _Processes(build, graph, config, workers)
        else:
            self._here = build(graph, config)

    def results(self, jobs: Iterable[J]) -> Iterator[R]:
        """The record of every job, in the order of the jobs; works a little ahead of its reader."""
        engine = self._engine
        if engine is None:
            assert self._here is not None
            yield from map(self._here, jobs)
            return
        source = iter(jobs)
        ahead: deque[Any] = deque()
        while True:
            while len(ahead) <= self._workers and (chunk := _chunk(source)):
                ahead.append(engine.submit(chunk))
            if not ahead:
                return
            yield from engine.wait(ahead.popleft())

    def __enter__(self) -> "Pool[J, R]":
        return self

    def __exit__(self, *_: object) -> None:
        if self._engine is not None:
            self._engine.close()


class _Processes:
    """Worker processes of this machine."""

    def __init__(self, build: Build, graph: Path | str, config: Config, workers: int) -> None:
        self._executor = ProcessPoolExecutor(
            workers, get_context("spawn"), initializer=_start, initargs=(build, graph, config)
        )

    def submit(self, chunk: list[Any]) -> Future[list[Any]]:
        return self._executor.submit(_run, chunk)

    def wait(self, chunk: Future[list[Any]]) -> list[Any]:
        try:
            return chunk.result()
        except BrokenProcessPool:
            raise GraphWalkerError(
                "a worker process was killed (out of memory?); what is made so far is kept: "
                "run the same command again, with fewer workers"
            ) from None

    def close(self) -> None:
        self._executor.shutdown(cancel_futures=True)


def _chunk(source: Iterator[J]) -> list[J]:
    return list(islice(source, CHUNK))


def _start(build: Build, graph: Path | str, config: Config) -> None:
    global _make
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _make = build(graph, config)


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for its next chunk for ever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run(chunk: list[Any]) -> list[Any]:
    assert _make is not None
    return [_make(job) for job in chunk]
