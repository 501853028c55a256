"""A metric of one's own: `module:NAME`, called with the answers and the gold ones as texts."""

import json
from pathlib import Path

import pytest

from eval.score.score import score_file
from graphwalker.cli import app as cli
from graphwalker.errors import UserError

CODE = """
def share(answers, gold):
    return len(set(answers) & set(gold)) / len(gold)

def one(answers):
    return 1.0

def word(answers, gold):
    return "good"

def nothing(answers, gold):
    return float("nan")

TEN = 10
"""
RECORDS = [
    {"id": "q1", "predictions": [{"id": "m.1", "name": "Oslo"}], "answers": ["Oslo", "Bergen"]},
    {"id": "q2", "predictions": None, "answers": [{"id": "m.2"}]},
]


@pytest.fixture
def predictions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own_metric_of_a_test.py").write_text(CODE)
    path = tmp_path / "p.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return path


@pytest.mark.parametrize("workers", [1, 2])
def test_it_stands_beside_ours_with_an_interval(predictions, workers):
    own = "own_metric_of_a_test:share"
    found = score_file(predictions, ["em", own], workers=workers)
    assert found.metrics == {"em": 0.0, own: 0.25} and found.counts[own] == 2
    assert found.intervals[own][0] <= 0.25 <= found.intervals[own][1]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("one", r"metric own_metric_of_a_test:one: TypeError: one\(\) takes 1 .*line"),
        ("word", "returned 'good' for q1, not a number"),
        ("nothing", "returned nan for q1, not a number"),
        ("TEN", r"is no function NAME\(answers, gold\)"),
        ("shar", "has no shar .did you mean share"),
    ],
)
def test_its_faults_are_one_line(predictions, name, message):
    with pytest.raises(UserError, match=message) as found:
        score_file(predictions, [f"own_metric_of_a_test:{name}"])
    assert "\n" not in str(found.value)


def test_an_unknown_one_is_told_before_anything_is_evaluated(tmp_path, capsys):
    words = ["eval", "--graph", "none", "--questions", "none.jsonl", "--model", "oracle", "--out",
             str(tmp_path / "run"), "--metrics", "em,emm"]  # fmt: skip
    assert cli.run(lambda: cli.app(words, standalone_mode=False)) == 2
    assert "no metric is named 'emm'" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
