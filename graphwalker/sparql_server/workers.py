"""Processes that answer one query each at a time: what a query takes too much of ends with it."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphwalker.errors import UserError
from graphwalker.graphs.sparql_engine.engine import QueryWorker, WorkerEndedError

SPARE = 1
"""Processes that are ready beside those at work: the place of a killed one is filled at once."""


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
    """Return an answer that says why there is no other."""
    return ServedAnswer(status, "text/plain; charset=utf-8", f"{why}\n".encode())


class QueryWorkers:
    """The processes. Raises `UserError` for a store that cannot be read."""

    def __init__(self, store: Path, limits: ServerLimits) -> None:
        self._store, self.limits = store, limits
        self._free = asyncio.Semaphore(limits.workers)
        self._waiting = 0
        self._starting: set[asyncio.Task[None]] = set()
        self._all: set[QueryWorker] = set()
        self._idle: asyncio.LifoQueue[QueryWorker] = asyncio.LifoQueue()
        for _ in range(limits.workers + SPARE):
            self._add(QueryWorker(store, limits.memory_mb))

    async def ask(self, request: Mapping[str, Any], timeout_s: float = 0.0) -> ServedAnswer:
        """Return the answer to a request of `worker`, within the time of this server or less.
        Whoever cancels this ends the query."""
        if self._waiting >= self.limits.waiting:
            return refuse(503, "08001: too many queries wait; ask again later")
        self._waiting += 1
        try:
            await asyncio.wait_for(self._free.acquire(), self.limits.timeout_s)
        except TimeoutError:
            return refuse(503, "08001: every process is busy; ask again later")
        finally:
            self._waiting -= 1
        allowed = min(timeout_s or self.limits.timeout_s, self.limits.timeout_s)
        limits = {"timeout_s": allowed, "max_rows": self.limits.max_rows}
        try:
            return await self._ask({**request, **limits})
        finally:
            self._free.release()

    async def _ask(self, request: dict[str, Any]) -> ServedAnswer:
        worker, is_alive = await self._idle.get(), False
        loop, answered = asyncio.get_running_loop(), asyncio.Event()
        place = worker.send(request)
        loop.add_reader(place, answered.set)
        try:
            await answered.wait()
            answer = ServedAnswer(*worker.receive(request["timeout_s"]))
            is_alive = True
            return answer
        except WorkerEndedError as error:
            return refuse(400 if error.is_malformed else 500, str(error))
        finally:  # cancelled where the client went away
            loop.remove_reader(place)
            if is_alive:
                self._idle.put_nowait(worker)
            else:
                self._replace(worker)

    def _replace(self, worker: QueryWorker) -> None:
        worker.kill()
        self._all.discard(worker)
        task = asyncio.create_task(self._start())
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def _start(self) -> None:
        try:
            self._add(await asyncio.to_thread(QueryWorker, self._store, self.limits.memory_mb))
        except UserError:  # no memory or no process just now
            await asyncio.sleep(1.0)
            await self._start()

    def _add(self, worker: QueryWorker) -> None:
        self._all.add(worker)
        self._idle.put_nowait(worker)

    def close(self) -> None:
        """End the processes."""
        for worker in self._all:
            worker.kill()
