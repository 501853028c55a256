"""Processes that answer one query each at a time: what a query takes too much of ends with it."""

import asyncio
import contextlib
import multiprocessing
import resource
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from graphwalker.errors import GraphError, GraphWalkerError, UserError

GRACE_S = 1.0
"""A query stops itself at its time limit; one that cannot (a regex) is killed so much later."""
STARTED_S = 120.0


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """What one query, and all together, may take."""

    timeout_s: float = 60.0
    max_rows: int = 1_000_000
    """Rows of an answer."""
    memory_mb: int = 2048
    """Of one query, besides the graph."""
    workers: int = 4
    """Queries at once, each in a process of its own."""
    waiting: int = 64
    """Queries that wait for a process; more are refused with HTTP 503."""


@dataclass(frozen=True, slots=True)
class ServedAnswer:
    """What goes back over HTTP."""

    status: int
    kind: str
    body: bytes


def refuse(status: int, why: str) -> ServedAnswer:
    return ServedAnswer(status, "text/plain; charset=utf-8", f"{why}\n".encode())


class QueryWorkers:
    """The processes. Raises `UserError` for a graph that cannot be served."""

    def __init__(self, graph: Path, base: str, limits: ServerLimits) -> None:
        self._given, self.limits = (str(graph), base, limits), limits
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(list(_LOADED))
        # The last one that was used is the next: it knows the plans of queries like the last ones.
        self._idle: asyncio.LifoQueue[_Worker] = asyncio.LifoQueue()
        self._waiting = 0
        self._replacing: set[asyncio.Task[None]] = set()
        self.base = ""
        for worker in [self._start() for _ in range(limits.workers)]:
            self.base = worker.wait_until_ready()
            self._idle.put_nowait(worker)

    async def ask(self, query: str, form: str, timeout_s: float | None = None) -> ServedAnswer:
        """The answer to a query, in a form of results; waits for a process that is idle."""
        allowed = min(timeout_s or self.limits.timeout_s, self.limits.timeout_s)
        if self._waiting >= self.limits.waiting:
            return refuse(503, "08001: too many queries wait; ask again later")
        self._waiting += 1
        try:
            worker = await asyncio.wait_for(self._idle.get(), self.limits.timeout_s)
        except TimeoutError:
            return refuse(503, "08001: every process is busy; ask again later")
        finally:
            self._waiting -= 1
        answer = None
        try:
            answer = await worker.ask(query, form, allowed)
        finally:  # a client that went away is cancelled here
            if answer is None:
                task = asyncio.create_task(self._replace(worker))
                self._replacing.add(task)
                task.add_done_callback(self._replacing.discard)
            else:
                self._idle.put_nowait(worker)
        why = f"S1T00: the query took {allowed:g} s, or more memory than it may; ask for less"
        return answer or refuse(500, why)

    async def _replace(self, worker: "_Worker") -> None:
        worker.kill()
        fresh = self._start()
        await asyncio.to_thread(fresh.wait_until_ready)
        self._idle.put_nowait(fresh)

    def close(self) -> None:
        """End the processes that are idle; the others end with this one."""
        while not self._idle.empty():
            self._idle.get_nowait().kill()

    def _start(self) -> "_Worker":
        return _Worker(self._context, self._given)


class _Worker:
    def __init__(self, context: Any, given: Sequence[Any]) -> None:
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=work, args=(theirs, *given), daemon=True)
        self._process.start()
        theirs.close()

    def wait_until_ready(self) -> str:
        """The base of the graph's IRIs. Raises `UserError`."""
        with contextlib.suppress(EOFError, OSError):
            if self._connection.poll(STARTED_S):
                is_ready, word = self._connection.recv()
                if is_ready:
                    return word
                raise UserError(word)
        raise UserError("graph serve: its process did not start; is there enough memory?")

    async def ask(self, query: str, form: str, timeout_s: float) -> ServedAnswer | None:
        """The answer; nothing from a process that is to be killed."""
        loop, answered = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._connection.fileno(), answered.set)
        try:
            self._connection.send((query, form, timeout_s))
            await asyncio.wait_for(answered.wait(), timeout_s + GRACE_S)
            return ServedAnswer(*self._connection.recv())
        except (EOFError, OSError):  # its end, or a TimeoutError
            return None
        finally:
            loop.remove_reader(self._connection.fileno())

    def kill(self) -> None:
        self._process.kill()
        self._process.join()
        self._connection.close()


_LOADED = (
    "graphwalker.graphs.sparql_engine.results",
    "rdflib.plugins.sparql.parser",
    "graphwalker.graphs.compiled.properties",
)


def work(connection: Connection, graph: str, base: str, limits: ServerLimits) -> None:
    """Answer queries until the server is gone: what a worker process runs."""
    from graphwalker.graphs.compiled.properties import open_compiled
    from graphwalker.graphs.sparql_engine.engine import SparqlEngine

    try:
        engine = SparqlEngine(open_compiled(graph), base)
        connection.send((True, engine.graph.base))
    except GraphWalkerError as error:
        connection.send((False, str(error)))
        return
    _limit_memory(limits.memory_mb << 20)
    while True:
        try:
            query, form, timeout_s = connection.recv()
        except (EOFError, OSError, KeyboardInterrupt):
            return
        try:
            answer = _answer(engine, query, form, timeout_s, limits.max_rows)
            connection.send((answer.status, answer.kind, answer.body))
        except (MemoryError, KeyboardInterrupt):
            return  # a fresh process takes its place


def _answer(engine: Any, query: str, form: str, timeout_s: float, max_rows: int) -> ServedAnswer:
    from graphwalker.graphs.sparql_engine.engine import QueryLimits
    from graphwalker.graphs.sparql_engine.results import write_results

    try:
        found = engine.query(query, QueryLimits(timeout_s))
        return ServedAnswer(200, f"{form}; charset=utf-8", write_results(found, form, max_rows))
    except UserError as error:
        return refuse(400, str(error))
    except GraphError as error:
        return refuse(500, str(error))
    except RecursionError:
        return refuse(400, "37000: the query is nested too deeply; write it flatter")


def _limit_memory(more: int) -> None:
    """Let this process grow by so many bytes; where the system does not say what it has, freely."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        pages = int(statm.read_text(encoding="ascii").split()[0])
        most = pages * resource.getpagesize() + more
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))
