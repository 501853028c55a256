"""The phases of a build: which are done, kept in a file, so that a killed build can resume."""

import fcntl
import glob
import hashlib
import json
import os
import shutil
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from graphwalker.errors import UserError
from graphwalker.files import write_json

VERSION = 5
"""Raised when a build that an older GraphWalker began cannot be finished by this one."""


class LimitError(UserError):
    """Memory or disk ran out, or reached its limit; the build can resume from what is done."""


class MemoryLimitError(LimitError):
    """A step needs more memory than the limit; in smaller parts it may do with less."""


class Phases:
    """The state of one build, in its working folder; a change is written as it is made.

    A build of seconds is not worth that: without `kept` it starts anew after a kill.
    """

    def __init__(self, folder: Path, kept: bool = True) -> None:
        self.folder, self._kept = folder, kept
        self._path = folder / "state.json"
        self._state: dict[str, Any] = {"done": {}}
        if self._path.is_file():
            self._state = json.loads(self._path.read_text(encoding="utf-8"))

    @property
    def is_started(self) -> bool:
        """Whether an earlier run left something to resume from."""
        return bool(self._state["done"]) or len(self._state) > 1

    def notes_of(self, phase: str) -> dict[str, Any] | None:
        """What a finished phase noted, or `None` when it is still to be done."""
        return self._state["done"].get(phase)

    def finish(self, phase: str, notes: Mapping[str, Any] | None = None) -> None:
        self._state["done"][phase] = dict(notes or {})
        self._save()

    def get(self, key: str, default: Any) -> Any:
        """Where an unfinished phase stands."""
        return self._state.get(key, default)

    def put(self, **values: Any) -> None:
        self._state.update(values)
        self._save()

    def _save(self) -> None:
        if not self._kept:
            return
        write_json(self._path, self._state, indent=None)


def plan(inputs: Sequence[Path], settings: Mapping[str, Any]) -> str:
    """A name for the build of these files, as they are now, with these settings."""
    files = [(str(p.resolve()), s.st_size, s.st_mtime_ns) for p in inputs if (s := _stat(p))]
    text = json.dumps([VERSION, files, settings], sort_keys=True, default=sorted)
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


@contextmanager
def workplace(out: Path, plan_name: str) -> Generator[Path, None, None]:
    """The build's folder beside `out`, gone once it is done or its input was refused.

    It stays after a kill, an interrupt or a full disk, and the same build resumes in it. What
    builds of other plans for the same `out` left is swept away, unless they are running.
    """
    prefix = f".{out.name}.building-"
    work = out.with_name(f"{prefix}{plan_name}")
    try:
        if out.exists() and not out.is_dir():
            raise UserError(f"{out}: is a file; give a folder for the graph")
        work.mkdir(parents=True, exist_ok=True)
        for old in out.parent.glob(f"{glob.escape(prefix)}*"):
            if old != work:
                _sweep(old)
        with _lock_folder(work) as locked:
            if not locked:
                raise LimitError(f"{out}: another process is building it")
            yield work
    except LimitError as error:
        raise LimitError(f"{error}; the graph was not built{_KEPT.format(work)}") from None
    except OSError as error:
        why = f"{error.filename or out}: {error.strerror or error}; the graph was not built"
        raise LimitError(why + _KEPT.format(work)) from None
    except Exception:
        shutil.rmtree(work, ignore_errors=True)
        raise
    shutil.rmtree(work, ignore_errors=True)


_KEPT = "; the same command resumes where it was, or remove {}"


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _sweep(folder: Path) -> None:
    with _lock_folder(folder) as locked:
        if locked:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _lock_folder(folder: Path) -> Generator[bool, None, None]:
    """Whether this process alone works there; the lock goes with the process, however it ends."""
    with (folder / "lock").open("ab") as file:
        yield _try_lock(file)


def _try_lock(file: BinaryIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
