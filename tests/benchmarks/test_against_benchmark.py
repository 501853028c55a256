"""Two checkouts in turns: each side runs its own code, and keeps its own record."""

import sys
from pathlib import Path

from benchmarks.against import compare, run

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
