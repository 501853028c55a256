"""Runs whose files were cut off, and what is compared of them; mutations that mean something."""

import random
from pathlib import Path

import pytest

from benchmarks.random_mutations import meaning
from benchmarks.truncated_runs import GOOD, content, cuts, measured
from benchmarks.two_writers import prepare


def test_clock_readings_are_not_compared(tmp_path: Path) -> None:
    for name, seconds in (("one", 1.5), ("two", 2.25)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "card.json").write_text(f'{{"seconds": {seconds}, "count": 3}}')
    assert content(tmp_path / "one") == content(tmp_path / "two")
    (tmp_path / "two" / "card.json").write_text('{"seconds": 1.5, "count": 4}')
    assert content(tmp_path / "one") != content(tmp_path / "two")


def test_cuts_are_shorter_than_the_file() -> None:
    lengths = list(cuts(100, 50, random.Random(0)))
    assert lengths[0] == 0 and max(lengths) < 100 and len(lengths) == 50


def test_annotations_mean_nothing() -> None:
    assert meaning("def f(a: int | None) -> str: return a + 1") == meaning("def f(a): return a + 1")
    assert meaning("def f(a): return a + 1") != meaning("def f(a): return a - 1")


@pytest.mark.slow
def test_every_file_of_a_run_may_be_cut(tmp_path: Path) -> None:
    prepare(tmp_path / "data")
    figures = measured(tmp_path, ["walk", "experts"], 1, 0)
    for name in ("walk", "experts"):
        assert "bad" not in figures[name], figures[name]
        assert sum(figures[name].get(outcome, 0) for outcome in GOOD) >= 6
