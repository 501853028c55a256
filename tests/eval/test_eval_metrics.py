"""Figures of a run: means, intervals, Pass@k, breakdowns, paired differences."""

import random
from dataclasses import replace

import pytest

from eval.analysis.summary import holm, mcnemar, paired_difference, summarise
from eval.analysis.truth_runs import truth_runs
from eval.run.records import SampledEpisode
from graphwalker.graphs.base import Entity
from graphwalker.intervals import bootstrap, mean_interval, tango, wilson
from graphwalker.question import Answer, Question
from graphwalker.trajectory import StopReason, Trajectory, Turn

SCORES = dict.fromkeys(
    ("em", "f1", "precision", "recall", "hits1", "hit_any", "retrieval_any", "retrieval_all",
     "grounded", "had_error", "recovered"), 0.0,
)  # fmt: skip


def question(name: str, structure: str = "2-hop", hops: int = 2, split: str = "") -> Question:
    topic = Entity("m.0ada", "Ada Mbeki")
    return Question(
        name, "Who?", (topic,), (Answer("Eve", "m.0eve"),), "toy", structure, hops, split
    )


def walked(asked: Question, stop: StopReason = StopReason.ANSWERED, **scores: float) -> Trajectory:
    turns = (Turn((), "", graph_calls=2), Turn((), "", graph_calls=1))
    return Trajectory(asked, "agent", "policy", turns, ("Eve",), stop, scores={**SCORES, **scores})


def sampled(name: str, wins: list[int]) -> list[SampledEpisode]:
    return [
        SampledEpisode(name, i, None, StopReason.ANSWERED, {"em": float(won)})
        for i, won in enumerate(wins, start=1)
    ]


def test_a_run_without_scored_questions_has_no_figures() -> None:
    summary = summarise([walked(question("a"), StopReason.GRAPH_ERROR)])
    assert summary["questions"] == 0 and "em" not in summary
    nobody_erred = summarise([walked(question("a"), em=1)])
    assert nobody_erred["recovery_given_error"] is None


def test_wilson_agrees_with_the_textbook() -> None:
    # Newcombe 1998, table I: 81 of 263 gives 0.2553 to 0.3662; 0 of 20 gives 0 to 0.1611.
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert wilson(0, 20) == pytest.approx((0, 0.1611), abs=1e-4)
    assert wilson(20, 20) == pytest.approx((0.8389, 1), abs=1e-4)
    mean, (low, high) = mean_interval([0.0] * 300, seed=0)
    assert (mean, low) == (0, 0) and 0.005 < high < 0.02


def test_pass_at_k_is_over_the_questions_that_have_k_samples() -> None:
    run = [walked(question("a")), walked(question("b"))]
    lost = SampledEpisode("b", 3, None, StopReason.GRAPH_ERROR, {"em": 0.0})  # is no loss
    summary = summarise(run, [*sampled("a", [1, 0, 0, 0]), *sampled("b", [0, 0]), lost])
    assert (summary["pass@1"], summary["pass@2"], summary["pass@2_questions"]) == (0.125, 0.25, 2)
    assert (summary["pass@4"], summary["pass@4_questions"]) == (1.0, 1)
    assert "pass@8" not in summary


def test_runs_of_true_or_false_have_a_mean_and_a_deviation() -> None:
    asked = [
        Question(f"q{k}", "Is it so?", (), (Answer(str(gold)),))
        for k, gold in enumerate((True, False))
    ]
    kept = [Trajectory(one, "a", "p", (), ("True",), StopReason.ANSWERED) for one in asked]
    said = {1: ["True", "False"], 2: ["True", "None"], 3: ["False", "False"]}
    drawn = [
        SampledEpisode(f"q{k}", run, (text,), StopReason.ANSWERED, {})
        for run, texts in said.items()
        for k, text in enumerate(texts)
    ]
    drawn.append(
        SampledEpisode("q0", 4, ("True",), StopReason.ANSWERED, {})
    )  # a run that is not whole
    found = truth_runs(kept, drawn)["truth_runs"]
    assert found["runs"] == 3
    assert found["answer_rate"] == pytest.approx(5 / 6)
    assert found["conditional_accuracy"] == pytest.approx((1 + 1 + 0.5) / 3)
    assert found["overall_accuracy"] == pytest.approx((1 + 0.5 + 0.5) / 3)
    assert found["overall_accuracy_sd"] == pytest.approx(0.2887, abs=1e-4)
    assert found["reliability"] == pytest.approx(1 - 0.9182958 / 1.5849625)
    other = replace(asked[0], answers=(Answer("Oslo"),))
    assert truth_runs([replace(kept[0], question=other)], drawn) == {}


def test_paired_compares_the_questions_that_both_have() -> None:
    a = [walked(question(str(i))) for i in range(10)]
    b = [walked(question(str(i)), em=float(i >= 4), f1=1) for i in range(2, 12)]
    result = paired_difference(a, b)
    assert (result["questions"], result["only_a"], result["only_b"]) == (8, 2, 2)
    assert (result["em"], result["won"], result["lost"]) == (0.75, 6, 0)
    assert result["p"] == pytest.approx(2 / 2**6)
    assert result["em_interval"][0] > 0
    same = paired_difference(a, a)  # two equal runs are not certain to be equal
    assert same["em_interval"] == same["f1_interval"] == tango(0, 0, 10)


def test_the_paired_interval_has_a_width_where_no_pair_or_every_pair_differs() -> None:
    # Fagerland, Lydersen and Laake (Statistics in Medicine 2014), airway hyper-responsiveness.
    assert tango(1, 7, 21) == pytest.approx((-0.517, -0.026), abs=5e-4)
    low, high = tango(0, 0, 60)
    assert low == pytest.approx(-high) and high == pytest.approx(3.8415 / 63.8415, abs=1e-4)
    assert tango(5, 0, 5)[0] < 0.9 and tango(5, 0, 5)[1] == 1
    assert tango(0, 5, 5) == pytest.approx((-1, -tango(5, 0, 5)[0]))
    low, high = tango(1, 0, 480)
    assert low < 0 < high  # as p = 1 says


@pytest.mark.parametrize(("won", "lost"), [(15, 5), (14, 6), (40, 20), (3, 11)])
def test_the_paired_interval_excludes_0_where_the_score_test_does(won: int, lost: int) -> None:
    low, high = tango(won, lost, 100)
    significant = (won - lost) ** 2 / (won + lost) > 1.959963984540054**2
    assert (low > 0 or high < 0) == significant


def test_the_bootstrap_of_few_questions_is_that_of_scipy() -> None:
    """BCa of the mouse data (Efron and Tibshirani 1993, table 2.1) by scipy 1.16, 200,000 draws."""
    treated = [94, 197, 16, 38, 99, 141, 23]
    assert bootstrap(treated, 0, 200_000) == pytest.approx((46.286, 138.286), abs=0.6)
    nearly_all = [1.0] * 196 + [0.5, 0.2, 0, 0.4]
    assert bootstrap(nearly_all, 0, 20_000) == pytest.approx((0.9626, 0.996), abs=2e-3)


def test_copies_of_a_question_make_no_interval_narrower() -> None:
    values = [float(i % 3 == 0) for i in range(100)]
    ids = [str(i) for i in range(100)]
    once = mean_interval(values, 0)[1]
    copied = mean_interval(values * 5, 0, clusters=ids * 5)[1]
    assert copied[1] - copied[0] == pytest.approx(once[1] - once[0], rel=0.1)
    assert mean_interval([1.0] * 10, 0, clusters=["a"] * 5 + ["b"] * 5)[1] == wilson(2, 2)


def test_the_paired_test_neither_underflows_nor_grows_slow() -> None:
    assert mcnemar(2, 10) == pytest.approx(0.03857421875, rel=1e-12)
    assert mcnemar(30_000, 31_000) == pytest.approx(5.2e-5, rel=0.05)
    assert 0 < mcnemar(0, 5_000) < 1e-300
    assert mcnemar(0, 0) == mcnemar(3, 3) == mcnemar(3, 4) == 1
    assert holm([0.01, 0.04, 0.03, 0.2]) == pytest.approx([0.04, 0.09, 0.09, 0.2])
    assert holm([0.6, 0.7]) == [1.0, 1.0] and holm([]) == []


@pytest.mark.parametrize("clusters", [None, [*range(39), 0]])
def test_the_bootstrap_draws_2000_times_and_any_number_that_is_asked_for(clusters) -> None:
    values = [float(i) for i in range(40)]
    by_default = bootstrap(values, 1, clusters=clusters)
    assert by_default == bootstrap(values, 1, 2000, clusters)
    assert by_default != bootstrap(values, 1, 1999, clusters)
    low, high = bootstrap(values, 1, 150, clusters)  # no multiple of the draws of one block
    assert low < 19.5 < high
    rng = random.Random(0)
    many = [rng.gauss(0.5, 0.1) for _ in range(1500)]  # more than are corrected for skewness
    low, high = bootstrap(many, 0)
    assert abs((high - low) / (2 * 1.96 * 0.1 / 1500**0.5) - 1) < 0.06
