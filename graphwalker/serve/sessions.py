"""The sessions of a server: questions of many clients, answered by one rollout in one thread."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from graphwalker.agents.environment import Environment
from graphwalker.agents.rollout import Inbox, Task, rollout
from graphwalker.files import dumps
from graphwalker.policies.base import Policy, Sampling
from graphwalker.question import Question
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


log = logging.getLogger(__name__)

Listener = Callable[[Event], None]
"""Called from the sessions' thread: once for each turn, then once with the end."""


class Busy(Exception):
    """As many questions are under way as are allowed: ask again later."""


@dataclass(slots=True)
class _Session:
    task: Task
    listener: Listener
    turns: int = 0


class Sessions:
    """Takes questions from any thread; each is an episode of its own, with fresh tools.

    All episodes share the policy, whose batches hold whatever is under way. `cancel` ends one
    before its next completion. Use as a context manager: the thread ends with the block.
    """

    def __init__(self, environment: Environment, policy: Policy, max_running: int = 16) -> None:
        self.environment, self.policy = environment, policy
        self._max_running = max_running
        self._inbox = Inbox()
        self._lock = threading.Lock()
        self._sessions: dict[str, _Session] = {}
        self._thread = threading.Thread(target=self._run, name="sessions", daemon=True)

    def ask(self, question: Question, sampling: Sampling, listener: Listener) -> Task:
        """Queue a question; returns what to cancel it by. Raises `Busy`."""
        with self._lock:
            if len(self._sessions) >= self._max_running:
                raise Busy(f"{len(self._sessions)} questions are under way, the most allowed here")
            task = self._inbox.put(question, sampling)
            self._sessions[task.key] = _Session(task, listener)
        return task

    def cancel(self, task: Task) -> None:
        """Nobody waits for this question any more. A finished one is left as it is."""
        self._inbox.cancel(task)
        with self._lock:
            self._sessions.pop(task.key, None)

    @property
    def running(self) -> int:
        """Questions under way or waiting."""
        with self._lock:
            return len(self._sessions)

    def __enter__(self) -> "Sessions":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._inbox.close(cancel=True)
        self._thread.join(timeout=10)

    def _run(self) -> None:
        try:
            episodes = rollout(
                self._inbox,
                self.environment,
                self.policy,
                concurrency=self._max_running,
                on_turn=self._turn,
            )
            for trajectory in episodes:
                self._end(trajectory.id, end_event(trajectory))
        finally:  # where a bug ended this thread, nobody is left waiting
            for key in list(self._sessions):
                self._end(key, failure_event("policy_error", "the server has stopped answering"))

    def _turn(self, task: Task, number: int, turn: Turn) -> None:
        session = self._sessions.get(task.key)
        if session is None:
            return
        if number <= session.turns:
            session.listener(retry_event())
        session.turns = number
        session.listener(turn_event(number, turn))

    def _end(self, key: str, event: Event) -> None:
        with self._lock:
            session = self._sessions.pop(key, None)
        if session is not None:
            session.listener(event)
