"""Recording: a run's graph calls and their results, one JSON line for each distinct call."""

from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from graphwalker.errors import GraphError
from graphwalker.files import JsonlAppender
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.graphs.batched import OverGraph
from graphwalker.graphs.cache.calls import Ask, AskedGraph, answer, encode
from graphwalker.graphs.cache.replay import read_recording


class RecordedGraph(OverGraph, AskedGraph):
    """Gives what `graph` gives and appends it to `path`, from which `ReplayedGraph` gives it again.

    A line: `{"method": "relations", "arguments": ["m.1", "out"], "result": [["a.b.c", 2]]}`.
    A call that failed is written with its `error` and raised. An existing file is added to.
    """

    def __init__(self, graph: KnowledgeGraph, path: Path | str) -> None:
        super().__init__(graph)
        self._lock = Lock()
        self._out = JsonlAppender(path)
        known = read_recording(path)
        self._written = {ask for ask in known if not isinstance(known[ask], GraphError)}

    def answer(self, asks: Sequence[Ask]) -> list[Any]:
        try:
            results = answer(self.graph, asks)
        except GraphError as error:
            self._write([(ask, {"error": str(error)}) for ask in asks])
            raise
        self._write([(a, {"result": encode(r)}) for a, r in zip(asks, results, strict=True)])
        return results

    def close(self) -> None:
        """Close the file."""
        self._out.close()

    def _write(self, rows: Sequence[tuple[Ask, dict[str, Any]]]) -> None:
        with self._lock:
            for ask, outcome in rows:
                if ask not in self._written:
                    self._out.append({**ask._asdict(), **outcome})
                    if "error" not in outcome:
                        self._written.add(ask)
