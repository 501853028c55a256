"""Recordings: a run's graph calls and results as JSON lines, and the graph that replays them."""

from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any, cast

from graphwalker.errors import GraphError, UserError
from graphwalker.files import JsonlAppender, read_jsonl
from graphwalker.graphs.base import KnowledgeGraph, OverGraph
from graphwalker.graphs.cache.calls import AnsweringGraph, GraphCall, answer, decode, encode


class ReplayedGraph(AnsweringGraph):
    """The graph of a recording. A call that was not recorded, or that failed, raises `GraphError`:
    the run differs from the recorded one from there on."""

    is_remote = True

    def __init__(self, path: Path | str) -> None:
        self._path = path
        self._results = read_recording(path)

    def answer(self, calls: Sequence[GraphCall]) -> list[Any]:
        return [self._result(call) for call in calls]

    def _result(self, call: GraphCall) -> Any:
        if not self._results:
            raise UserError(f"{self._path}: the file is empty: it holds no triples and no calls")
        if call not in self._results:
            raise GraphError(
                f"{self._path}: {call.method}{call.arguments} was not recorded; the run that asks "
                "for it is another one than the recorded"
            )
        result = self._results[call]
        if isinstance(result, GraphError):
            raise GraphError(str(result))
        return list(cast(list[Any], result)) if isinstance(result, list) else result


def is_recording(path: Path | str) -> bool:
    """Return whether a file holds graph calls, by its first record; one that is empty or not there
    may come to."""
    try:
        first: Any = next(iter(read_jsonl(path)), {"method": "", "arguments": ""})
    except UserError:
        return not Path(path).is_file()
    return isinstance(first, dict) and {"method", "arguments"} <= set(cast(dict[str, Any], first))


def read_recording(path: Path | str) -> dict[GraphCall, Any]:
    """Results by call; a `GraphError` stands for a call that failed and never succeeded.

    Raises `UserError` naming file and record for a line that is not of a recording.
    """
    found: dict[GraphCall, Any] = {}
    for number, record in enumerate(read_jsonl(path), start=1):
        try:
            call = GraphCall(str(record["method"]), _arguments(record["arguments"]))
            if "error" in record:
                found.setdefault(call, GraphError(str(record["error"])))
            else:
                found[call] = decode(call.method, record["result"])
        except (KeyError, TypeError, GraphError):
            raise UserError(
                f"{path}: record {number}: not a recorded graph call, which is what a .jsonl file "
                f"holds as a graph; `graphwalker graph build --triples {path}` compiles it; of "
                "a set of property graphs, or a compiled graph, give the folder"
            ) from None
    return found


def _arguments(data: Any) -> tuple[Any, ...]:
    if not isinstance(data, list):
        raise TypeError
    items = cast(list[Any], data)
    return tuple(tuple(cast(list[Any], i)) if isinstance(i, list) else i for i in items)


class RecordedGraph(AnsweringGraph, OverGraph):
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
