"""Tests of a copy of the code, each run in a child that has the heavy packages loaded already."""

import importlib
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from graphwalker.errors import UserError

ROOT = Path(__file__).resolve().parent.parent
OURS = ("graphwalker", "data_pipeline", "training", "eval", "benchmarks", "support")
HEAVY = ("numpy", "duckdb", "pydantic", "hypothesis", "pytest")
"""Loaded once, before the tests of each mutant run in a child of this process."""
LEARNING = ("torch", "transformers")
"""Loaded with them where tests of training are among those to run."""


def make_copy(folder: Path) -> None:
    """The tracked files, so that nothing here is changed."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, check=True
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)


def load_heavy(tests: str) -> None:
    for name in (*HEAVY, *(LEARNING if "tests/training" in tests else ())):
        with suppress(ModuleNotFoundError):
            importlib.import_module(name)


def fails(tests: str, copy: Path, patience_s: int) -> tuple[bool, str]:
    """Whether a test fails, or hangs, in a child of this process; and the last of what it wrote."""
    log = copy / "mutant.log"
    child = os.fork()
    if not child:
        _run_tests(tests, copy, log, patience_s)
    try:
        _, status = os.waitpid(child, 0)
    except KeyboardInterrupt:
        os.kill(child, signal.SIGKILL)
        raise
    code = os.waitstatus_to_exitcode(status)
    end = log.read_text(encoding="utf-8", errors="replace")[-300:]
    if code not in (0, 1, 2, -signal.SIGALRM):
        raise UserError(f"pytest {tests}: exit code {code}: {end}")
    return code != 0, end


def _run_tests(tests: str, copy: Path, log: Path, patience_s: int) -> None:
    import pytest
    from hypothesis import settings

    settings.register_profile("mutants", deadline=None)  # a slow machine is no failure
    settings.load_profile("mutants")
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(patience_s)
    with log.open("wb") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    for name in [n for n in sys.modules if n.partition(".")[0] in OURS]:
        del sys.modules[name]
    sys.dont_write_bytecode = True
    sys.path[:] = [str(copy), *(p for p in sys.path if Path(p or ".").resolve() != ROOT)]
    importlib.invalidate_caches()
    os.environ["PYTHONPATH"] = str(copy)
    os.chdir(copy)
    code = 3
    with suppress(BaseException):
        code = int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", *tests.split()]))
    os._exit(code)
