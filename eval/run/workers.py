"""Players of an evaluation: who plays the episodes, one process or several."""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context, parent_process
from typing import Any, Protocol

from graphwalker.agents.environment import Environment
from graphwalker.agents.rollout import rollout
from graphwalker.errors import GraphWalkerError
from graphwalker.policies.base import Policy, Sampling
from graphwalker.question import Question
from graphwalker.trajectory import Trajectory


class Player(Protocol):
    """Plays episodes and hands them over in question order, then sample order."""

    @property
    def environment(self) -> Environment: ...

    @property
    def policy_name(self) -> str: ...

    def play(
        self, questions: Sequence[Question], sampling: Sampling, samples: int, first_sample: int
    ) -> Iterator[Trajectory]: ...


@dataclass(frozen=True, slots=True)
class Solo:
    """This process: `concurrency` episodes at once, `retries` further tries of a failed one."""

    environment: Environment
    policy: Policy
    concurrency: int = 64
    retries: int = 1

    @property
    def policy_name(self) -> str:
        return self.policy.name

    def play(
        self, questions: Sequence[Question], sampling: Sampling, samples: int, first_sample: int
    ) -> Iterator[Trajectory]:
        return rollout(
            questions,
            self.environment,
            self.policy,
            sampling,
            samples=samples,
            first_sample=first_sample,
            concurrency=self.concurrency,
            retries=self.retries,
        )


class Crew:
    """`workers` processes, each with a `Solo` of its own, built from the config inside it.

    `build(config, worker)` is a module-level function; `worker` counts from 0, to choose a GPU by.
    Use as a context manager.
    """

    def __init__(
        self,
        build: Callable[[Any, int], Solo],
        config: Any,
        workers: int,
        environment: Environment,
        policy_name: str,
        chunk: int = 64,
    ) -> None:
        self.environment, self.policy_name = environment, policy_name
        self._workers, self._chunk = workers, chunk
        context = get_context("spawn")
        numbers: Any = context.SimpleQueue()
        for number in range(workers):
            numbers.put(number)
        self._executor = ProcessPoolExecutor(
            workers, context, initializer=_start, initargs=(build, config, numbers, workers)
        )

    def play(
        self, questions: Sequence[Question], sampling: Sampling, samples: int, first_sample: int
    ) -> Iterator[Trajectory]:
        share = -(-len(questions) // self._workers)
        size = max(1, min(share, self._chunk // samples))
        parts = iter(batched_questions(questions, size))
        ahead: deque[Future[list[Trajectory]]] = deque()
        while True:
            while len(ahead) <= self._workers and (part := next(parts, None)):
                ahead.append(self._executor.submit(_play, part, sampling, samples, first_sample))
            if not ahead:
                return
            try:
                yield from ahead.popleft().result()
            except BrokenProcessPool:
                raise GraphWalkerError(
                    "a worker ended before its time (out of memory, or its message stands above); "
                    "what is done is kept: run the same command again, with fewer workers"
                ) from None

    def __enter__(self) -> "Crew":
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown(cancel_futures=True)


_build: Callable[[], Solo] | None = None
_solo: Solo | None = None


def _start(build: Callable[[Any, int], Solo], config: Any, numbers: Any, workers: int) -> None:
    global _build
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # Before torch is loaded: workers that each take every core stand in each other's way.
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // workers)))
    _build = partial(build, config, numbers.get())


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for its next part for ever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _play(
    questions: Sequence[Question], sampling: Sampling, samples: int, first_sample: int
) -> list[Trajectory]:
    global _solo
    assert _build is not None
    # Built with the first part and not at the start, where an error would end the process unheard.
    _solo = _solo or _build()
    return list(_solo.play(questions, sampling, samples, first_sample))


def batched_questions(questions: Sequence[Question], size: int) -> Iterator[Sequence[Question]]:
    """Parts of at most `size` questions, in order."""
    for start in range(0, len(questions), size):
        yield questions[start : start + size]
