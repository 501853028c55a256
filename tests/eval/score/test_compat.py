"""Published metrics give the published scripts' figures, odd inputs and defects included."""

import json

import pytest

from eval.score import compat, compat_papers
from support.paths import SUPPORT

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
