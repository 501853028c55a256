"""Where a rollout takes its episodes from: a list that ends, or an inbox that stays open."""

import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice

from graphwalker.policies.base import Sampling
from graphwalker.question import Question


@dataclass(frozen=True, slots=True)
class Job:
    """One episode to be run: its question, the number of its sample, how it is drawn."""

    question: Question
    sample: int
    sampling: Sampling

    @property
    def key(self) -> str:
        return f"{self.question.id}#{self.sample}"


class JobList:
    """Jobs known beforehand; their trajectories come in this order."""

    ordered = True

    def __init__(self, jobs: Iterator[Job]) -> None:
        self._jobs = jobs
        self.over = False

    def take(self, most: int, wait: bool) -> list[Job]:
        """Up to `most` jobs; `over` is true once there are no more."""
        jobs = list(islice(self._jobs, most))
        self.over = self.over or len(jobs) < most
        return jobs

    def wanted(self, job: Job) -> bool:
        return True


class Inbox:
    """Questions that arrive, from any thread, while a rollout runs; their trajectories come as they
    end. Each gets a number of its own, which is the sample of its episode.

    `rollout(inbox, ...)` ends when the inbox is closed and the episodes begun are over.
    """

    ordered = False

    def __init__(self) -> None:
        self.over = False
        """True once everything that was put in has been taken and no more will come."""
        self._closed = False
        self._numbers = count(1)
        self._arrived: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._open: set[int] = set()
        self._lock = threading.Lock()

    def put(self, question: Question, sampling: Sampling) -> Job:
        """Queue a question. Raises `RuntimeError` once the inbox is closed."""
        with self._lock:
            if self._closed:
                raise RuntimeError("the inbox is closed")
            job = Job(question, next(self._numbers), sampling)
            self._open.add(job.sample)
        self._arrived.put(job)
        return job

    def cancel(self, job: Job) -> None:
        """Nobody waits for this one any more: it ends before its next completion, unreported."""
        with self._lock:
            self._open.discard(job.sample)

    def close(self, cancel: bool = False) -> None:
        """No more questions; `cancel` ends the episodes under way, too."""
        with self._lock:
            self._closed = True
            if cancel:
                self._open.clear()
        self._arrived.put(None)

    def take(self, most: int, wait: bool) -> list[Job]:
        """Up to `most` jobs of those that have arrived; `wait` for the first one."""
        jobs: list[Job] = []
        while len(jobs) < most and (not self._arrived.empty() or (wait and not jobs)):
            job = self._arrived.get()
            if job is None:
                self.over = True
                break
            if self.wanted(job):
                jobs.append(job)
        return jobs

    def wanted(self, job: Job) -> bool:
        """Whether somebody still waits for the job."""
        with self._lock:
            return job.sample in self._open
