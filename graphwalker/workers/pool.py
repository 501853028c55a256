"""Workers: jobs done in this thread, by threads or by processes, their results in job order."""

import logging
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from itertools import islice
from multiprocessing import get_context, parent_process
from typing import Any, Generic, Protocol, TypeVar

from graphwalker.errors import GraphWalkerError

J = TypeVar("J")
R = TypeVar("R")

log = logging.getLogger(__name__)
SILENT_S = 2.0
"""Seconds that threads may take to end before a line says what they wait for."""


Taken = Callable[[], list[Any]]
"""Waits for the results of a chunk of jobs and gives them. Raises what the worker raised."""


_waits: dict[int, tuple[float, str]] = {}
"""By thread: since when it waits, and for what."""


@contextmanager
def waiting_for(what: str) -> Generator[None, None, None]:
    """While the block runs, `what` is what a watchdog names if nothing else happens."""
    thread = threading.get_ident()
    _waits[thread] = time.monotonic(), what
    try:
        yield
    finally:
        _waits.pop(thread, None)


_counts: dict[str, float] = {}
"""What this process has done so far, by kind."""


def count_work(**done: float) -> None:
    """Add to what lines of progress tell of this process: `episodes`, `turns`, `cost`, and tokens
    `read`, `written` and `trained`. They are shown, never computed with."""
    for kind, amount in done.items():
        _counts[kind] = _counts.get(kind, 0) + amount


def work_since(before: Mapping[str, float]) -> dict[str, float]:
    """Return what was done since `work_since({})` gave `before`."""
    return {kind: done - before.get(kind, 0) for kind, done in _counts.copy().items()}


def longest_wait() -> tuple[str, float] | None:
    """Return what is waited for longest, and for how many seconds; `None` where nothing is."""
    since, what = min(_waits.copy().values(), default=(0.0, ""))
    return (what, time.monotonic() - since) if what else None


class Backend(Protocol):
    """Where workers run."""

    def submit(self, chunk: list[Any]) -> Taken: ...

    def close(self) -> None: ...


class Pool(Generic[J, R]):
    """Does jobs and hands over their results in the order of the jobs, whatever does them.

    At most `ahead` chunks of `chunk` jobs are under way. Use as a context manager.
    """

    def __init__(
        self, backend: Backend, ahead: int = 1, chunk: int = 1, *, frugal: bool = False
    ) -> None:
        """`frugal`: jobs cost money, so that none is begun that may not be wanted."""
        self._backend, self._ahead, self._chunk, self._frugal = backend, ahead, chunk, frugal

    def results(self, jobs: Iterable[J], wanted: Callable[[], int] | None = None) -> Iterator[R]:
        """Return the result of every job; works a little ahead of its reader.

        A frugal pool has at most `wanted()` chunks under way: where each is kept and no
        more are wanted, nothing was paid for in vain. It begins at once, so that streams of
        several kinds of jobs wait for a server side by side; others begin with their reader.
        """
        source, ahead = iter(jobs), deque[Taken]()
        if wanted and self._frugal:
            self._fill(ahead, source, wanted)
        return self._read(ahead, source, wanted)

    def _fill(
        self, ahead: deque[Taken], source: Iterator[J], wanted: Callable[[], int] | None
    ) -> None:
        most = min(self._ahead, wanted()) if wanted and self._frugal else self._ahead
        while len(ahead) < most and (chunk := list(islice(source, self._chunk))):
            ahead.append(self._backend.submit(chunk))

    def _read(
        self, ahead: deque[Taken], source: Iterator[J], wanted: Callable[[], int] | None
    ) -> Iterator[R]:
        while True:
            self._fill(ahead, source, wanted)
            if not ahead:
                return
            yield from ahead.popleft()()

    def __enter__(self) -> "Pool[J, R]":
        return self

    def __exit__(self, *_: object) -> None:
        self._backend.close()


class InLine:
    """This thread: a job is done when its result is taken."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self._work = work

    def submit(self, chunk: list[Any]) -> Taken:
        return lambda: list(map(self._work, chunk))

    def close(self) -> None:
        pass


class Threads:
    """Threads of this process, for work that waits for others."""

    def __init__(
        self, work: Callable[[Any], Any], workers: int, stop: Callable[[], None] = lambda: None
    ) -> None:
        """`stop` is called first on closing: what makes work under way end soon."""
        self._work, self._stop = work, stop
        self._threads = ThreadPoolExecutor(workers)
        self._jobs: set[Future[list[Any]]] = set()

    def submit(self, chunk: list[Any]) -> Taken:
        job = self._threads.submit(lambda: list(map(self._work, chunk)))
        self._jobs.add(job)
        job.add_done_callback(self._jobs.discard)
        return job.result

    def close(self) -> None:
        self._stop()
        self._threads.shutdown(wait=False, cancel_futures=True)
        if left := len(wait(list(self._jobs), SILENT_S).not_done):
            requests = f"{left} request{'s' * (left > 1)} under way"
            log.warning("waiting for %s; Ctrl-C ends at once, without the answers", requests)
        self._threads.shutdown()


class Processes:
    """Processes of this machine. Each makes its own worker by `build(*arguments)`, a module-level
    function, with its first chunk; they end when this process does, however it ends."""

    def __init__(
        self,
        build: Callable[..., Callable[[Any], Any]],
        arguments: tuple[Any, ...],
        workers: int,
        start: str | None = "spawn",
    ) -> None:
        """`start`: how processes are started; `None` is Python's own choice."""
        context = get_context(start)
        numbers: Any = context.SimpleQueue()
        for number in range(workers):
            numbers.put(number)
        self._executor = ProcessPoolExecutor(
            workers, context, initializer=_start, initargs=(build, arguments, numbers)
        )
        self._began = False

    def submit(self, chunk: list[Any]) -> Taken:
        with starting_processes():
            return partial(self._take, self._executor.submit(_run, chunk))

    def _take(self, future: Future[list[Any]]) -> list[Any]:
        try:
            with waiting_for("a worker process"):
                found = future.result()
        except BrokenProcessPool:
            raise GraphWalkerError(_KILLED if self._began else _NOT_BEGUN) from None
        self._began = True
        return found

    def close(self) -> None:
        self._executor.shutdown(cancel_futures=True)


_KILLED = (
    "a worker process was killed (out of memory?); what is made so far is kept: "
    "run the same command again, with fewer workers"
)
# A new process imports the script that started it: unguarded, it would run it all again.
_NOT_BEGUN = (
    "a worker process ended before its first record; what it said stands above. Is memory short, "
    "take fewer workers; does a script of yours call this, call it below "
    '`if __name__ == "__main__":`'
)


_build: Callable[[], Callable[[Any], Any]] | None = None
_work: Callable[[Any], Any] | None = None
_number = 0


def worker_number() -> int:
    """Return which of the workers this process is, from 0: to choose a device by."""
    return _number


def _start(
    build: Callable[..., Callable[[Any], Any]], arguments: tuple[Any, ...], numbers: Any
) -> None:
    global _build, _number
    end_with_parent()
    _number = numbers.get()
    _build = partial(build, *arguments)


def _run(chunk: list[Any]) -> list[Any]:
    global _work
    # Made here and not at the start, where an error would end the process unheard.
    if _work is None:
        assert _build is not None
        _work = _build()
    return list(map(_work, chunk))


@contextmanager
def starting_processes() -> Generator[None, None, None]:
    """Start processes that print no traceback on Ctrl-C before they call `end_with_parent`."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_with_parent() -> None:
    """End this started process from now on in silence on Ctrl-C, which the parent tells, and when
    its parent was killed, whose next chunk it would wait for for ever."""
    signal.signal(signal.SIGINT, _leave)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave(*_: object) -> None:
    os._exit(130)


def _leave_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
