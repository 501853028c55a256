"""Trials: what they compare, and that a cut run is mended or refused."""

import random
from pathlib import Path

import pytest

from benchmarks.commands import commands, prepare
from benchmarks.trials import GOOD, content, cuts, measure_cuts


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


@pytest.mark.slow
def test_every_file_of_a_run_may_be_cut(tmp_path: Path) -> None:
    prepare(tmp_path / "data")
    for command in commands(tmp_path / "out", tmp_path / "data"):
        if command.name in ("walk", "experts"):
            outcomes = measure_cuts(command, tmp_path, 1, 0)
            assert set(outcomes) <= GOOD and outcomes.total() >= 6, outcomes
