"""Ray actors as the workers of a pool, on one machine or on a cluster."""

import os
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

from graphwalker.config import Config
from graphwalker.errors import GraphWalkerError, UserError
from graphwalker.workers import Taken


class RayActors:
    """`workers` actors of one CPU each, every one with a graph of its own.

    Joins the cluster that `RAY_ADDRESS` names, else starts Ray on this machine. On a cluster the
    graph and this project lie at the same paths on all nodes. Raises `UserError` without Ray.
    """

    def __init__(
        self,
        build: Callable[[Path | str, Config], Callable[[Any], Any]],
        graph: Path | str,
        config: Config,
        workers: int,
    ) -> None:
        self._ray = _ray()
        self._started = not self._ray.is_initialized()
        if self._started:
            _start(self._ray, workers)
        path = Path(graph)
        graph = path.resolve() if path.exists() else graph
        actor: Any = self._ray.remote(num_cpus=1)(_Worker)
        self._actors = [actor.remote(build, graph, config) for _ in range(workers)]
        self._turn = count()

    def submit(self, chunk: list[Any]) -> Taken:
        """Hand a chunk to the next actor in turn."""
        actor = self._actors[next(self._turn) % len(self._actors)]
        return partial(self._take, actor.run.remote(chunk))

    def _take(self, chunk: Any) -> list[Any]:
        errors = self._ray.exceptions
        try:
            return self._ray.get(chunk)
        except errors.RayTaskError as error:
            raise error.cause from None
        except errors.RayError as error:
            raise GraphWalkerError(
                f"Ray lost a worker ({type(error).__name__}); what is made so far is kept: "
                "run the same command again"
            ) from None

    def close(self) -> None:
        """End the actors, and Ray where this pool started it."""
        for actor in self._actors:
            self._ray.kill(actor)
        if self._started:
            self._ray.shutdown()


class _Worker:
    def __init__(self, build: Callable[..., Any], graph: Path | str, config: Config) -> None:
        # Called later: an actor that fails here dies, and its error with it.
        self._make = cache(lambda: build(graph, config))

    def run(self, chunk: list[Any]) -> list[Any]:
        return [self._make()(job) for job in chunk]


def _ray() -> Any:
    try:
        ray: Any = import_module("ray")
        import_module("ray.exceptions")
    except ImportError:
        raise UserError(
            "engine=ray needs Ray: pip install 'graphwalker-kgqa[ray]', or leave --engine away"
        ) from None
    return ray


def _start(ray: Any, workers: int) -> None:
    address = os.environ.get("RAY_ADDRESS", "")
    own = {} if address else {"num_cpus": workers, "include_dashboard": False}
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(address=address or "local", log_to_driver=False, logging_level="WARNING", **own)
