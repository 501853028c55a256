"""The record of a measurement, and two checkouts that measure in turns."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

from benchmarks.against import compare, run
from benchmarks.record import commit, record
from support.paths import ROOT


def test_a_record_says_command_commit_seed_and_machine(tmp_path: Path) -> None:
    record("open", {"open_ms": 2.0}, "python -m benchmarks.open", seed=7, folder=tmp_path)
    path = record("open", {"open_ms": 1.5}, "python -m benchmarks.open", seed=7, folder=tmp_path)
    told = json.loads(path.read_text(encoding="utf-8"))
    assert [p.name for p in tmp_path.iterdir()] == ["open.json"]
    assert (told["figures"], told["seed"]) == ({"open_ms": 1.5}, 7)
    assert told["command"] == "python -m benchmarks.open"
    assert told["hardware"]["cores"] >= 1 and told["hardware"]["memory_gib"] > 0


def test_a_record_names_the_commit_it_was_measured_at() -> None:
    line = ["git", "rev-parse", "--short=12", "HEAD"]
    head = subprocess.run(line, cwd=ROOT, capture_output=True, text=True).stdout.strip()
    assert commit().removesuffix("+changes") == head


def test_every_benchmark_imports() -> None:
    for path in sorted((ROOT / "benchmarks").glob("*.py")):
        importlib.import_module(f"benchmarks.{path.stem}".removesuffix(".__init__"))


HELLO = """import json, pathlib
path = pathlib.Path("benchmarks/results/hello.json")
path.write_text(json.dumps({"figures": {"ms": 3.0}}))
"""


def checkout(folder: Path) -> Path:
    """A checkout with one benchmark and an older record of it."""
    (folder / "benchmarks" / "results").mkdir(parents=True)
    (folder / "benchmarks" / "hello.py").write_text(HELLO)
    (folder / "benchmarks" / "results" / "hello.json").write_text("older")
    (folder / ".venv" / "bin").mkdir(parents=True)
    (folder / ".venv" / "bin" / "python").symlink_to(sys.executable)
    return folder


def test_a_benchmark_runs_in_the_other_checkout_and_its_record_stays(tmp_path: Path) -> None:
    repo = checkout(tmp_path)
    assert run(repo, "hello", [], "hello") == {"ms": 3.0}
    assert (repo / "benchmarks" / "results" / "hello.json").read_text() == "older"


def test_figures_are_compared_by_the_medians_of_the_rounds() -> None:
    sides = {"here": [{"ms": 3.0}, {"ms": 9.0}, {"ms": 4.0}], "other": [{"ms": 2.0, "s": 1.0}]}
    assert compare(sides) == {"figures": {"ms": {"here": 4.0, "other": 2.0, "ratio": 2.0}}}
