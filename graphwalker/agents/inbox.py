"""Where a rollout takes its episodes from: a list that ends, or an inbox that stays open."""

import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice

from graphwalker.policies.base import Sampling
from graphwalker.question import Question


@dataclass(frozen=True, slots=True)
class Task:
    """One episode to be run: its question, the number of its sample, how it is drawn."""

    question: Question
    sample: int
    sampling: Sampling

    @property
    def key(self) -> str:
        return f"{self.question.id}#{self.sample}"


class TaskList:
    """Tasks known beforehand; their trajectories come in this order."""

    ordered = True

    def __init__(self, tasks: Iterator[Task]) -> None:
        self._tasks = tasks
        self.over = False

    def take(self, most: int, wait: bool) -> list[Task]:
        """Up to `most` tasks; `over` is true once there are no more."""
        tasks = list(islice(self._tasks, most))
        self.over = self.over or len(tasks) < most
        return tasks


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
        self._arrived: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._open: set[int] = set()
        self._lock = threading.Lock()

    def put(self, question: Question, sampling: Sampling) -> Task:
        """Queue a question. Raises `RuntimeError` once the inbox is closed."""
        with self._lock:
            if self._closed:
                raise RuntimeError("the inbox is closed")
            task = Task(question, next(self._numbers), sampling)
            self._open.add(task.sample)
        self._arrived.put(task)
        return task

    def cancel(self, task: Task) -> None:
        """Nobody waits for this one any more: it ends before its next completion, unreported."""
        with self._lock:
            self._open.discard(task.sample)

    def close(self, cancel: bool = False) -> None:
        """No more questions; `cancel` ends the episodes under way, too."""
        with self._lock:
            self._closed = True
            if cancel:
                self._open.clear()
        self._arrived.put(None)

    def take(self, most: int, wait: bool) -> list[Task]:
        """Up to `most` tasks of those that have arrived; `wait` for the first one."""
        tasks: list[Task] = []
        while len(tasks) < most and (not self._arrived.empty() or (wait and not tasks)):
            task = self._arrived.get()
            if task is None:
                self.over = True
                break
            if self.wanted(task):
                tasks.append(task)
        return tasks

    def wanted(self, task: Task) -> bool:
        """Whether somebody still waits for the task."""
        with self._lock:
            return task.sample in self._open
