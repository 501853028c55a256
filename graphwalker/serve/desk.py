"""The desk: episodes of many askers, driven by one thread over one policy."""

import logging
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

from graphwalker.agents.environment import Environment
from graphwalker.agents.episode import Episode
from graphwalker.errors import GraphError, PolicyError
from graphwalker.policies.base import Policy, Request, Sampling
from graphwalker.question import Question
from graphwalker.serve.events import Event, end_event, failure_event, turn_event

log = logging.getLogger(__name__)

Listener = Callable[[Event], None]
"""Called from the desk's thread: once for each turn, then once with the end."""


class Busy(Exception):
    """As many questions are under way as are allowed: ask again later."""


@dataclass(slots=True)
class _Job:
    number: int
    question: Question
    sampling: Sampling
    listener: Listener
    episode: Episode | None = None
    told: int = 0


class Desk:
    """Takes questions from any thread; each is an episode of its own, with fresh tools.

    All episodes share the policy, whose batches hold whatever is under way. `cancel` ends one
    before its next completion. Use as a context manager: the thread ends with the block.
    """

    def __init__(self, environment: Environment, policy: Policy, max_running: int = 16) -> None:
        self.environment, self.policy = environment, policy
        self._max_running = max_running
        self._numbers = count(1)
        self._inbox: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._open: set[int] = set()
        self._running: dict[str, _Job] = {}
        self._thread = threading.Thread(target=self._work, name="desk", daemon=True)

    def ask(self, question: Question, sampling: Sampling, listener: Listener) -> int:
        """Queue a question; returns the number to cancel it by. Raises `Busy`."""
        with self._lock:
            if len(self._open) >= self._max_running:
                raise Busy(f"{len(self._open)} questions are under way, the most allowed here")
            number = next(self._numbers)
            self._open.add(number)
        self._inbox.put(_Job(number, question, sampling, listener))
        return number

    def cancel(self, number: int) -> None:
        """Nobody waits for this question any more. A finished one is left as it is."""
        with self._lock:
            self._open.discard(number)

    @property
    def running(self) -> int:
        """Questions under way or waiting."""
        with self._lock:
            return len(self._open)

    def __enter__(self) -> "Desk":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._open.clear()
        self._inbox.put(None)
        self._thread.join(timeout=10)

    # --- the desk's thread

    def _work(self) -> None:
        while self._admit():
            for key, job in list(self._running.items()):
                if not self._wanted(job):
                    self._drop(key)
            if self._running:
                self._collect()

    def _admit(self) -> bool:
        """Take what is in the inbox, waiting for it when nothing runs; `False` to stop."""
        while not self._running or not self._inbox.empty():
            job = self._inbox.get()
            if job is None:
                return False
            if self._wanted(job):
                self._start(job)
        return True

    def _start(self, job: _Job) -> None:
        try:
            job.episode = Episode(job.question, job.number, self.environment)
        except GraphError as error:
            self._close(job, failure_event("graph_error", str(error)))
            return
        self._running[job.episode.key] = job
        self._go_on(job, job.episode)

    def _go_on(self, job: _Job, episode: Episode) -> None:
        """Tell the turns that are over, and ask the policy for the next one, or end."""
        while True:
            for number in range(job.told, len(episode.turns)):
                job.listener(turn_event(number + 1, episode.turns[number]))
            job.told = len(episode.turns)
            if episode.ask is None:
                break
            try:
                self.policy.submit(_request(job, episode))
                return
            except PolicyError as error:
                episode.feed(error)
        self._drop(episode.key)
        self._close(job, end_event(episode.trajectory(self.policy.name)))

    def _collect(self) -> None:
        try:
            results = self.policy.collect()
            lost = PolicyError("the policy returned nothing for a pending request")
        except PolicyError as error:
            results, lost = [], error
        for key, completion in results or [(key, lost) for key in self._running]:
            job = self._running.get(key)
            if job is not None and job.episode is not None and self._wanted(job):
                job.episode.feed(completion)
                self._go_on(job, job.episode)

    def _drop(self, key: str) -> None:
        self._running.pop(key)
        self.policy.release(key)

    def _close(self, job: _Job, event: Event) -> None:
        self.cancel(job.number)
        job.listener(event)

    def _wanted(self, job: _Job) -> bool:
        with self._lock:
            return job.number in self._open


def _request(job: _Job, episode: Episode) -> Request:
    asked: Any = episode.ask
    return Request(
        key=episode.key,
        messages=asked.messages,
        question=job.question,
        turns=episode.turns,
        sampling=job.sampling,
        stop=asked.stop,
        restart=asked.restart,
    )
