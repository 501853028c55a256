"""Ray actors as the workers of a pool, on one machine or on a cluster; a lost one's work is done
again by another."""

import os
import socket
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from typing import Any

from graphwalker.errors import GraphWalkerError, UserError, lacks_extra
from graphwalker.workers.pool import Taken

TRIES = 3
"""Workers that may be lost with the same chunk of jobs under way: more is not by chance."""


class RayActors:
    """`workers` actors, every one with what `build(*arguments)` makes in it: a graph of its own.

    Joins the cluster at `address` (or `RAY_ADDRESS`), else starts Ray on this machine. On a cluster
    graph, model and this project lie at the same paths on all nodes. Raises `UserError` without
    Ray, or where no cluster answers.
    """

    def __init__(
        self,
        build: Callable[..., Callable[[Any], Any]],
        arguments: tuple[Any, ...],
        workers: int,
        *,
        address: str = "",
        gpus: float = 0.0,
    ) -> None:
        """`gpus`: share of a GPU that each worker takes."""
        self._ray = _ray()
        self._started = not self._ray.is_initialized()
        if self._started:
            _start(self._ray, workers, address)
        # Spread: workers of one node would share its memory bandwidth, and be lost together.
        kind: Any = self._ray.remote(
            num_cpus=1, num_gpus=gpus, scheduling_strategy="SPREAD", max_concurrency=1
        )(_Worker)
        self._make = lambda: kind.remote(build, arguments)
        self._actors: list[Any] = [self._make() for _ in range(workers)]
        self._coming: dict[Any, Any] = {}
        self._turn = 0

    def submit(self, chunk: list[Any]) -> Taken:
        """Hand a chunk to the next actor in turn."""
        actor = self._next()
        return partial(self._take, chunk, actor, actor.run.remote(chunk))

    def close(self) -> None:
        """End the actors, and Ray where this pool started it."""
        for actor in (*self._actors, *self._coming.values()):
            self._ray.kill(actor)
        if self._started:
            self._ray.shutdown()

    def _take(self, chunk: list[Any], actor: Any, reference: Any) -> list[Any]:
        errors = self._ray.exceptions
        lost = "a worker"
        for tried in range(TRIES):
            if tried:
                actor = self._next()
                reference = actor.run.remote(chunk)
            try:
                return self._ray.get(reference)
            except errors.RayTaskError as error:
                raise error.cause from None
            except errors.RayError as error:
                lost = next(iter(str(error).splitlines()), type(error).__name__)
                self._replace(actor)
        raise GraphWalkerError(
            f"Ray lost {TRIES} workers with the same jobs: {lost} What is made so far is kept: run "
            "the same command again"
        )

    def _next(self) -> Any:
        """Return the actor whose turn it is; those that replace lost ones join once they exist."""
        waiting = list(self._coming)
        ready: list[Any] = self._ray.wait(waiting, timeout=0)[0] if waiting else []
        if not self._actors and not ready:  # all were lost: wait for the first of the new ones
            ready = self._ray.wait(waiting, timeout=None)[0]
        self._actors += [self._coming.pop(reference) for reference in ready]
        self._turn += 1
        return self._actors[self._turn % len(self._actors)]

    def _replace(self, actor: Any) -> None:
        """Take a lost actor out and ask for another, where the cluster has room for it."""
        if actor in self._actors:  # several chunks may have been lost with it
            self._actors.remove(actor)
            new = self._make()
            self._coming[new.ready.remote()] = new


class _Worker:
    def __init__(self, build: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        # Called later: an actor that fails here dies, and its error with it.
        self._make = cache(lambda: build(*arguments))

    def ready(self) -> bool:
        return True

    def run(self, chunk: list[Any]) -> list[Any]:
        return [self._make()(job) for job in chunk]


def _ray() -> Any:
    try:
        ray: Any = import_module("ray")
        import_module("ray.exceptions")
    except ImportError:
        raise lacks_extra("engine=ray needs Ray", "ray", ", or leave --engine away") from None
    return ray


def _start(ray: Any, workers: int, address: str) -> None:
    address = address or os.environ.get("RAY_ADDRESS", "")
    own = {} if address else {"num_cpus": workers, "include_dashboard": False}
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():  # Ray's core ends this process where nothing listens
        try:
            socket.create_connection((host, int(port)), timeout=10).close()
        except OSError as error:
            raise UserError(
                f"ray_address={address}: no Ray cluster answers here ({error.strerror or error})"
            ) from None
    try:
        ray.init(address=address or "local", log_to_driver=False, logging_level="WARNING", **own)
    except (ConnectionError, ValueError) as error:
        line = (str(error).strip().splitlines() or ["no answer"])[0]
        raise UserError(f"ray_address={address}: no Ray cluster answers here ({line})") from None
