"""What a client receives: each turn as it ends, then the answer, as JSON and server-sent events."""

from typing import Any

from graphwalker.files import dumps
from graphwalker.trajectory import Trajectory, Turn

Event = dict[str, Any]


def turn_event(number: int, turn: Turn) -> Event:
    """A turn: its thought, its action and what the graph showed. Numbers start at 1."""
    return {
        "type": "turn",
        "number": number,
        "thought": turn.thought,
        "action": turn.action,
        "completion": turn.completion,
        "observation": turn.observation,
        "error": turn.error,
    }


def retry_event() -> Event:
    """The episode failed for no fault of the agent and begins again: forget its turns so far."""
    return {"type": "retry"}


def end_event(trajectory: Trajectory) -> Event:
    """The end: the answers with their ids (`""` where the graph has not shown such a name)."""
    names = trajectory.answer or ()
    ids = (*trajectory.answer_ids, *[""] * len(names))
    if trajectory.stop.infrastructure_failure:
        return failure_event(trajectory.stop.value, str(trajectory.provenance.get("error", "")))
    return {
        "type": "end",
        "stop": trajectory.stop.value,
        "answered": trajectory.answer is not None,
        "answer": [{"name": n, "id": i} for n, i in zip(names, ids, strict=False)],
        "usage": trajectory.usage,
    }


def failure_event(stop: str, error: str) -> Event:
    """An end that says nothing about the agent: the graph or the policy failed."""
    return {"type": "error", "stop": stop, "error": error or stop}


def sse(event: Event | str) -> bytes:
    r"""One server-sent event; JSON has no raw line breaks, so it is one line.

    >>> sse({"type": "end"})
    b'data: {"type":"end"}\n\n'
    """
    text = event if isinstance(event, str) else dumps(event)
    return f"data: {text}\n\n".encode("utf-8", "replace")


HEARTBEAT = b": still here\n\n"
"""A comment that keeps proxies from closing a quiet stream."""
