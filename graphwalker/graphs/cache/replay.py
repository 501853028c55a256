"""Replay: a graph that knows nothing but what a recorded run asked, and gives exactly that."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from graphwalker.errors import GraphError, UserError
from graphwalker.files import read_jsonl
from graphwalker.graphs.cache.calls import Ask, AskedGraph, decode


class ReplayedGraph(AskedGraph):
    """The graph of a recording. A call that was not recorded, or that failed, raises `GraphError`:
    the run differs from the recorded one from there on."""

    def __init__(self, path: Path | str) -> None:
        self._path = path
        self._results = read_recording(path)

    def answer(self, asks: Sequence[Ask]) -> list[Any]:
        return [self._result(ask) for ask in asks]

    def _result(self, ask: Ask) -> Any:
        if ask not in self._results:
            raise GraphError(
                f"{self._path}: {ask.method}{ask.arguments} was not recorded; the run that asks "
                "for it is another one than the recorded"
            )
        result = self._results[ask]
        if isinstance(result, GraphError):
            raise GraphError(str(result))
        return list(cast(list[Any], result)) if isinstance(result, list) else result


def read_recording(path: Path | str) -> dict[Ask, Any]:
    """Results by ask; a `GraphError` stands for a call that failed and never succeeded.

    Raises `UserError` naming file and record for a line that is not of a recording.
    """
    found: dict[Ask, Any] = {}
    for number, record in enumerate(read_jsonl(path), start=1):
        try:
            ask = Ask(str(record["method"]), _arguments(record["arguments"]))
            if "error" in record:
                found.setdefault(ask, GraphError(str(record["error"])))
            else:
                found[ask] = decode(ask.method, record["result"])
        except (KeyError, TypeError, GraphError):
            raise UserError(f"{path}: record {number}: not a recorded graph call") from None
    return found


def _arguments(data: Any) -> tuple[Any, ...]:
    if not isinstance(data, list):
        raise TypeError
    items = cast(list[Any], data)
    return tuple(tuple(cast(list[Any], i)) if isinstance(i, list) else i for i in items)
