"""Processes of this machine that do one piece of work each, and how it went."""

import os
import signal
import socket
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from typing import Any

from graphwalker.errors import GraphWalkerError, UserError

MISTAKE = 2
"""The exit code of a user's mistake."""


class ProcessError(GraphWalkerError, RuntimeError):
    """One of the processes failed, with the exit code that it would have alone."""

    def __init__(self, message: str, exit_code: int) -> None:
        self.exit_code = exit_code
        super().__init__(message)


class SideProcess:
    """A process that calls `work`, which `pickle` takes, with these environment variables.

    It ends when this process does, however that ends, and leaves Ctrl-C to it.
    """

    def __init__(
        self, work: Callable[[], object], name: str, environment: Mapping[str, str] | None = None
    ) -> None:
        context = get_context("spawn")
        self.name = name
        self.end, theirs = context.Pipe(duplex=False)
        self.process = context.Process(
            target=_run, args=(work, dict(environment or {}), theirs), name=name
        )
        with _ctrl_c_is_ours(), one_thread():
            self.process.start()
        theirs.close()

    def result(self) -> Any:
        """What `work` returned, as soon as it is there.

        Raises `UserError` for a user's mistake, `ProcessError` for all else that went wrong.
        """
        try:
            result, failure = self.end.recv()
        except EOFError:
            self.process.join()
            code = self.process.exitcode
            raise ProcessError(f"{self.name} ended with code {code} (out of memory?)", 1) from None
        if failure is None:
            return result
        message, code = failure
        raise UserError(message) if code == MISTAKE else ProcessError(message, code)

    def kill(self) -> None:
        """End it, whatever it is at."""
        self.process.kill()
        self.process.join()


def first_ended(processes: list[SideProcess]) -> SideProcess:
    """The first of them that has a result, or has failed."""
    ready = wait([process.end for process in processes])
    return next(process for process in processes if process.end in ready)


@contextmanager
def one_thread() -> Generator[None]:
    """Processes started meanwhile calculate with one thread each: torch reads the variable where
    it is imported."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = before


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _run(work: Callable[[], object], environment: Mapping[str, str], end: Any) -> None:
    # Ctrl-C reaches every process of the terminal: the parent tells it, this one ends in silence.
    signal.signal(signal.SIGINT, _leave)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ.update(environment)
    try:
        outcome: tuple[object, tuple[str, int] | None] = work(), None
    except GraphWalkerError as error:
        code = MISTAKE if isinstance(error, UserError) else 1
        outcome = None, (str(error), getattr(error, "exit_code", code))
    end.send(outcome)
    end.close()


def _leave(*_: object) -> None:
    os._exit(130)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _ctrl_c_is_ours() -> Generator[None]:
    """A process started meanwhile prints no traceback on Ctrl-C before it has a handler."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
