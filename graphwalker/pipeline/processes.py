"""Processes of this machine that do one piece of work each, and how it went."""

import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import wait
from typing import Any

from graphwalker.cli import console
from graphwalker.errors import GraphWalkerError
from graphwalker.workers import end_with_parent, starting_processes


class ProcessError(GraphWalkerError, RuntimeError):
    """One of the processes failed, with the exit code that it would have alone."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
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
        with starting_processes(), one_thread():
            self.process.start()
        theirs.close()

    def result(self) -> Any:
        """What `work` returned, as soon as it is there.

        Raises what `work` raised, and `ProcessError` where that cannot be passed on, or where the
        process was killed.
        """
        try:
            result, failure = self.end.recv()
        except EOFError:
            self.process.join()
            code = self.process.exitcode or 0
            why = "killed, for want of memory?" if code < 0 else "its error stands above"
            raise ProcessError(f"{self.name} ended with code {code} ({why})") from None
        if failure is not None:
            raise failure
        return result

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


def _run(work: Callable[[], object], environment: Mapping[str, str], end: Any) -> None:
    end_with_parent()
    console.log_warnings()
    os.environ.update(environment)
    try:
        outcome: tuple[object, Exception | None] = work(), None
    except (GraphWalkerError, OSError) as error:
        outcome = None, _sendable(error)
    end.send(outcome)
    end.close()


def _sendable(error: Exception) -> Exception:
    """The error itself where it is made from its message alone, as the other process makes it."""
    try:
        type(error)(*error.args)
    except TypeError:
        return ProcessError(str(error), getattr(error, "exit_code", 1))
    return error
