"""The record of a measurement: what it says, and that it replaces the one before."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import ROOT


def test_a_record_says_command_commit_seed_and_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.record import record

    record("open", {"open_ms": 2.0}, "python -m benchmarks.open", seed=7, folder=tmp_path)
    path = record("open", {"open_ms": 1.5}, "python -m benchmarks.open", seed=7, folder=tmp_path)
    told = json.loads(path.read_text(encoding="utf-8"))
    assert [p.name for p in tmp_path.iterdir()] == ["open.json"]
    assert (told["figures"], told["seed"]) == ({"open_ms": 1.5}, 7)
    assert told["command"] == "python -m benchmarks.open"
    assert told["hardware"]["cores"] >= 1 and told["hardware"]["memory_gib"] > 0


def test_a_record_names_the_commit_it_was_measured_at() -> None:
    head = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True
    )
    code = "from benchmarks.record import commit; print(commit())"
    named = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert named.stdout.strip().removesuffix("+changes") == head.stdout.strip()


def test_every_benchmark_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    names = [path.stem for path in sorted((ROOT / "benchmarks").glob("*.py"))]
    for name in names:
        importlib.import_module(f"benchmarks.{name}".removesuffix(".__init__"))
