"""Published metrics give the published scripts' figures, odd inputs and defects included."""

import json

import pytest

from eval.score import compat, compat_papers
from eval.score.compat_webqsp import webqsp, webqsp_f1, webqsp_precision, webqsp_recall
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
    "rog_hit": compat.rog_hit,
    "rog_acc": compat.rog_acc,
    "rog_f1": compat.rog_f1,
    "rog_precision": compat.rog_precision,
    "rog_recall": compat.rog_recall,
    "webqsp_f1": webqsp_f1,
    "webqsp_precision": webqsp_precision,
    "webqsp_recall": webqsp_recall,
    "tog_em": compat.tog_em,
    "kg_r1_em": compat_papers.kg_r1_em,
}


@pytest.mark.parametrize("name", METRICS)
def test_odd_predictions_score_as_the_published_script_scores_them(name):
    found = {c["id"]: METRICS[name](c["predictions"], c["answers"]) for c in CASES}
    assert found == pytest.approx({c["id"]: c["published"][name] for c in CASES}, abs=1e-9)


def test_every_published_figure_of_the_cases_is_compared():
    assert all(set(case["published"]) == set(METRICS) for case in CASES)


@pytest.mark.parametrize("name", METRICS)
def test_no_prediction_and_no_answer_is_no_crash(name):
    assert METRICS[name]([], []) in (0.0, 1.0)


def test_an_answer_that_normalises_to_nothing_is_in_everything():
    assert compat.graphwalker_em(["Rome"], ["An"]) == 1.0
    assert compat.rog_acc(["Rome"], ["The The", "Oslo"]) == 0.5
    assert compat.squad_em(["Rome"], ["The The"]) == 0.0


def test_dotted_capital_i_is_lowered_as_the_scripts_lower_it():
    assert compat.graphwalker_em(["İzmir"], ["i̇zmir"]) == 1.0


def test_rog_counts_repeated_predictions_and_joins_across_them():
    assert compat.rog_precision(["Oslo", "Oslo"], ["Oslo"]) == 0.5
    assert compat.rog_hit(["San", "Francisco"], ["San Francisco"]) == 1.0


def test_webqsp_takes_the_best_parse_and_ids_where_told_how():
    gold = [[("m.1", "Oslo")], [("m.1", "Oslo"), ("m.2", "Bergen")]]
    same = webqsp(["m.1", "m.2"], gold, lambda p, g: p in g)
    assert same == (1.0, 1.0, 1.0)
    assert webqsp([], []) == (1.0, 1.0, 1.0)


def test_ark_reliability_is_one_minus_the_normalised_entropy():
    runs = [["True"]] * 15 + [["False"]] * 15
    assert compat_papers.ark_reliability(runs) == pytest.approx(1 - 1 / 1.584962500721156)


def test_an_abstention_of_ark_is_neither_answered_nor_right():
    for abstained in ([], ["None"], ["maybe"]):
        assert compat_papers.ark_answered(abstained) == 0.0
        assert compat_papers.ark_accuracy(abstained, True) == 0.0
        assert compat_papers.ark_conditional_accuracy(abstained, True) is None


def test_graphwalk_compares_rows_as_sets_whatever_the_order_of_keys():
    rows, gold = [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}], [{"b": "x", "a": 1}, {"a": 3}]
    assert compat_papers.graphwalk_precision(rows, gold) == 0.5
    assert compat_papers.graphwalk_f1(rows, gold) == 0.5
    assert compat_papers.graphwalk_false_positives(rows, gold) == 1.0
    assert compat_papers.graphwalk_accuracy(rows, list(reversed(rows))) == 1.0
    assert compat_papers.graphwalk_precision([{"a": "1"}], [{"a": 1}]) == 0.0


def test_rouge_l_equals_a_subsequence_counted_by_hand():
    # common words in order: the, cat, on, mat (4 of 6 predicted, 4 of 5 gold)
    found = compat_papers.graphrunner_rouge_l(["the black cat sat on mat"], ["The cat on a mat."])
    assert found == pytest.approx(2 * (4 / 6) * (4 / 5) / (4 / 6 + 4 / 5))
