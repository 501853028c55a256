"""Published metrics under their own names, their known defects included.

Every function is pure and takes `predictions` and `answers` as lists of strings. A score depends on
the published script as it runs, not on what its paper means by the word: where a definition is odd,
the docstring says so, and docs/metrics.md compares them all.
"""

import operator
import re
import string
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar

P = TypeVar("P")
G = TypeVar("G")
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
    """Return the best token-set F1 of a prediction with an answer (GraphWalker's evaluator).

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
    """Return the harmonic mean, 0 where both are 0.

    >>> f1_of(0.5, 1.0), f1_of(0.0, 0.0)
    (0.6666666666666666, 0.0)
    """
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def squad_em(predictions: TextList, answers: TextList) -> float:
    """Return 1 where a prediction equals an answer in SQuAD's normal form (Rajpurkar et al. 2016).

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

    `hit`: any is found; `acc`: their share (0 without answers, where the script fails);
    `precision`: found answers by the number of predictions; `recall`: `acc`, but 0 for no
    prediction. Defects: an answer that normalises to nothing ("The The") is found even in no
    prediction, and precision and F1 pass 1.

    >>> rog(["Oslo, Bergen", "Rome"], ["Oslo", "Bergen", "Moss", "Hell"])
    Rog(hit=1.0, acc=0.5, f1=0.6666666666666666, precision=1.0, recall=0.5)
    >>> rog(["New", "York"], ["New York"]).hit, rog(["Oslo, Bergen"], ["Oslo", "Bergen"]).precision
    (1.0, 2.0)
    >>> rog([], ["The The"])
    Rog(hit=1.0, acc=1.0, f1=0.0, precision=0.0, recall=0.0)
    """
    joined = squad_form(" ".join(predictions))
    found = sum([squad_form(answer) in joined for answer in answers])
    acc = found / len(answers) if answers else 0.0
    precision = found / len(predictions) if predictions else 0.0
    recall = acc if predictions else 0.0
    return Rog(float(found > 0), acc, f1_of(precision, recall), precision, recall)


def tog_em(predictions: TextList, answers: TextList) -> float:
    """Match the text in the first braces, else all of it, with each answer (ToG, eval.py).

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


def webqsp(
    predictions: Sequence[P],
    parses: Sequence[Sequence[G]],
    same: Callable[[P, G], bool] = operator.eq,
) -> tuple[float, float, float]:
    """Precision, recall and F1 of raw values against the parse with the best F1, the first of
    equals.

    Source: eval.py of the WebQSP release (Yih et al. 2016), `CalculatePRF1`. Lists keep their
    repeats: an answer counts as often as it is listed, a wrong prediction too. Defects: precision
    is 1 for no prediction, recall 1 where there is no answer to find.

    >>> webqsp(["b"], [["a"], ["b", "c"], ["a", "b"]])
    (1.0, 0.5, 0.6666666666666666)
    >>> webqsp([], [["Oslo"]]), webqsp(["Oslo"], [[]]), webqsp(["oslo"], [["Oslo"]])
    ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 0.0))
    """
    scored = [_one_parse(predictions, answers, same) for answers in parses or [()]]
    return max(scored, key=lambda found: found[2])


def _one_parse(
    predictions: Sequence[P], answers: Sequence[G], same: Callable[[P, G], bool]
) -> tuple[float, float, float]:
    if not answers:
        return (0.0, 1.0, 0.0) if predictions else (1.0, 1.0, 1.0)
    if not predictions:
        return (1.0, 0.0, 0.0)
    found = sum(any(same(p, answer) for p in predictions) for answer in answers)
    wrong = sum(not any(same(p, answer) for answer in answers) for p in predictions)
    precision = found / (found + wrong) if found else 0.0
    recall = found / len(answers)
    return (precision, recall, f1_of(precision, recall))
