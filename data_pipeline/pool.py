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
from typing import Any, Generic, TypeVar

from graphwalker.config import Config
from graphwalker.errors import GraphWalkerError

J = TypeVar("J")
R = TypeVar("R")

CHUNK = 16
"""Jobs handed to a worker at once."""

Build = Callable[[Path, Config], Callable[[Any], Any]]
"""A module-level function that opens the graph and returns what makes one record of one job."""

_make: Callable[[Any], Any] | None = None


class Pool(Generic[J, R]):
    """Runs `make(job)` in `workers` processes, each of which opens the graph itself; in this one
    when there is one worker. Use as a context manager."""

    def __init__(self, build: Build, graph: Path, config: Config, workers: int) -> None:
        self._workers = workers
        self._here: Callable[[J], R] | None = build(graph, config) if workers == 1 else None
        self._executor = None
        if workers > 1:
            self._executor = ProcessPoolExecutor(
                workers, get_context("spawn"), initializer=_start, initargs=(build, graph, config)
            )

    def results(self, jobs: Iterable[J]) -> Iterator[R]:
        """The record of every job, in the order of the jobs; works a little ahead of its reader."""
        executor = self._executor
        if executor is None:
            assert self._here is not None
            yield from map(self._here, jobs)
            return
        source = iter(jobs)
        ahead: deque[Future[list[R]]] = deque()
        while True:
            while len(ahead) <= self._workers and (chunk := _chunk(source)):
                ahead.append(executor.submit(_run, chunk))
            if not ahead:
                return
            try:
                yield from ahead.popleft().result()
            except BrokenProcessPool:
                raise GraphWalkerError(
                    "a worker process was killed (out of memory?); what is made so far is kept: "
                    "run the same command again, with fewer workers"
                ) from None

    def __enter__(self) -> "Pool[J, R]":
        return self

    def __exit__(self, *_: object) -> None:
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)


def _chunk(source: Iterator[J]) -> list[J]:
    return list(islice(source, CHUNK))


def _start(build: Build, graph: Path, config: Config) -> None:
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
