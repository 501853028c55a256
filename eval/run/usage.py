"""What episodes cost: tokens, turns, graph calls, money and seconds, one record each."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from graphwalker.files import read_jsonl
from graphwalker.trajectory import Trajectory

USAGE = "usage.jsonl"
COSTS = ("turns", "graph_calls", "prompt_tokens", "completion_tokens", "seconds", "graph_seconds")


def usage_record(trajectory: Trajectory) -> dict[str, Any]:
    """One line of usage.jsonl. `seconds` runs from the question to the end of the episode, waiting
    for others in the same batch included; `graph_seconds` is the part spent in tools."""
    graph_seconds = sum(turn.milliseconds for turn in trajectory.turns) / 1000
    return {
        "id": trajectory.id,
        "stop": trajectory.stop.value,
        **trajectory.usage,
        "graph_seconds": round(graph_seconds, 4),
    }


def read_usage(folder: Path) -> list[dict[str, Any]]:
    """One record per episode of a run, the last where a killed run wrote it twice."""
    path = folder / USAGE
    records = read_jsonl(path) if path.is_file() else ()
    return list({str(record.get("id")): record for record in records}.values())


def usage_figures(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Mean, median and 95th percentile per episode, and what all of it cost. `{}` without records.

    >>> usage_figures([{"id": "a", "turns": 2}, {"id": "b", "turns": 4}])["turns"]
    {'mean': 3.0, 'median': 3.0, 'p95': 3.9, 'total': 6.0}
    """
    if not records:
        return {}
    figures: dict[str, Any] = {"episodes": len(records)}
    for name in (*COSTS, "cost"):
        values = [float(record[name]) for record in records if name in record]
        if values:
            figures[name] = _spread(values)
    return figures


def _spread(values: Iterable[float]) -> dict[str, float]:
    import numpy as np

    data = np.asarray(list(values))
    median, p95 = np.percentile(data, [50, 95])
    return {
        "mean": round(float(data.mean()), 6),
        "median": round(float(median), 6),
        "p95": round(float(p95), 6),
        "total": round(float(data.sum()), 6),
    }
