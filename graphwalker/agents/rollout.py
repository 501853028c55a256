"""The one loop: run episodes against a policy, whatever the policy is."""

import logging
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import count, islice

from graphwalker.agents.environment import Environment
from graphwalker.agents.episode import Episode
from graphwalker.errors import HopelessError, PolicyError, UserError
from graphwalker.policies.base import Completion, Policy, Request, Sampling, is_looping
from graphwalker.question import Question
from graphwalker.trajectory import Trajectory, Turn
from graphwalker.workers.pool import count_work


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
    """Tasks known beforehand. Their trajectories come in this order or, not `ordered`, as they end:
    then a slow one holds back none that is to be stored."""

    arrives = False

    def __init__(self, tasks: Iterator[Task], ordered: bool = True) -> None:
        self._tasks, self.ordered = tasks, ordered
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

    arrives = True
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
        """Take no more questions; `cancel` ends the episodes under way, too."""
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
            if self.is_awaited(task):
                tasks.append(task)
        return tasks

    def is_awaited(self, task: Task) -> bool:
        """Return whether somebody still waits for the task."""
        with self._lock:
            return task.sample in self._open


log = logging.getLogger(__name__)

_READ_AHEAD = 4
"""Finished episodes that may wait for a slower, earlier one, as a multiple of the concurrency."""

_WARNED_POLICIES: set[str] = set()
"""Policies of which a warning says that their turns were cut."""

OnTurn = Callable[[Task, int, Turn], None]
"""Called with (task, turn number from 1, turn) as soon as a turn is over, from the thread that runs
the episodes. An episode that is tried again begins at turn 1 again."""


def rollout(
    questions: Iterable[Question] | TaskList | Inbox,
    environment: Environment,
    policy: Policy,
    sampling: Sampling | None = None,
    *,
    samples: int = 1,
    concurrency: int = 64,
    retries: int = 1,
    first_sample: int = 0,
    on_turn: OnTurn | None = None,
) -> Iterator[Trajectory]:
    """Trajectories in question order, then sample order, whatever order they finish in.

    A `TaskList` in place of questions says itself which episodes, how drawn, and in which order. An
    `Inbox` stays open: its trajectories come as they finish, each drawn as it was put in. An
    episode that failed for our reasons is tried again `retries` times with fresh tools, then
    yielded with that stop reason: set it aside, it says nothing about the agent.

    After a failure that every request would meet (`HopelessError`: a wrong key, a cap) no further
    episode starts; those under way are yielded, then it is raised. An `Inbox` continues.
    """
    if isinstance(questions, Inbox | TaskList):
        source = questions
    else:
        drawn = sampling or Sampling()
        numbers = range(first_sample, first_sample + samples)
        tasks = (Task(q, number, drawn) for q in questions for number in numbers)
        source = TaskList(tasks)
    run = _Run(source, environment, policy, retries, on_turn)
    return run.trajectories(max(1, concurrency))


def without_times(trajectory: Trajectory) -> Trajectory:
    """Return the trajectory without its clock readings: equal for equal episodes, byte by byte."""
    turns = tuple(turn.without_time() for turn in trajectory.turns)
    usage = {key: value for key, value in trajectory.usage.items() if key != "seconds"}
    return replace(trajectory, turns=turns, usage=usage)


@dataclass(slots=True)
class _Running:
    """An episode under way: its place among the tasks, and how many of its turns were reported."""

    place: int
    task: Task
    episode: Episode
    reported: int = 0


class _Run:
    """Episodes in flight, finished ones that wait for their place, and how often each was tried."""

    def __init__(
        self,
        source: TaskList | Inbox,
        environment: Environment,
        policy: Policy,
        retries: int,
        on_turn: OnTurn | None,
    ) -> None:
        self._source = source
        self._environment = environment
        self._policy = policy
        self._retries = retries
        self._on_turn = on_turn
        self._running: dict[str, _Running] = {}
        self._tries: dict[int, int] = {}
        self._retry_logged = False
        self._hopeless: HopelessError | None = None
        self._finished: dict[int, Trajectory | None] = {}
        """By place; `None` for one that was cancelled."""
        most = environment.tools_at_once
        self._threads = ThreadPoolExecutor(most) if most > 1 else None

    def trajectories(self, concurrency: int) -> Iterator[Trajectory]:
        started = due = 0
        try:
            while started > due or not (self._source.over or self._hopeless is not None):
                # Results keep the order of the questions, so one slow episode holds back all later
                # ones: without this bound they would pile up in memory.
                ahead = due + _READ_AHEAD * concurrency - started
                most = max(0, min(concurrency - len(self._running), ahead))
                if self._hopeless is not None:
                    most = 0
                # Block for a question only where nothing is in flight, or running episodes would
                # wait, too.
                for task in self._source.take(most, wait=started == due):
                    self._start(started, task)
                    started += 1
                    if self._hopeless is not None:
                        break
                for place in self._ready(due):
                    trajectory = self._finished.pop(place)
                    due += 1
                    if trajectory is not None:
                        yield trajectory
                self._drop_cancelled()
                if self._running:
                    self._collect()
            if self._hopeless is not None:
                raise self._hopeless
        finally:
            # The caller may stop half-way, and an engine keeps an episode's cache until it is
            # released.
            for key in list(self._running):
                self._policy.release(key)
            if self._threads is not None:
                self._threads.shutdown()

    def _ready(self, due: int) -> Iterator[int]:
        """Places whose trajectories may be yielded now."""
        if not self._source.ordered:
            yield from list(self._finished)
            return
        while due in self._finished:
            yield due
            due += 1

    def _start(self, place: int, task: Task) -> None:
        if task.key in self._running:
            raise UserError(f"question id {task.question.id!r} appears twice: give each its own id")
        running = _Running(place, task, Episode(task.question, task.sample, self._environment))
        self._running[task.key] = running
        self._submit(running)

    def _submit(self, running: _Running) -> None:
        """Ask the policy for what the episode waits for, or put the finished episode in place."""
        episode = running.episode
        self._report(running)
        while episode.ask is not None:
            request = Request(
                key=episode.key,
                messages=episode.ask.messages,
                question=episode.question,
                turns=episode.turns,
                sampling=running.task.sampling,
                stop=episode.ask.stop,
                restart=episode.ask.restart,
                tools=episode.ask.tools,
                grammar=episode.ask.grammar,
                about=episode.ask.about,
            )
            try:
                self._policy.submit(request)
                return
            except PolicyError as error:
                # A refused request ends the episode as an infrastructure failure, so the loop ends.
                episode.feed(error)
        self._finish(running)

    def _report(self, running: _Running) -> None:
        turns = running.episode.turns
        for number in range(running.reported, len(turns)):
            if self._on_turn is not None:
                self._on_turn(running.task, number + 1, turns[number])
            count_work(turns=1)
        running.reported = len(turns)

    def _collect(self) -> None:
        try:
            results = self._policy.collect()
            lost = PolicyError("the policy returned nothing for a pending request")
        except PolicyError as error:
            results, lost = [], error
        if not results:  # a policy that died, or forgot: every request in flight is lost
            results = [(key, lost) for key in self._running]
        self._drop_cancelled()
        fed: list[tuple[_Running, Completion | PolicyError]] = []
        for key, completion in results:
            if key in self._running:
                fed.append((self._running[key], completion))
            elif not self._source.arrives:  # of an inbox it may be one that was cancelled meanwhile
                log.warning("a completion came for %s, which is not in flight: dropped", key)
        self._feed(fed)
        for running, _ in fed:
            self._submit(running)

    def _feed(self, fed: list[tuple[_Running, Completion | PolicyError]]) -> None:
        """Run the tools that the completions call; side by side where tools wait for a server."""
        if self._threads is None:
            for running, completion in fed:
                running.episode.feed(completion)
        else:
            calls = [self._threads.submit(one.episode.feed, c) for one, c in fed]
            for call in calls:
                call.result()

    def _finish(self, running: _Running) -> None:
        place, task = running.place, running.task
        self._release(task.key)
        tries = self._tries.pop(place, 0)
        trajectory = running.episode.trajectory(self._policy.name)
        if running.episode.cut_turns and not any(
            t.error == "malformed" and is_looping(t.completion) for t in trajectory.turns
        ):
            self._warn_cut(running)
        failure = running.episode.failure
        hopeless = isinstance(failure, HopelessError)
        if hopeless and not self._source.arrives:
            self._hopeless = failure
        if trajectory.stop.infrastructure_failure and tries < self._retries and not hopeless:
            self._log_retry(f"{task.key}: {failure}; trying again")
            # The key stays the same, so the next try draws with the seeds of this one: a failure
            # that was overcome leaves no trace in the trajectory.
            self._tries[place] = tries + 1
            self._start(place, task)
        else:
            count_work(episodes=1)
            self._finished[place] = trajectory

    def _warn_cut(self, running: _Running) -> None:
        """Say once in a process that a policy has too few tokens for its turns."""
        if self._policy.name not in _WARNED_POLICIES:
            _WARNED_POLICIES.add(self._policy.name)
            cut = "%s: %s reached max_tokens=%d before its action; others are counted: raise it"
            most = running.task.sampling.max_tokens
            log.warning(cut, running.task.key, self._policy.name, most)

    def _log_retry(self, line: str) -> None:
        """Log the first retry alone: a server that is down would fill a log."""
        log.log(logging.INFO if self._retry_logged else logging.WARNING, line)
        self._retry_logged = True

    def _drop_cancelled(self) -> None:
        if isinstance(self._source, TaskList):
            return  # known beforehand, never cancelled
        for key, running in list(self._running.items()):
            if not self._source.is_awaited(running.task):
                self._release(key)
                self._finished[running.place] = None

    def _release(self, key: str) -> None:
        del self._running[key]
        self._policy.release(key)
