"""Commands in messages run as printed, with the environment activated or not."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphwalker.console import program
from graphwalker.console.endings import show_ending
from support.paths import ROOT


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A checkout whose environment nobody activated."""
    (tmp_path / ".venv").symlink_to(sys.prefix)
    monkeypatch.setattr(sys, "executable", str(tmp_path / ".venv/bin/python"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    program.program.cache_clear()
    yield tmp_path
    program.program.cache_clear()


def test_the_next_command_runs_in_a_shell_without_the_environment(clone, capsys) -> None:
    show_ending(clone / "final", ["config", "ask"], examples=False)
    printed = capsys.readouterr().out.splitlines()[-1].removeprefix("next: ")
    assert printed == ".venv/bin/graphwalker config ask"
    done = subprocess.run(printed, shell=True, cwd=clone, capture_output=True, text=True)
    assert done.returncode == 0 and "compiled graph" in done.stdout


def test_an_error_names_the_command_as_the_shell_finds_it(clone: Path) -> None:
    command = [".venv/bin/python", "-m", "graphwalker", "graph", "info", "absent"]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(clone), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True)
    assert done.returncode == 2 and ".venv/bin/graphwalker graph build" in done.stderr


def test_an_activated_environment_leaves_the_names_as_they_are() -> None:
    program.program.cache_clear()
    text = "next: graphwalker eval; accelerate launch training/sft.py"
    assert program.as_typed(text) == text


def test_paths_and_other_words_stay_as_they_are(clone: Path) -> None:
    for text in ("runs/graphwalker ask", "the preset graphwalker, wide", "graphwalker-wide is"):
        assert program.as_typed(text) == text


def test_a_program_outside_of_the_folder_is_named_whole(clone: Path, monkeypatch) -> None:
    (clone / "elsewhere").mkdir()
    monkeypatch.chdir(clone / "elsewhere")
    assert program.as_typed("graphwalker ask") == f"{clone}/.venv/bin/graphwalker ask"


def test_without_the_program_the_interpreter_runs_the_module(clone: Path, monkeypatch) -> None:
    monkeypatch.setattr(sys, "executable", str(clone / "python"))
    assert program.as_typed("graphwalker ask") == "python -m graphwalker ask"
