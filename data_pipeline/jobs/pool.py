"""The workers of a data job: processes, Ray actors, or threads where they wait for a server."""

import atexit
import gc
import os
import sys
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from data_pipeline.config import ExpertConfig, SamplingConfig
from data_pipeline.teacher.client import Chats
from graphwalker.graphs.open import is_endpoint
from graphwalker.workers.pool import Backend, InLine, Pool, Processes, Threads
from graphwalker.workers.ray import RayActors

CHUNK = 16
"""Jobs handed to a worker process at once."""
TAUGHT_AHEAD = 4
"""Attempts begun for each request that may be under way: most of them end without a request."""
ENDPOINT_THREADS, ENDPOINT_AHEAD = 64, 80
"""Attempts under way at once over an endpoint, which gathers their look-ups into few requests."""
COLLECT_AFTER = 1_000_000
"""Objects after which Python looks for cycles, by default 700: records are many small objects
without any, and looking through them again and again takes a tenth of the time."""

Build = Callable[..., Callable[[Any], Any]]
"""A module-level function of graph and config (and of the lines to chat models, where one teaches
or judges): opens the graph and returns what makes one record of one job."""


@contextmanager
def open_pool(
    build: Build, graph: Path | str, config: SamplingConfig | ExpertConfig, out: Path
) -> Generator[Pool[Any, Any], None, None]:
    """Open the pool that the config asks for. What is made is the same for any."""
    if isinstance(config, SamplingConfig) and (config.teacher.chats or config.judge.chats):
        chatting = [chat for chat in (config.teacher, config.judge) if chat.chats]
        threads = max(chat.concurrency for chat in chatting)
        with (
            closing(Chats.open(config.teacher, config.judge, out)) as chats,
            Pool[Any, Any](
                Threads(build(graph, config, chats), threads, chats.stop),
                TAUGHT_AHEAD * threads,
                frugal=True,
            ) as pool,
        ):
            yield pool
    elif is_endpoint(graph):
        threads = Threads(build(graph, config), ENDPOINT_THREADS)
        with Pool[Any, Any](threads, ENDPOINT_AHEAD) as pool:
            yield pool
    elif is_in_line(graph, config):
        with _collecting_rarely(), Pool[Any, Any](InLine(build(graph, config))) as pool:
            yield pool
    else:
        processes = _processes(build, graph, config)
        with _collecting_rarely(), Pool[Any, Any](processes, config.workers + 1, CHUNK) as pool:
            yield pool


def is_in_line(graph: Path | str, config: SamplingConfig | ExpertConfig) -> bool:
    """Return whether jobs are done one after the other, each when its result is taken."""
    asks = isinstance(config, SamplingConfig) and (config.teacher.chats or config.judge.chats)
    one = config.workers == 1 and config.engine == "processes"
    return one and not asks and not is_endpoint(graph)


def _processes(build: Build, graph: Path | str, config: SamplingConfig | ExpertConfig) -> Backend:
    if config.engine == "ray":
        path = Path(graph)
        graph = path.resolve() if path.exists() else graph
        there = partial(_build_in_process, build, False)
        return RayActors(there, (graph, config), config.workers, address=config.ray_address)
    return Processes(partial(_build_in_process, build, True), (graph, config), config.workers)


def _build_in_process(build: Build, ends_at_once: bool, *arguments: Any) -> Callable[[Any], Any]:
    gc.set_threshold(COLLECT_AFTER, *gc.get_threshold()[1:])
    if ends_at_once:
        atexit.register(_end_at_once)
    return build(*arguments)


def _end_at_once() -> None:
    """End the process without taking its memory apart, object by object: of some million that a
    walker remembers, that takes a second or more. Every result was handed over before."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


@contextmanager
def _collecting_rarely() -> Generator[None, None, None]:
    before = gc.get_threshold()
    gc.set_threshold(COLLECT_AFTER, *before[1:])
    try:
        yield
    finally:
        # All objects made meanwhile count as old ones: they are not looked through at once.
        gc.freeze()
        gc.unfreeze()
        gc.set_threshold(*before)
