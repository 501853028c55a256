"""Published metrics under their own names, their known defects included.

Every function is pure and takes `predictions` and `answers` as lists of strings. A score depends on
the published script as it runs, not on what its paper means by the word: where a definition is odd,
the docstring says so, and docs/metrics.md compares them all.
"""

import re
import string
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

TextList = Sequence[str]

_KEPT_FORMS = 1 << 16
"""Normal forms kept in memory: every metric of a family asks for the same ones."""
_PUNCTUATION = re.compile(f"[{re.escape(string.punctuation)}]")
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_GRAPHWALKER_ARTICLES = re.compile(r"\b(?:a|an)\b")


@lru_cache(_KEPT_FORMS)
def squad_form(text: str) -> str:
    """SQuAD's normal form: lower, no ASCII punctuation, no articles, white space folded.

    >>> squad_form("The  Beatles!"), squad_form("U.S.A."), squad_form("The The")
    ('beatles', 'usa', '')
    """
    return " ".join(_ARTICLES.sub(" ", _PUNCTUATION.sub("", text.lower())).split())


@lru_cache(_KEPT_FORMS)
def graphwalker_form(text: str) -> str:
    """GraphWalker's normal form: lower, the words a and an dropped, white space folded.

    >>> graphwalker_form("An  Actor's Life."), graphwalker_form("The A-Team"), graphwalker_form("A")
    ("actor's life.", 'the -team', '')
    """
    return " ".join(_GRAPHWALKER_ARTICLES.sub(" ", text.lower()).split())


@lru_cache(_KEPT_FORMS)
def tog_form(text: str) -> str:
    """Think-on-Graph's normal form: the ends stripped, every space removed, lower.

    >>> tog_form(" New York City ")
    'newyorkcity'
    """
    return text.strip().replace(" ", "").lower()


def graphwalker_em(predictions: TextList, answers: TextList) -> float:
    """Best over all pairs of: equal, or either within the other (GraphWalker, released evaluator).

    Defects: one right letter is enough, one right answer of many too, and an answer that normalises
    to nothing (`"A"`) is within everything. A missing or blank prediction scores 0.

    >>> graphwalker_em(["Lake Oslo"], ["Oslo", "Bergen"]), graphwalker_em(["s"], ["Oslo"])
    (1.0, 1.0)
    >>> graphwalker_em([], ["Oslo"]), graphwalker_em([""], ["A"]), graphwalker_em(["Rome"], ["A"])
    (0.0, 0.0, 1.0)
    """
    golds = [graphwalker_form(answer) for answer in answers]
    predicted = [graphwalker_form(prediction) for prediction in predictions if prediction.strip()]
    for prediction in predicted:
        for gold in golds:
            if gold == prediction or gold in prediction or (prediction and prediction in gold):
                return 1.0
    return 0.0


def graphwalker_f1(predictions: TextList, answers: TextList) -> float:
    """The best token-set F1 of one prediction with one answer (GraphWalker, released evaluator).

    Defect: one good pair is enough, whatever else was predicted or should have been.

    >>> graphwalker_f1(["Oslo", "Rome"], ["Oslo", "Bergen"]), graphwalker_f1(["a"], ["a"])
    (1.0, 0.0)
    >>> round(graphwalker_f1(["the city of Oslo"], ["Oslo"]), 3)
    0.4
    """
    golds = [_tokens(answer) for answer in answers]
    predicted = [_tokens(prediction) for prediction in predictions]
    return max((_token_set_f1(p, gold) for p in predicted for gold in golds), default=0.0)


def graphwalker_token_f1(predictions: TextList, answers: TextList) -> float:
    """F1 of the union of predicted tokens and the union of answer tokens (GraphWalker, training).

    Defect: words are mixed across answers, so "New London" and "York" make "New York, London".

    >>> graphwalker_token_f1(["New London", "York"], ["New York", "London"])
    1.0
    >>> graphwalker_token_f1(["a"], ["a"]), graphwalker_token_f1([], ["Oslo"])
    (0.0, 0.0)
    """
    predicted = frozenset[str]().union(*map(_tokens, predictions))
    return _token_set_f1(predicted, frozenset[str]().union(*map(_tokens, answers)))


@lru_cache(_KEPT_FORMS)
def _tokens(text: str) -> frozenset[str]:
    return frozenset(graphwalker_form(text).split())


def _token_set_f1(predicted: frozenset[str], gold: frozenset[str]) -> float:
    common = len(predicted & gold)
    return f1_of(common / len(predicted), common / len(gold)) if common else 0.0


def f1_of(precision: float, recall: float) -> float:
    """The harmonic mean, 0 where both are 0.

    >>> f1_of(0.5, 1.0), f1_of(0.0, 0.0)
    (0.6666666666666666, 0.0)
    """
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def squad_em(predictions: TextList, answers: TextList) -> float:
    """Any prediction equals any answer in SQuAD's normal form (Rajpurkar et al. 2016).

    >>> squad_em(["The Oslo."], ["Oslo", "Bergen"]), squad_em(["Oslo city"], ["Oslo"])
    (1.0, 0.0)
    """
    golds = {squad_form(answer) for answer in answers}
    return float(any(squad_form(prediction) in golds for prediction in predictions))


class Rog(NamedTuple):
    """Scores of one question by RoG's evaluate_results.py."""

    hit: float
    acc: float
    f1: float
    precision: float
    recall: float


def rog(predictions: TextList, answers: TextList) -> Rog:
    """RoG's five figures: an answer is found where its SQuAD form is within the joined predictions.

    >>> rog(["Oslo, Bergen", "Rome"], ["Oslo", "Bergen", "Moss", "Hell"])
    Rog(hit=1.0, acc=0.5, f1=0.6666666666666666, precision=1.0, recall=0.5)
    """
    joined = squad_form(" ".join(predictions))
    found = sum([squad_form(answer) in joined for answer in answers])
    acc = found / len(answers) if answers else 0.0
    precision = found / len(predictions) if predictions else 0.0
    recall = acc if predictions else 0.0
    return Rog(float(found > 0), acc, f1_of(precision, recall), precision, recall)


def rog_hit(predictions: TextList, answers: TextList) -> float:
    """Any answer is found in the predictions joined with a space (RoG, `eval_hit`).

    Defect: an answer that normalises to nothing ("The The") is found even in no prediction.

    >>> rog_hit(["New", "York"], ["New York"]), rog_hit([], ["Oslo"]), rog_hit([], ["The The"])
    (1.0, 0.0, 1.0)
    """
    return rog(predictions, answers).hit


def rog_acc(predictions: TextList, answers: TextList) -> float:
    """Share of the answers found in the predictions joined with a space (RoG, `eval_acc`).

    No answers at all, where the script fails, scores 0.

    >>> rog_acc(["Oslo, Bergen"], ["Oslo", "Bergen", "Moss"])
    0.6666666666666666
    """
    return rog(predictions, answers).acc


def rog_precision(predictions: TextList, answers: TextList) -> float:
    """Answers found by the number of predictions (RoG, `eval_f1`). Defect: it passes 1.

    >>> rog_precision(["Oslo, Bergen"], ["Oslo", "Bergen"]), rog_precision([], ["Oslo"])
    (2.0, 0.0)
    """
    return rog(predictions, answers).precision


def rog_recall(predictions: TextList, answers: TextList) -> float:
    """`rog_acc`, but 0 for an empty prediction list (RoG, `eval_f1`).

    >>> rog_recall([], ["The The"]), rog_acc([], ["The The"])
    (0.0, 1.0)
    """
    return rog(predictions, answers).recall


def rog_f1(predictions: TextList, answers: TextList) -> float:
    """F1 of `rog_precision` and `rog_recall` (RoG, `eval_f1`). Defect: it passes 1.

    >>> rog_f1(["Oslo, Bergen, Moss"], ["Oslo", "Bergen", "Moss"])
    1.5
    >>> rog_f1([], ["Oslo"]), rog_f1(["Oslo", "Rome"], ["Oslo"])
    (0.0, 0.6666666666666666)
    """
    return rog(predictions, answers).f1


def tog_em(predictions: TextList, answers: TextList) -> float:
    """The text in the first braces, else all of it, against each answer (Think-on-Graph, eval.py).

    Equal, or either within the other, with every space removed. Several predictions are one text.
    Defects: an empty answer, or `{}`, is within every answer and scores 1; `{NULL}` scores 0; an
    open brace that is not closed loses the last letter.

    >>> tog_em(["It is {New York}."], ["New York City"]), tog_em(["in Oslo"], ["Oslo"])
    (1.0, 1.0)
    >>> tog_em([], ["Oslo"]), tog_em(["{}"], ["Oslo"]), tog_em(["{NULL}"], ["Null Island"])
    (1.0, 1.0, 0.0)
    """
    text = " ".join(predictions)
    if "{" in text:
        text = text[text.find("{") + 1 : text.find("}")]
        if text == "NULL":
            return 0.0
    found = tog_form(text)
    golds = [tog_form(answer) for answer in answers]
    return float(any(found in gold or gold in found for gold in golds))
