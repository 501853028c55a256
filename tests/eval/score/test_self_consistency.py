"""Self-consistency: the answer set that most samples give; a run's samples are read back."""

from eval.score.predictions import parse_ours
from eval.score.score import score_record


def scores(*samples, answers=("Oslo",)):
    record = parse_ours({"id": "q", "samples": list(samples), "answers": list(answers)})
    return score_record(record, ["self_consistency_em", "self_consistency_hits1"])


def test_the_most_frequent_answer_set_is_the_answer():
    assert scores(["Rome"], ["Oslo"], ["oslo "])["self_consistency_em"] == 1.0
    assert scores(["Rome"], ["Oslo"], ["Rome"])["self_consistency_em"] == 0.0


def test_order_does_not_matter_and_of_equals_the_first_is_taken():
    found = scores(["A", "B"], ["B", "A"], ["Oslo"], answers=["A", "B"])
    assert found == {"self_consistency_em": 1.0, "self_consistency_hits1": 1.0}
    assert scores(["Rome"], ["Oslo"])["self_consistency_em"] == 0.0


def test_no_answer_is_no_vote():
    assert scores(None, None, ["Oslo"])["self_consistency_em"] == 1.0
    assert scores(None, None)["self_consistency_em"] == 0.0
