"""The workers of an evaluation: this process, or several worker processes."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from graphwalker.agents.environment import Environment
from graphwalker.agents.rollout import Task, TaskList, rollout
from graphwalker.policies.base import Policy
from graphwalker.trajectory import Trajectory
from graphwalker.workers.pool import Backend, Pool, Processes


@dataclass(frozen=True, slots=True)
class ThisProcess:
    """`concurrency` episodes at once, `retries` further tries of a failed one."""

    environment: Environment
    policy: Policy
    concurrency: int = 64
    retries: int = 1

    @property
    def policy_name(self) -> str:
        return self.policy.name

    def run(self, episodes: Sequence[Task]) -> Iterator[Trajectory]:
        return rollout(
            TaskList(iter(episodes), ordered=False),
            self.environment,
            self.policy,
            concurrency=self.concurrency,
            retries=self.retries,
        )


class LazyProcess:
    """A `ThisProcess` that is made with the first episode: joining shards needs no model."""

    def __init__(
        self, environment: Environment, policy_name: str, make: Callable[[], ThisProcess]
    ) -> None:
        self.environment, self.policy_name = environment, policy_name
        self._make = cache(make)

    def run(self, episodes: Sequence[Task]) -> Iterator[Trajectory]:
        return self._make().run(episodes)


class WorkerProcesses:
    """`workers` processes, each with a `ThisProcess` of its own, made by `build(config)` in it.

    `build` is a module-level function. Use as a context manager.
    """

    def __init__(
        self,
        build: Callable[[Any], ThisProcess],
        config: Any,
        workers: int,
        environment: Environment,
        policy_name: str,
        chunk: int = 256,
        backend: Backend | None = None,
    ) -> None:
        """`chunk`: most episodes handed to a worker at once; `backend`: workers elsewhere
        than in processes of this machine, made by `worker_maker(build, config, workers)`."""
        self.environment, self.policy_name = environment, policy_name
        self._workers, self._chunk = workers, chunk
        backend = backend or Processes(worker_maker, (build, config, workers), workers)
        self._pool = Pool[Sequence[Task], list[Trajectory]](backend, ahead=workers + 1)

    def run(self, episodes: Sequence[Task]) -> Iterator[Trajectory]:
        size = max(1, min(-(-len(episodes) // self._workers), self._chunk))
        starts = range(0, len(episodes), size)
        for trajectories in self._pool.results(episodes[at : at + size] for at in starts):
            yield from trajectories

    def __enter__(self) -> "WorkerProcesses":
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.__exit__()


Workers = ThisProcess | LazyProcess | WorkerProcesses
"""They run episodes, and hand each over as soon as may be, in any order."""


def worker_maker(
    build: Callable[[Any], ThisProcess], config: Any, workers: int
) -> Callable[[Sequence[Task]], list[Trajectory]]:
    """Return the function that a backend calls in each worker to run a part."""
    # Before torch is loaded: workers that each take every core stand in each other's way.
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // workers)))
    return partial(_run, build(config))


def _run(process: ThisProcess, part: Sequence[Task]) -> list[Trajectory]:
    return list(process.run(part))
