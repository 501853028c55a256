"""Work on files of strangers, in a process that may take so much time and memory, and no more."""

import os
import resource
import signal
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from math import ceil
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

from graphwalker.errors import UserError, first_line

T = TypeVar("T")

MEMORY = 4 << 30
"""Bytes by which the process may grow."""
WALL_S = 180.0
"""Seconds that it may last on a machine that has no time for it."""


def run_limited(work: Callable[[], T], what: str, cpu_s: float) -> T:
    """Return what `work` returns in a copy of this process, which may compute for `cpu_s` seconds.

    It is for what a stranger's file makes a library do: render a template, match a pattern, build
    a tokenizer. `what` names it. Raises `UserError` with its reason in one line, whatever it is.
    """
    ours, theirs = get_context("fork").Pipe(duplex=False)
    process = get_context("fork").Process(target=_child, args=(theirs, work, cpu_s), daemon=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of other threads: the copy needs none
        process.start()
    theirs.close()
    try:
        if not ours.poll(WALL_S):
            raise UserError(f"{what} takes longer than {WALL_S:.0f} s")
        done, found = ours.recv()
    except (EOFError, OSError):
        raise UserError(f"{what} {_why(process, cpu_s)}") from None
    finally:
        process.kill()
        process.join()
        ours.close()
    if done:
        return found
    raise UserError(found if done is None else f"{what} fails ({found})")


def _child(connection: Connection, work: Callable[[], Any], cpu_s: float) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _limit_memory()
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (ceil(sum(os.times()[:2]) + cpu_s), hard))
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        os.dup2(nowhere.fileno(), 2)  # libraries in Rust write their panics there
        answer = _answer(work)
    with suppress(BrokenPipeError):
        connection.send(answer)


def _answer(work: Callable[[], Any]) -> tuple[bool | None, Any]:
    """(whether it was done, the result or the reason); `None`: the reason is a whole sentence."""
    try:
        return True, work()
    except UserError as error:
        return None, str(error)
    except BaseException as error:  # libraries raise whatever they like, panics of Rust as well
        return False, f"{type(error).__name__}: {first_line(error)[:200]}"


def _limit_memory() -> None:
    statm = Path("/proc/self/statm")
    if statm.exists():
        most = int(statm.read_text(encoding="ascii").split()[0]) * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _why(process: Any, cpu_s: float) -> str:
    process.join()
    if process.exitcode == -signal.SIGXCPU:
        return f"takes more than {cpu_s:g} s of computing"
    return "ends its process (more memory than it may have?)"
