"""Metrics: published ones give the published scripts' figures; those of one's own are called."""

import json
from pathlib import Path

import pytest

from eval.score import compat, compat_papers
from eval.score.score import score_file
from graphwalker.errors import UserError
from support.commands import code
from support.dataset_toys import write
from support.paths import SUPPORT

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
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return write(tmp_path / "p.jsonl", RECORDS)


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
    assert code(*words) == 2
    assert "no metric is named 'emm'" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


CASES = [
    json.loads(line) for line in (SUPPORT / "data/odd_predictions.jsonl").read_text().splitlines()
]
"""120 odd records with the figures of the published scripts, made with line-by-line transcriptions
of them (squad_em: of the same normal form); 200,000 random ones agreed when they were made."""
METRICS = {
    "graphwalker_em": compat.graphwalker_em,
    "graphwalker_f1": compat.graphwalker_f1,
    "graphwalker_token_f1": compat.graphwalker_token_f1,
    "squad_em": compat.squad_em,
    **{
        f"rog_{name}": lambda p, a, n=name: getattr(compat.rog(p, a), n)
        for name in compat.Rog._fields
    },
    **{
        f"webqsp_{name}": lambda p, a, n=place: compat.webqsp(p, [a])[n]
        for place, name in enumerate(("precision", "recall", "f1"))
    },
    "tog_em": compat.tog_em,
    "kg_r1_em": compat_papers.kg_r1_em,
}


@pytest.mark.parametrize("name", METRICS)
def test_odd_predictions_score_as_the_published_script_scores_them(name):
    found = {c["id"]: METRICS[name](c["predictions"], c["answers"]) for c in CASES}
    assert found == pytest.approx({c["id"]: c["published"][name] for c in CASES}, abs=1e-9)
    assert METRICS[name]([], []) in (0.0, 1.0)
    assert set(CASES[0]["published"]) == set(METRICS)


def test_webqsp_takes_the_best_parse_and_ids_where_told_how():
    gold = [[("m.1", "Oslo")], [("m.1", "Oslo"), ("m.2", "Bergen")]]
    assert compat.webqsp(["m.1", "m.2"], gold, lambda p, g: p in g) == (1.0, 1.0, 1.0)
    assert compat.webqsp([], []) == (1.0, 1.0, 1.0)


def test_ark_reliability_is_one_minus_the_normalised_entropy_and_no_commitment_is_no_answer():
    runs = [["True"]] * 15 + [["False"]] * 15
    assert compat_papers.ark_reliability(runs) == pytest.approx(1 - 1 / 1.584962500721156)
    for abstained in ([], ["None"], ["maybe"]):
        scores = compat_papers.ark_scores(abstained, True)
        assert scores == {"ark_answer_rate": 0.0, "ark_accuracy": 0.0}


def test_graphwalk_compares_rows_as_sets_whatever_the_order_of_keys():
    rows, gold = [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}], [{"b": "x", "a": 1}, {"a": 3}]
    assert list(compat_papers.graphwalk_scores(rows, gold).values()) == [0.0, 0.5, 0.5, 0.5, 1.0]
    assert compat_papers.graphwalk_scores(rows, rows[::-1])["graphwalk_accuracy"] == 1.0
    assert compat_papers.graphwalk_scores([{"a": "1"}], [{"a": 1}])["graphwalk_precision"] == 0.0


def test_rouge_l_equals_a_subsequence_counted_by_hand():
    # common words in order: the, cat, on, mat (4 of 6 predicted, 4 of 5 gold)
    found = compat_papers.graphrunner_rouge_l(["the black cat sat on mat"], ["The cat on a mat."])
    assert found == pytest.approx(2 * (4 / 6) * (4 / 5) / (4 / 6 + 4 / 5))
