"""SPARQL over a graph: its store is asked in a process of its own."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import weakref
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from graphwalker.errors import QueryLimitError, UserError, lacks_extra
from graphwalker.graphs.base import Entity, KnowledgeGraph
from graphwalker.graphs.compiled.graph import CompiledGraph

MODULE = "graphwalker.graphs.sparql_engine.worker"
MEMORY_MB, MAX_ROWS = 8192, 5_000_000
"""Of a query in Python."""
_ENDINGS = {
    -signal.SIGALRM: "S1T00: the query took {seconds:g} s, as long as it may; ask for less",
    -signal.SIGABRT: "42000: the query took more memory than it may; ask for less",
    3: "42000: the query took more memory than it may; ask for less",
    -signal.SIGSEGV: "37000: the query is nested too deeply; write it flatter",
}


class WorkerEndedError(QueryLimitError):
    """The process ended over a query; says why."""

    @property
    def is_malformed(self) -> bool:
        """Whether the query is to blame, not its cost."""
        return str(self).startswith("37000")


class QueryWorker:
    """A process over a store that answers one query at a time. Raises `UserError` for a store that
    cannot be read."""

    def __init__(self, store: Path, memory_mb: int = MEMORY_MB) -> None:
        ours = str(Path(__file__).parents[3])
        given = os.environ.get("PYTHONPATH")
        # Spawned: a fork would share the threads and files of a store, and the user's own script.
        # Ctrl-C is for us; the process ends when its input does.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", MODULE, str(store), str(memory_mb)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": f"{ours}{os.pathsep}{given}" if given else ours},
        )
        weakref.finalize(self, _end, self._process, os.getpid())
        try:
            status, _, body = self.receive(0.0)
        except WorkerEndedError:
            raise UserError("SPARQL: its process did not start; is there enough memory?") from None
        if status != 200:
            self.kill()
            remedy = f"remove {store}, and it is made again"
            raise UserError(f"{body.decode().strip()}: {remedy}")

    def ask(self, request: dict[str, Any]) -> tuple[int, str, bytes]:
        """Return status, content type and body of the answer. Raises `WorkerEndedError` when the
        process ended over it."""
        self.send(request)
        return self.receive(request["timeout_s"])

    def send(self, request: dict[str, Any]) -> int:
        """Send a request; returns the file that can be read when there is an answer."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(OSError):  # it has ended, as reading shows
            self._process.stdin.write(f"{json.dumps(request)}\n".encode())
            self._process.stdin.flush()
        return self._process.stdout.fileno()

    def kill(self) -> None:
        """End the process, whatever it is at."""
        self._process.kill()
        self._process.wait()

    def receive(self, seconds: float) -> tuple[int, str, bytes]:
        """Return the answer to what was sent with so much time. Raises `WorkerEndedError`."""
        assert self._process.stdout is not None
        head = self._process.stdout.readline()
        status, kind, size = json.loads(head) if head.endswith(b"\n") else (0, "", 0)
        body = self._process.stdout.read(size)
        if not status or len(body) < size:
            code = self._process.wait()
            why = _ENDINGS.get(code, f"XX000: the engine ended over the query (exit code {code})")
            raise WorkerEndedError(why.format(seconds=seconds))
        return status, kind, body


def _end(process: "subprocess.Popen[bytes]", owner: int) -> None:
    if os.getpid() != owner:
        return  # a fork of ours: its parent still asks
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        with contextlib.suppress(OSError):  # what was not sent to one that had ended
            pipe.close()


class SparqlEngine:
    """Answers queries in Python over a store, among threads one at a time."""

    def __init__(self, store: Path, place: "TemporaryDirectory[str] | None" = None) -> None:
        self._store, self._place = store, place  # the folder lives as long as this
        self._lock, self._owner = threading.Lock(), 0
        self._worker: QueryWorker | None = None

    def query(self, text: str, timeout_s: float) -> list[dict[str, str]] | bool:
        """Return the solutions of a SELECT as ids by variable, or whether an ASK holds. Raises
        `UserError` for a query that is not understood, `QueryLimitError` for one too large."""
        request = {"query": text, "form": "ids", "graphs": list[str](), "is_ours": True}
        with self._lock:
            if self._worker is None or self._owner != os.getpid():
                self._worker, self._owner = QueryWorker(self._store), os.getpid()
            try:
                status, _, body = self._worker.ask(
                    {**request, "timeout_s": timeout_s, "max_rows": MAX_ROWS}
                )
            except WorkerEndedError as error:
                self._worker = None
                raise (UserError(str(error)) if error.is_malformed else error) from None
            except BaseException:  # Ctrl-C: what it is still at is nobody's question any more
                self._worker.kill()
                self._worker = None
                raise
        if status == 200:
            return json.loads(body)
        raise (UserError if status == 400 else QueryLimitError)(body.decode().strip())


@lru_cache(maxsize=4)
def engine_of(graph: KnowledgeGraph) -> SparqlEngine:
    """Return the engine of a graph, made once. Raises `UserError` for a graph that lists no
    entities, and without Oxigraph."""
    check_installed()
    from graphwalker.graphs.sparql_engine.store import find_store, write_store

    if isinstance(graph, CompiledGraph):
        return SparqlEngine(find_store(graph))
    if not graph.size:
        raise UserError("SPARQL needs a compiled graph or an endpoint: run graphwalker graph build")
    place = TemporaryDirectory(prefix="graphwalker-sparql-")
    write_store(graph, Path(place.name), "")
    return SparqlEngine(Path(place.name), place)


def ask_sparql(
    graph: KnowledgeGraph, query: str, timeout_s: float
) -> list[dict[str, Entity]] | bool:
    """Return what a graph's store answers to a query. Raises `UserError`, `QueryLimitError`."""
    found = engine_of(graph).query(query, timeout_s)
    if isinstance(found, bool):
        return found
    ids = list(dict.fromkeys(one for row in found for one in row.values()))
    known = {i: Entity(i, n) for i, n in zip(ids, graph.names_many(ids), strict=True)}
    return [{name: known[one] for name, one in row.items()} for row in found]


def check_installed() -> None:
    """Raise `UserError` without Oxigraph."""
    try:
        import pyoxigraph  # noqa: F401 # pyright: ignore[reportUnusedImport]
    except ImportError:
        raise lacks_extra("SPARQL needs pyoxigraph", "sparql") from None
