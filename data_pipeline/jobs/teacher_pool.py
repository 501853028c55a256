"""Attempts made by threads around one teacher, handed over in order, none that is not needed."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Generic, TypeVar

from data_pipeline.config import SamplingConfig
from data_pipeline.jobs.pool import Pool
from data_pipeline.teacher.client import TeacherClient

J = TypeVar("J")
R = TypeVar("R")

TaughtBuild = Callable[..., Callable[[Any], Any]]
"""As `pool.Build`; it takes the line to a chat model, too."""
TEACHER = "teacher"
"""The folder of a run that holds its teacher's answers."""
AHEAD = 4
"""Attempts begun for each request that may be under way: most of them end without a request."""


class TeacherPool(Generic[J, R]):
    """As `Pool`, with `teacher.concurrency` threads in this process. Use as a context manager."""

    def __init__(
        self, build: TaughtBuild, graph: Path | str, config: SamplingConfig, out: Path
    ) -> None:
        self._client = TeacherClient(config.teacher, out / TEACHER)
        self._make: Callable[[J], R] = build(graph, config, self._client)
        self._most = AHEAD * config.teacher.concurrency
        self._threads = ThreadPoolExecutor(config.teacher.concurrency)

    def results(self, jobs: Iterable[J], room: Callable[[], int] | None = None) -> Iterator[R]:
        """The record of every job, in order. At most `room()` jobs are under way: where each is
        kept and no more are wanted, nothing was paid for in vain."""
        source, ahead = iter(jobs), deque[Future[R]]()
        while True:
            while len(ahead) < min(self._most, room() if room else self._most):
                try:
                    ahead.append(self._threads.submit(self._make, next(source)))
                except StopIteration:
                    break
            if not ahead:
                return
            yield ahead.popleft().result()

    def __enter__(self) -> "TeacherPool[J, R]":
        return self

    def __exit__(self, *_: object) -> None:
        self._client.stop()
        self._threads.shutdown(cancel_futures=True)
        self._client.close()


def open_pool(
    build: TaughtBuild, graph: Path | str, config: SamplingConfig, out: Path
) -> Pool[Any, Any] | TeacherPool[Any, Any]:
    """Threads where a chat model teaches, else worker processes."""
    if config.teacher.chats:
        return TeacherPool(build, graph, config, out)
    return Pool(build, graph, config, config.workers, config.engine)
