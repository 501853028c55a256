"""WebQSP's official precision, recall and F1: raw strings as lists, the best parse counts."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from eval.score.compat import TextList, f1_of

P = TypeVar("P")
G = TypeVar("G")
PRF = tuple[float, float, float]


def webqsp_precision(predictions: TextList, answers: TextList) -> float:
    """Precision of `webqsp`. Defect: 1 for no prediction, so silence is precise.

    >>> webqsp_precision(["Oslo", "Rome"], ["Oslo"]), webqsp_precision([], ["Oslo"])
    (0.5, 1.0)
    """
    return webqsp([str(p) for p in predictions], [answers])[0]


def webqsp_recall(predictions: TextList, answers: TextList) -> float:
    """Recall of `webqsp`. Defect: 1 where there is no answer to find.

    >>> webqsp_recall(["Oslo"], ["Oslo", "Bergen"]), webqsp_recall(["Oslo"], [])
    (0.5, 1.0)
    """
    return webqsp([str(p) for p in predictions], [answers])[1]


def webqsp_f1(predictions: TextList, answers: TextList) -> float:
    """F1 of `webqsp`: raw strings, nothing is normalised.

    >>> webqsp_f1([], []), webqsp_f1(["Oslo"], []), webqsp_f1([], ["Oslo"])
    (1.0, 0.0, 0.0)
    >>> webqsp_f1(["oslo"], ["Oslo"]), webqsp_f1(["Oslo", "Oslo", "Rome"], ["Oslo", "Moss"])
    (0.0, 0.5)
    """
    return webqsp([str(p) for p in predictions], [answers])[2]


def _equal(prediction: object, answer: object) -> bool:
    return prediction == answer


def webqsp(
    predictions: Sequence[P],
    parses: Sequence[Sequence[G]],
    same: Callable[[P, G], bool] = _equal,
) -> PRF:
    """Precision, recall and F1 against the parse with the best F1, the first of equals.

    Source: eval.py of the WebQSP release (Yih et al. 2016), `CalculatePRF1`. Lists keep their
    repeats: an answer counts as often as it is listed, a wrong prediction too.

    >>> webqsp(["b"], [["a"], ["b", "c"], ["a", "b"]])
    (1.0, 0.5, 0.6666666666666666)
    """
    scored = [_one_parse(predictions, answers, same) for answers in parses or [()]]
    return max(scored, key=lambda found: found[2])


def _one_parse(predictions: Sequence[P], answers: Sequence[G], same: Callable[[P, G], bool]) -> PRF:
    if not answers:
        return (0.0, 1.0, 0.0) if predictions else (1.0, 1.0, 1.0)
    if not predictions:
        return (1.0, 0.0, 0.0)
    found = sum(any(same(p, answer) for p in predictions) for answer in answers)
    wrong = sum(not any(same(p, answer) for answer in answers) for p in predictions)
    precision = found / (found + wrong) if found else 0.0
    recall = found / len(answers)
    return (precision, recall, f1_of(precision, recall))
