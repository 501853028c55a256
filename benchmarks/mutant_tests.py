"""Tests of a copy of the code, each run in a child that has the heavy packages loaded already.

The tests are run once without a mutation. What they imported is then loaded for those that come
after, and their times give the order: files that are fast first, tests of over a second last.
"""

import importlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from graphwalker.errors import UserError

ROOT = Path(__file__).resolve().parent.parent
OURS = ("graphwalker", "data_pipeline", "training", "eval", "benchmarks", "support", "conftest")
VERDICTS = ROOT / "runs" / "mutations"
MEMORY_BYTES = 16 << 30
"""Of addresses, for a change that asks for memory without end."""
LONG_S = 1.0
"""A test that takes longer comes after all others."""
CLOCK = "the clock"


@dataclass(frozen=True)
class Verdict:
    """Which test failed first on a change, `""` where none did."""

    name: str
    digest: str
    by: str
    seconds: float

    @property
    def caught(self) -> bool:
        return bool(self.by)

    @property
    def line(self) -> str:
        return f"{'caught' if self.caught else 'SURVIVED':9}{self.seconds:5.0f} s  {self.name}"


class Verdicts:
    """What was found out, one line per trial, so that a run that was stopped continues.

    A survivor without a reason is tried again by each run, since it may have got a test.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._all: list[Verdict] = []
        if path.exists():
            lines = path.read_text(encoding="utf-8").splitlines()
            self._all = [Verdict(**json.loads(line)) for line in lines]

    def add(self, verdict: Verdict) -> None:
        self._all.append(verdict)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(verdict.__dict__) + "\n")

    def known(self, name: str, text: str, may_survive: bool = False) -> Verdict | None:
        """The trial that caught this change of a file to `text`; where it `may_survive`, for a
        reason that is written down, any trial of it."""
        same = [v for v in self._all if (v.name, v.digest) == (name, digest(text))]
        return next((v for v in same if v.caught), same[-1] if same and may_survive else None)

    def caught_at_first(self, names: Iterable[str]) -> int:
        """How many of `names` were caught when they were first tried, before tests were added."""
        first: dict[str, bool] = {}
        for verdict in self._all:
            first.setdefault(verdict.name, verdict.caught)
        return sum(first.get(name, False) for name in names)


class Copy:
    """The tracked files in a folder of their own, so that nothing here is changed."""

    def __init__(self, folder: Path, patience_s: int) -> None:
        self._folder = folder
        self._patience_s = patience_s
        self._seconds: dict[str, float] = {}
        self._limits_s: dict[str, int] = {}
        listed = subprocess.run(
            ["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, check=True
        )
        for name in filter(None, listed.stdout.decode().split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, folder / name)

    def first_failure(self, file: str, text: str, tests: str) -> str:
        """The first of `tests` that fails with `text` in `file`; one that hangs is `CLOCK`."""
        self._need_sound(tests)
        path = self._folder / file
        sound = path.read_text(encoding="utf-8")
        # Bytecode of the same second and size would be believed.
        shutil.rmtree(path.parent / "__pycache__", ignore_errors=True)
        path.write_text(text, encoding="utf-8")
        try:
            return self._run(tests, self._limits_s[tests], Order(self._seconds))
        finally:
            path.write_text(sound, encoding="utf-8")

    def _need_sound(self, tests: str) -> None:
        if tests in self._limits_s:
            return
        notes = Notes(self._folder / "mutant.notes.json")
        started = _seconds_of_children()
        if failed := self._run(tests, self._patience_s, notes):
            end = self._log().read_text(encoding="utf-8", errors="replace")[-300:]
            raise UserError(f"{tests}: {failed} fails without a mutation: {end}")
        self._limits_s[tests] = 30 + int(5 * (_seconds_of_children() - started))
        noted = json.loads(notes.path.read_text(encoding="utf-8"))
        self._seconds |= noted["seconds"]
        with warnings.catch_warnings(action="ignore"):
            for name in noted["modules"]:
                with suppress(Exception):
                    importlib.import_module(name)

    def _log(self) -> Path:
        return self._folder / "mutant.log"

    def _run(self, tests: str, limit_s: int, plugin: Any) -> str:
        first = self._folder / "mutant.first"
        first.write_text("")
        child = os.fork()
        if not child:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s + 5))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(self._patience_s)
            _run_tests(tests, self._folder, self._log(), [plugin, FirstFailure(first)])
        try:
            _, status = os.waitpid(child, 0)
        finally:
            with suppress(ProcessLookupError):  # what a test left running
                os.killpg(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(status)
        if code in (-signal.SIGALRM, -signal.SIGXCPU, -signal.SIGKILL):
            return CLOCK
        if code < 0:
            return f"signal {-code}"
        if code not in (0, 1, 2):
            end = self._log().read_text(encoding="utf-8", errors="replace")[-300:]
            raise UserError(f"pytest {tests}: exit code {code}: {end}")
        return first.read_text() or "collection" if code else ""


class FirstFailure:
    """Writes the name of the first test that fails."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self._path.read_text():
            self._path.write_text(report.nodeid)


class Notes:
    """Writes how long each test took and which packages were loaded in the end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call":
            self._seconds[report.nodeid] = report.duration

    def pytest_sessionfinish(self) -> None:
        modules = [
            name
            for name, module in sys.modules.items()
            if "site-packages" in (getattr(module, "__file__", None) or "")
        ]
        self.path.write_text(json.dumps({"seconds": self._seconds, "modules": modules}))


class Order:
    """Sorts tests: long ones last, files that are fast first."""

    def __init__(self, seconds: Mapping[str, float]) -> None:
        self._seconds = seconds

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        of_file: dict[str, float] = {}
        for item in items:
            file = item.nodeid.partition("::")[0]
            of_file[file] = of_file.get(file, 0.0) + self._seconds.get(item.nodeid, 0.0)
        items.sort(
            key=lambda item: (
                self._seconds.get(item.nodeid, 0.0) > LONG_S,
                of_file[item.nodeid.partition("::")[0]],
            )
        )


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def tried(copy: Copy, name: str, file: str, text: str, stages: Iterable[str]) -> Verdict:
    """The change against each of `stages`, tests that are asked where those before see nothing."""
    started = time.monotonic()
    failures = (copy.first_failure(file, text, tests) for tests in stages)
    by = next(filter(None, failures), "")
    return Verdict(name, digest(text), by, round(time.monotonic() - started, 1))


def _seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _run_tests(tests: str, copy: Path, log: Path, plugins: list[Any]) -> None:
    import pytest
    from hypothesis import settings

    # A slow machine is no failure, and the same change meets the same examples.
    settings.register_profile("mutants", deadline=None, derandomize=True)
    settings.load_profile("mutants")
    with log.open("wb") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    for name in [n for n in sys.modules if n.partition(".")[0] in OURS]:
        del sys.modules[name]
    sys.dont_write_bytecode = not any(isinstance(plugin, Notes) for plugin in plugins)
    sys.path[:] = [str(copy), *(p for p in sys.path if Path(p or ".").resolve() != ROOT)]
    importlib.invalidate_caches()
    os.environ["PYTHONPATH"] = str(copy)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    os.chdir(copy)
    code = 3
    with suppress(BaseException):
        code = int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", *tests.split()], plugins))
    os._exit(code)
