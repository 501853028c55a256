"""The sessions of a server: questions of many clients, answered by one rollout in one thread."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphwalker.agents.environment import Environment
from graphwalker.agents.rollout import Inbox, Task, rollout
from graphwalker.files import dumps
from graphwalker.policies.base import Policy, Sampling
from graphwalker.question import Question
from graphwalker.serve.ask import outspoken
from graphwalker.trajectory import StopReason, Trajectory, Turn
from graphwalker.viewer.record import messages_record, walk_record

Event = dict[str, Any]


def turn_event(number: int, turn: Turn) -> Event:
    """Return a turn: its thought, its action and what the graph showed. Numbers start at 1."""
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
    """Tell the page to forget the turns so far: the episode failed for no fault of the agent."""
    return {"type": "retry"}


def end_event(trajectory: Trajectory) -> Event:
    """Get the end: the answers with their ids (`""` where the graph has not shown such a name)."""
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
    """Return an end that says nothing about the agent: the graph or the policy failed."""
    return {"type": "error", "stop": stop, "error": error or stop}


def sse(event: Event | str) -> bytes:
    r"""Return one server-sent event; JSON has no raw line breaks, so it is one line.

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
    """As many questions wait as are allowed: ask again later."""


@dataclass(slots=True)
class _Session:
    task: Task
    listener: Listener
    drawn: bool
    """Whether its events hold what the viewer draws."""
    since: float = field(default_factory=time.monotonic)
    turns: list[Turn] = field(default_factory=list[Turn])
    seconds: list[float] = field(default_factory=list[float])

    def add(self, turn: Turn) -> None:
        """Add a turn, and the time that it took."""
        now = time.monotonic()
        self.seconds.append(round(now - self.since, 2))
        self.turns.append(turn)
        self.since = now

    def view(self) -> Event:
        """Return the newest turn as the viewer shows it, and the drawing so far."""
        question, stop = self.task.question, StopReason.MAX_TURNS
        record = walk_record(Trajectory(question, "", "", tuple(self.turns), None, stop))
        turn = {**record["turns"][-1], "seconds": self.seconds[-1]}
        return {"turn": turn, "nodes": record["nodes"], "links": record["links"]}


def _whole_view(trajectory: Trajectory, seconds: Sequence[float]) -> Event:
    """Return the finished walk as the viewer shows it, with the raw messages."""
    record = walk_record(trajectory)
    for turn, spent in zip(record["turns"], seconds, strict=False):
        turn["seconds"] = spent
    return {**record, "messages": messages_record(trajectory)}


class Sessions:
    """Takes questions from any thread; each is an episode of its own, with fresh tools.

    All episodes share the policy, whose batches hold whatever is under way: `max_running` questions
    at once, while `max_waiting` more wait in line. `cancel` ends one before its next completion.
    Use as a context manager: the thread ends with the block.
    """

    def __init__(
        self,
        environment: Environment,
        policy: Policy,
        max_running: int = 16,
        max_waiting: int = 256,
        name: str = "",
    ) -> None:
        self.environment, self.policy = environment, outspoken(policy, environment)
        self.name = name or policy.name
        self._max_running, self._most = max_running, max_running + max_waiting
        self._inbox = Inbox()
        self._lock = threading.Lock()
        self._sessions: dict[str, _Session] = {}
        self._thread = threading.Thread(target=self._run, name="sessions", daemon=True)

    def ask(
        self, question: Question, sampling: Sampling, listener: Listener, drawn: bool = False
    ) -> Task:
        """Queue a question; returns what to cancel it by. `drawn`: its events hold what the viewer
        draws. Raises `Busy`."""
        with self._lock:
            if len(self._sessions) >= self._most:
                raise Busy(f"{len(self._sessions)} questions are waiting, the most allowed here")
            task = self._inbox.put(question, sampling)
            self._sessions[task.key] = _Session(task, listener, drawn)
        return task

    def place(self, task: Task) -> int:
        """Return the place in line, from 1; 0 once the question is under way."""
        with self._lock:
            keys = list(self._sessions)
        ahead = keys.index(task.key) if task.key in keys else 0
        return max(0, ahead - self._max_running + 1)

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
                event = end_event(trajectory)
                session = self._sessions.get(trajectory.id)
                if session is not None and session.drawn and event["type"] == "end":
                    event["walk"] = _whole_view(trajectory, session.seconds)
                self._end(trajectory.id, event)
        finally:  # where a bug ended this thread, nobody is left waiting
            for key in list(self._sessions):
                self._end(key, failure_event("policy_error", "the server has stopped answering"))

    def _turn(self, task: Task, number: int, turn: Turn) -> None:
        with self._lock:  # `ask` holds it until the session of a queued question is there
            session = self._sessions.get(task.key)
        if session is None:
            return
        if number <= len(session.turns):
            session.turns.clear()
            session.seconds.clear()
            session.listener(retry_event())
        session.add(turn)
        view = {"view": session.view()} if session.drawn else {}
        session.listener({**turn_event(number, turn), **view})

    def _end(self, key: str, event: Event) -> None:
        with self._lock:
            session = self._sessions.pop(key, None)
            for first in list(self._sessions.values())[self._max_running - 1 : self._max_running]:
                first.since = time.monotonic()  # its turn has come
        if session is not None:
            session.listener(event)
