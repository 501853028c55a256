"""Recording: a run's graph calls and their results, one JSON line for each distinct call."""

from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from graphwalker.errors import GraphError
from graphwalker.files import JsonlAppender
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.graphs.batched import OverGraph
from graphwalker.graphs.cache.calls import AnsweringGraph, GraphCall, answer, encode
from graphwalker.graphs.cache.replay import read_recording


class RecordedGraph(OverGraph, AnsweringGraph):
    """Gives what `graph` gives and appends it to `path`, from which `ReplayedGraph` gives it again.

    A line: `{"method": "relations", "arguments": ["m.1", "out"], "result": [["a.b.c", 2]]}`.
    A call that failed is written with its `error` and raised. An existing file is added to.
    """

    def __init__(self, graph: KnowledgeGraph, path: Path | str) -> None:
        super().__init__(graph)
        self._lock = Lock()
        self._out = JsonlAppender(path)
        known = read_recording(path)
        self._written = {call for call in known if not isinstance(known[call], GraphError)}

    def answer(self, calls: Sequence[GraphCall]) -> list[Any]:
        try:
            results = answer(self.graph, calls)
        except GraphError as error:
            self._write([(call, {"error": str(error)}) for call in calls])
            raise
        self._write([(call, {"result": encode(r)}) for call, r in zip(calls, results, strict=True)])
        return results

    def close(self) -> None:
        """Close the file."""
        self._out.close()

    def _write(self, rows: Sequence[tuple[GraphCall, dict[str, Any]]]) -> None:
        with self._lock:
            for call, outcome in rows:
                if call not in self._written:
                    self._out.append({**call._asdict(), **outcome})
                    if "error" not in outcome:
                        self._written.add(call)
