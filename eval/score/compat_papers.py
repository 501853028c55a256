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
    """Return the answer as the one text that KG-R1's scripts see.

    >>> kg_r1_text(["Oslo", "Bergen"])
    'Oslo, Bergen'
    """
    return ", ".join(predictions)


def kg_r1_items(text: str) -> list[str]:
    """Return the text split at the first delimiter of KG-R1's list that it holds.

    >>> kg_r1_items("Oslo and Bergen; Moss"), kg_r1_items("Oslo")
    (['Oslo and Bergen', 'Moss'], ['Oslo'])
    """
    for delimiter in _DELIMITERS:
        if delimiter in text:
            return [item.strip() for item in text.split(delimiter) if item.strip()]
    return [text]


def kg_r1_em(predictions: TextList, answers: TextList) -> float:
    """Match the whole answer, or any item, with any gold (KG-R1, `em_check_kg`), SQuAD form.

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


def kg_r1_scores(predictions: TextList, answers: Sequence[TextList]) -> dict[str, float]:
    """KG-R1's figures: recall is the share of the gold entities of which any form is within the
    answer (entity level), precision 1 as soon as one is found. Defect: wrong answers beside it are
    free.

    `answers` holds the forms of each entity: its name and its id.

    >>> list(kg_r1_scores(["Oslo", "Rome", "Paris"], [["Oslo", "m.1"], ["Bergen"]]).values())
    [1.0, 0.6666666666666666, 1.0, 0.5]
    """
    text = squad_form(kg_r1_text(predictions))
    found = sum(any(_within(form, text) for form in forms) for forms in answers) if text else 0
    recall = found / len(answers) if answers else float(bool(text))
    precision = float(found > 0)
    return {
        "kg_r1_em": kg_r1_em(predictions, [form for forms in answers for form in forms]),
        "kg_r1_f1": f1_of(precision, recall),
        "kg_r1_precision": precision,
        "kg_r1_recall": recall,
    }


def _within(form: str, text: str) -> bool:
    normal = squad_form(form)
    return normal != "" and normal in text


def truth(text: str) -> bool | None:
    """Return the definite answer that a text gives: True, False, or `None` (no commitment).

    >>> truth("True."), truth(" false"), truth("None"), truth("I think True")
    (True, False, None, None)
    """
    return {"true": True, "false": False, "yes": True, "no": False}.get(squad_form(text))


def ark_scores(predictions: TextList, gold: bool) -> dict[str, float]:
    """Return whether the agent commits to True or False, and is right: none counts as wrong in
    accuracy, and has no conditional accuracy (ARK-V1, section IV-B).

    >>> ark_scores(["False"], False)
    {'ark_answer_rate': 1.0, 'ark_accuracy': 1.0, 'ark_conditional_accuracy': 1.0}
    >>> ark_scores(["None"], False)
    {'ark_answer_rate': 0.0, 'ark_accuracy': 0.0}
    """
    given = _verdict(predictions)
    right = float(given is gold)
    scores = {"ark_answer_rate": float(given is not None), "ark_accuracy": right}
    return scores if given is None else {**scores, "ark_conditional_accuracy": right}


def ark_reliability(samples: Sequence[TextList]) -> float:
    """1 - H / log2 3, H the entropy of the answers True, False, None over repeated runs (ARK-V1).

    >>> ark_reliability([["True"], ["True"]])
    1.0
    >>> abs(ark_reliability([["True"], ["False"], ["None"]])) < 1e-12
    True
    """
    counts = Counter(_verdict(sample) for sample in samples)
    shares = [count / len(samples) for count in counts.values()]
    entropy = -sum(share * math.log2(share) for share in shares)
    return 1.0 - entropy / math.log2(CLASSES)


def _verdict(predictions: TextList) -> bool | None:
    """Return the definite answer of the first prediction; `None` where there is none."""
    return truth(predictions[0]) if predictions else None


JsonRow = Mapping[str, Any]


def graphwalk_scores(rows: Sequence[JsonRow], gold: Sequence[JsonRow]) -> dict[str, float]:
    """GraphWalk's figures of rows as sets of JSON, whatever the order of their keys (section 4;
    Table 2 sums the false positives). Both sides empty is right.

    >>> graphwalk_scores([{"a": 1, "b": 2}, {"a": 3}], [{"b": 2, "a": 1}])["graphwalk_precision"]
    0.5
    >>> list(graphwalk_scores([], []).values())
    [1.0, 1.0, 1.0, 1.0, 0.0]
    """
    found, right = _row_set(rows), _row_set(gold)
    precision = len(found & right) / len(found) if found else float(not right)
    recall = len(found & right) / len(right) if right else float(not found)
    return {
        "graphwalk_accuracy": float(found == right),
        "graphwalk_precision": precision,
        "graphwalk_recall": recall,
        "graphwalk_f1": f1_of(precision, recall),
        "graphwalk_false_positives": float(len(found - right)),
    }


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
