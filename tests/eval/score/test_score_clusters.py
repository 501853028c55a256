"""Scoring a file whose records repeat ids, or hold numbers."""

import json
from pathlib import Path
from typing import Any

import pytest

from eval.score.score import score_file


def file(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_five_seeds_in_one_file_give_the_interval_of_the_questions(tmp_path: Path) -> None:
    records = [
        {"id": f"q{i}", "predictions": ["a" if i % 2 else "b"], "answers": ["a"]} for i in range(80)
    ]
    once = score_file(file(tmp_path / "one.jsonl", records), ["em", "f1"])
    five = score_file(file(tmp_path / "five.jsonl", records * 5), ["em", "f1"])
    for name in ("em", "f1"):
        assert five.metrics[name] == once.metrics[name]
        widths = [s.intervals[name][1] - s.intervals[name][0] for s in (once, five)]
        assert widths[1] == pytest.approx(widths[0], rel=0.1)


def test_a_metric_of_some_records_is_clustered_by_their_ids(tmp_path: Path) -> None:
    plain = [{"id": f"p{i}", "predictions": ["a"], "answers": ["a"]} for i in range(10)]
    sampled = [
        {**record, "id": f"s{i}", "samples": [["a"], ["a" if i % 2 else "b"]]}
        for i, record in enumerate(plain)
    ]
    path = file(tmp_path / "mixed.jsonl", [*plain, *sampled, *sampled])
    found = score_file(path, ["em", "pass@1"])
    assert found.counts == {"em": 30, "pass@1": 20}
    low, high = found.intervals["pass@1"]
    assert 0.5 < low < found.metrics["pass@1"] < high < 1


def test_numbers_are_predictions(tmp_path: Path) -> None:
    records: list[dict[str, Any]] = [
        {"id": "1", "predictions": [1936], "answers": ["1936"]},
        {"id": "2", "predictions": [2.5], "answers": ["2.5"]},
    ]
    assert score_file(file(tmp_path / "n.jsonl", records), ["em"]).metrics["em"] == 1
