"""Training by several processes of this machine: what `accelerate launch` would start."""

import os
import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from threading import current_thread, main_thread
from types import FrameType
from typing import TypeVar

from graphwalker.config import Config
from graphwalker.pipeline.processes import ProcessError, SideProcess, first_ended

C = TypeVar("C", bound=Config)
STOPPING = (signal.SIGTERM, signal.SIGUSR1)
"""Signals upon which training saves a checkpoint and ends."""
SIGNALLED = 128
"""Exit codes above it are of a signal."""
STOPPED_S, FAILED_S = 60.0, 2.0
"""Seconds that the others have to end once one was stopped by a signal, or has failed."""


def train_together(train: Callable[[C], object], config: C, count: int) -> None:
    """Run `train` (`run_sft`, `run_grpo`): here, or as `count` processes of one thread each that
    average their gradients over gloo, the first with its progress on the terminal.

    SIGTERM and SIGUSR1 are passed on: the processes save a checkpoint and end. What the first
    failed one said is raised here. (`graphwalker.pipeline.processes.SideProcess.result`.)
    """
    if count == 1:
        train(config)
        return
    from torch.distributed.elastic.utils.distributed import get_free_port

    place = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(get_free_port()),
        "WORLD_SIZE": str(count),
        "LOCAL_WORLD_SIZE": str(count),
        # All of them are here; without it gloo asks for the address of this machine's name.
        "GLOO_SOCKET_IFNAME": _loopback(),
    }
    work = partial(_train, train, config)
    processes = [
        SideProcess(work, f"process {rank} of the training", {**place, **_number(rank)})
        for rank in range(count)
    ]
    waiting = list(processes)
    with _passing_on(processes):
        try:
            while waiting:
                one = first_ended(waiting)
                one.result()
                waiting.remove(one)
        except ProcessError as error:
            # The first may still be saving what a signal asked for; others wait for the failed one.
            for one in processes:
                one.process.join(STOPPED_S if error.exit_code > SIGNALLED else FAILED_S)
            raise
        finally:
            for one in processes:
                one.kill() if waiting else one.process.join()


def _train(train: Callable[[C], object], config: C) -> None:
    from training.runs.distributed import leave_the_other_processes

    train(config)
    leave_the_other_processes()


def _number(rank: int) -> dict[str, str]:
    return {"RANK": str(rank), "LOCAL_RANK": str(rank)}


@contextmanager
def _passing_on(processes: list[SideProcess]) -> Generator[None]:
    """The signals that stop training go to the processes that train."""

    def forward(number: int, _: FrameType | None) -> None:
        for one in processes:
            if one.process.is_alive() and one.process.pid:
                os.kill(one.process.pid, number)

    if current_thread() is not main_thread():  # elsewhere Python sets no handlers
        yield
        return
    before = {number: signal.signal(number, forward) for number in STOPPING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _loopback() -> str:
    return next((name for _, name in socket.if_nameindex() if name.startswith("lo")), "lo")
