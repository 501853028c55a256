"""Metrics of the other agents' papers: KG-R1, ARK-V1, GraphWalk, GraphRunner."""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from eval.score.compat import TextList, f1_of, squad_form

_DELIMITERS = (",", ";", " and ", " & ", "\n", "|")
_WORDS = re.compile(r"[a-z0-9]+")
CLASSES = 3
"""Answers of CoLoTa: True, False, None."""


def kg_r1_text(predictions: TextList) -> str:
    """The answer as the one text that KG-R1's scripts see.

    >>> kg_r1_text(["Oslo", "Bergen"])
    'Oslo, Bergen'
    """
    return ", ".join(predictions)


def kg_r1_items(text: str) -> list[str]:
    """The text split at the first delimiter of KG-R1's list that it holds.

    >>> kg_r1_items("Oslo and Bergen; Moss"), kg_r1_items("Oslo")
    (['Oslo and Bergen', 'Moss'], ['Oslo'])
    """
    for delimiter in _DELIMITERS:
        if delimiter in text:
            return [item.strip() for item in text.split(delimiter) if item.strip()]
    return [text]


def kg_r1_em(predictions: TextList, answers: TextList) -> float:
    """The whole answer, or any item of it, equals any gold (KG-R1, `em_check_kg`), SQuAD form.

    Defect: one right item of a list is full credit.

    >>> kg_r1_em(["Oslo", "Rome"], ["oslo"]), kg_r1_em(["Oslo city"], ["Oslo"])
    (1.0, 0.0)
    >>> kg_r1_em([], ["the"]), kg_r1_em(["Washington, D.C."], ["Washington DC"])
    (0.0, 1.0)
    """
    text = kg_r1_text(predictions)
    golds = {squad_form(answer) for answer in answers if answer}
    if not text:
        return 0.0
    items = kg_r1_items(text)
    return float(
        squad_form(text) in golds
        or (len(items) > 1 and any(squad_form(item) in golds for item in items))
    )


def kg_r1_recall(predictions: TextList, answers: Sequence[TextList]) -> float:
    """Share of the gold entities of which any form is within the answer (KG-R1, entity level).

    `answers` holds the forms of each entity: its name and its id. No gold at all: 1.

    >>> kg_r1_recall(["Oslo city"], [["Oslo", "m.1"], ["Bergen"]]), kg_r1_recall(["x"], [])
    (0.5, 1.0)
    """
    text = squad_form(kg_r1_text(predictions))
    if not text:
        return 0.0
    if not answers:
        return 1.0
    return sum(any(_within(form, text) for form in forms) for forms in answers) / len(answers)


def kg_r1_precision(predictions: TextList, answers: Sequence[TextList]) -> float:
    """1 as soon as one gold entity is found (KG-R1). Defect: wrong answers beside it are free.

    >>> kg_r1_precision(["Oslo", "Rome", "Paris"], [["Oslo"], ["Bergen"]])
    1.0
    """
    return float(bool(answers) and kg_r1_recall(predictions, answers) > 0)


def kg_r1_f1(predictions: TextList, answers: Sequence[TextList]) -> float:
    """F1 of `kg_r1_precision` and `kg_r1_recall`.

    >>> round(kg_r1_f1(["Oslo", "Rome", "Paris"], [["Oslo"], ["Bergen"]]), 3)
    0.667
    """
    return f1_of(kg_r1_precision(predictions, answers), kg_r1_recall(predictions, answers))


def _within(form: str, text: str) -> bool:
    normal = squad_form(form)
    return normal != "" and normal in text


def truth(text: str) -> bool | None:
    """The definite answer that a text gives: True, False, or `None` (no commitment).

    >>> truth("True."), truth(" false"), truth("None"), truth("I think True")
    (True, False, None, None)
    """
    return {"true": True, "false": False, "yes": True, "no": False}.get(squad_form(text))


def ark_answered(predictions: TextList) -> float:
    """1 where the agent commits to True or False (ARK-V1, section IV-B: answer rate).

    >>> ark_answered(["True"]), ark_answered(["None"]), ark_answered([])
    (1.0, 0.0, 0.0)
    """
    return float(_verdict(predictions) is not None)


def ark_accuracy(predictions: TextList, gold: bool) -> float:
    """1 where the definite answer is right; none counts as wrong (ARK-V1: overall accuracy).

    >>> ark_accuracy(["False"], False), ark_accuracy(["None"], False)
    (1.0, 0.0)
    """
    return float(_verdict(predictions) is gold)


def ark_conditional_accuracy(predictions: TextList, gold: bool) -> float | None:
    """Accuracy where there is a definite answer, else no value (ARK-V1: conditional accuracy).

    >>> ark_conditional_accuracy(["True"], False), ark_conditional_accuracy([], False)
    (0.0, None)
    """
    return ark_accuracy(predictions, gold) if ark_answered(predictions) else None


def ark_reliability(samples: Sequence[TextList]) -> float | None:
    """1 - H / log2 3, H the entropy of the answers True, False, None over repeated runs (ARK-V1).

    >>> ark_reliability([["True"], ["True"]]), ark_reliability([])
    (1.0, None)
    >>> abs(ark_reliability([["True"], ["False"], ["None"]])) < 1e-12
    True
    """
    if not samples:
        return None
    counts = Counter(_verdict(sample) for sample in samples)
    shares = [count / len(samples) for count in counts.values()]
    entropy = -sum(share * math.log2(share) for share in shares)
    return 1.0 - entropy / math.log2(CLASSES)


def _verdict(predictions: TextList) -> bool | None:
    return truth(predictions[0]) if predictions else None


JsonRow = Mapping[str, Any]


def graphwalk_false_positives(rows: Sequence[JsonRow], gold: Sequence[JsonRow]) -> float:
    """Distinct predicted rows that are not gold rows (GraphWalk, Table 2: FP, there summed).

    >>> graphwalk_false_positives([{"key": "a"}, {"key": "b"}, {"key": "b"}], [{"key": "a"}])
    1.0
    """
    return float(len(_row_set(rows) - _row_set(gold)))


def graphwalk_precision(rows: Sequence[JsonRow], gold: Sequence[JsonRow]) -> float:
    """Share of the predicted rows that are gold rows (GraphWalk, section 4); sets of JSON rows.

    The order of a row's keys does not matter; both sides empty is 1.

    >>> graphwalk_precision([{"a": 1, "b": 2}, {"a": 3}], [{"b": 2, "a": 1}])
    0.5
    """
    predicted, right = _row_set(rows), _row_set(gold)
    return len(predicted & right) / len(predicted) if predicted else float(not right)


def graphwalk_recall(rows: Sequence[JsonRow], gold: Sequence[JsonRow]) -> float:
    """Share of the gold rows that were predicted (GraphWalk, section 4).

    >>> graphwalk_recall([{"a": 1}], [{"a": 1}, {"a": 2}])
    0.5
    """
    return graphwalk_precision(gold, rows)


def graphwalk_f1(rows: Sequence[JsonRow], gold: Sequence[JsonRow]) -> float:
    """F1 of the two (GraphWalk, section 4).

    >>> graphwalk_f1([{"a": 1}], []), graphwalk_f1([], [])
    (0.0, 1.0)
    """
    return f1_of(graphwalk_precision(rows, gold), graphwalk_recall(rows, gold))


def graphwalk_accuracy(rows: Sequence[JsonRow], gold: Sequence[JsonRow]) -> float:
    """1 where the rows are exactly the gold rows (GraphWalk, Table 2: correct answers).

    >>> graphwalk_accuracy([{"a": 1}, {"a": 1}], [{"a": 1}])
    1.0
    """
    return float(_row_set(rows) == _row_set(gold))


def _row_set(rows: Sequence[JsonRow]) -> frozenset[str]:
    return frozenset(json.dumps(row, sort_keys=True, ensure_ascii=False) for row in rows)


def graphrunner_rouge_l(predictions: TextList, answers: TextList) -> float:
    """ROUGE-L F-measure of the answer text (GraphRunner, section 4.1; Lin 2004).

    Words are runs of a-z and 0-9 of the lower-cased text, without stemming, as GRBench's script
    (the `rouge` metric of `evaluate`) takes them. Lists are joined with a comma.

    >>> round(graphrunner_rouge_l(["police kill the gunman"], ["the gunman police killed"]), 3)
    0.5
    >>> graphrunner_rouge_l([], ["Oslo"]), graphrunner_rouge_l(["Oslo"], ["oslo."])
    (0.0, 1.0)
    """
    predicted, gold = _words(", ".join(predictions)), _words(", ".join(answers))
    if not predicted or not gold:
        return 0.0
    common = _longest_common(predicted, gold)
    return f1_of(common / len(predicted), common / len(gold))


@lru_cache(1 << 16)
def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORDS.findall(text.lower()))


def _longest_common(a: Sequence[str], b: Sequence[str]) -> int:
    """Length of the longest common subsequence: a row of the table in the bits of one number.

    Hyyro 2004, "Bit-parallel LCS-length computation revisited": a cleared bit is a step up.
    """
    places: dict[str, int] = {}
    for i, word in enumerate(b):
        places[word] = places.get(word, 0) | 1 << i
    everything = (1 << len(b)) - 1
    row = everything
    for word in a:
        matched = row & places.get(word, 0)
        row = (row + matched | row - matched) & everything
    return len(b) - row.bit_count()
