"""The names of all metrics: what each means, where it is defined, its known defect."""

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from eval.score import compat, compat_papers
from eval.score.predictions import PredictedEntities, Prediction
from graphwalker.answers.values import answer_key
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer
from graphwalker.scoring import GoldSet, compare, is_right, pass_at_k
from graphwalker.settings.named import failure, is_own, own

METRICS: Mapping[str, Mapping[str, str]] = tomllib.loads(
    Path(__file__).with_name("metrics.toml").read_text(encoding="utf-8")
)
"""The `meaning`, `source` and known `defect` of each, in the order in which tables show them."""
Scores = dict[str, float]
OWN = ("em", "f1", "precision", "recall", "hits1", "hit_any")
PASS = re.compile(r"pass@([1-9]\d*)")


@dataclass(frozen=True, slots=True)
class Family:
    """Metrics that are computed together. `needs` says what a record must have for them."""

    needs: str
    applies: Callable[[Prediction], bool]
    score: Callable[[Prediction], Scores]
    names: tuple[str, ...]
    everywhere: bool = False
    """Shown without being named only if every record has what it needs."""


def _own(record: Prediction) -> Scores:
    if record.by_kind:
        return {name: record.by_kind[name] for name in OWN}
    return compare(record.predictions, record.answers)


def pass_scores(record: Prediction, ks: Iterable[int] = ()) -> Scores:
    """`pass@k` for every power of two that the samples suffice for, and for `ks`."""
    gold = GoldSet.of(record.answers)
    right = record.passed or [is_right(sample, gold) for sample in record.samples]
    n, c = len(right), sum(right)
    powers = (1 << i for i in range(n.bit_length()))
    return {f"pass@{k}": pass_at_k(n, c, k) for k in {*powers, *ks} if k <= n}


def _majority(record: Prediction) -> Scores:
    """Self-consistency (Wang et al., 2023): the answer set that most samples give; of equally
    frequent ones the first. A sample without an answer has no vote."""
    votes: dict[frozenset[str], list[PredictedEntities]] = {}
    for sample in record.samples:
        if sample is not None:
            votes.setdefault(frozenset(answer_key(e.name or e.id) for e in sample), []).append(
                sample
            )
    winner = max(votes.values(), key=len)[0] if votes else None
    scores = compare(winner, record.answers)
    return {f"self_consistency_{name}": scores[name] for name in ("em", "hits1")}


def _read_text(record: Prediction) -> Sequence[str]:
    """Return what a published script reads: the whole text where it is known."""
    return record.texts if record.raw is None else (record.raw,)


def _strings(record: Prediction) -> Scores:
    texts, golds = record.texts, record.golds
    return {name: metric(texts, golds) for name, metric in _STRINGS.items()}


def _rog(record: Prediction) -> Scores:
    return dict(zip(_ROG, compat.rog(record.texts, record.golds), strict=True))


_STRINGS = {
    metric.__name__: metric
    for metric in (
        compat.graphwalker_em,
        compat.graphwalker_f1,
        compat.graphwalker_token_f1,
        compat.squad_em,
    )
}
_ROG = tuple(f"rog_{name}" for name in compat.Rog._fields)
_WEBQSP = ("webqsp_precision", "webqsp_recall", "webqsp_f1")


def _webqsp(record: Prediction) -> Scores:
    parses = record.parses or (record.answers,)
    found = compat.webqsp(record.predictions or (), parses, _raw_equal)
    return dict(zip(_WEBQSP, found, strict=True))


def _raw_equal(prediction: Entity, answer: Answer) -> bool:
    if prediction.id and answer.id:
        return prediction.id == answer.id
    return (prediction.name or prediction.id) == (answer.name or answer.id)


def _tog(record: Prediction) -> Scores:
    aliases = [alias for answer in record.answers for alias in answer.aliases]
    return {"tog_em": compat.tog_em(_read_text(record), (*record.golds, *aliases))}


def _kg_r1(record: Prediction) -> Scores:
    forms = [[form for form in (a.name, a.id) if form] for a in record.answers]
    return compat_papers.kg_r1_scores(_read_text(record), forms)


def _rouge(record: Prediction) -> Scores:
    found = compat_papers.graphrunner_rouge_l(_read_text(record), record.golds)
    return {"graphrunner_rouge_l": found}


def _gold_truth(record: Prediction) -> bool | None:
    return compat_papers.truth(record.golds[0]) if len(record.answers) == 1 else None


def _ark(record: Prediction) -> Scores:
    return compat_papers.ark_scores(record.texts, _gold_truth(record) is True)


def _reliability(record: Prediction) -> Scores:
    samples = [[entity.name or entity.id for entity in sample or ()] for sample in record.samples]
    return {"ark_reliability": compat_papers.ark_reliability(samples)}


def _predicts(record: Prediction) -> bool:
    return record.has_predictions


FAMILIES: tuple[Family, ...] = (
    Family("predictions", _predicts, _own, OWN),
    Family("samples", lambda r: bool(r.samples or r.passed), pass_scores, ("pass@k",)),
    Family(
        "samples",
        lambda r: len(r.samples) > 1,
        _majority,
        ("self_consistency_em", "self_consistency_hits1"),
    ),
    Family(
        "a run of `graphwalker eval`",
        lambda r: bool(r.scored),
        lambda r: dict(r.scored),
        ("retrieval_any", "retrieval_all", "recovery_all", "recovery_given_error"),
    ),
    Family("predictions", _predicts, _strings, tuple(_STRINGS)),
    Family("predictions", _predicts, _rog, _ROG),
    Family("predictions", _predicts, _webqsp, _WEBQSP),
    Family("predictions", _predicts, _tog, ("tog_em",)),
    Family(
        "predictions",
        _predicts,
        _kg_r1,
        ("kg_r1_em", "kg_r1_f1", "kg_r1_precision", "kg_r1_recall"),
    ),
    Family("predictions", _predicts, _rouge, ("graphrunner_rouge_l",)),
    Family(
        "one true or false answer a record",
        lambda r: r.has_predictions and _gold_truth(r) is not None,
        _ark,
        ("ark_answer_rate", "ark_accuracy", "ark_conditional_accuracy"),
        everywhere=True,
    ),
    Family(
        "samples and one true or false answer a record",
        lambda r: bool(r.samples) and _gold_truth(r) is not None,
        _reliability,
        ("ark_reliability",),
        everywhere=True,
    ),
    Family(
        "rows and gold_rows",
        lambda r: r.rows is not None,
        lambda r: compat_papers.graphwalk_scores(r.rows or (), r.gold_rows),
        tuple(compat_papers.graphwalk_scores((), ())),
    ),
    Family(
        "judge: true or false",
        lambda r: r.judge is not None,
        lambda r: {"graphrunner_judge": float(bool(r.judge))},
        ("graphrunner_judge",),
    ),
)


@cache
def family_of(name: str) -> Family:
    """Return the family that computes a metric; that of `module:NAME` is the user's own function.
    Raises `UserError` listing the known ones."""
    known = "pass@k" if PASS.fullmatch(name) else name
    for family in FAMILIES:
        if known in family.names:
            return family
    if not is_own(name):
        names = ", ".join(METRICS)
        raise UserError(f"no metric is named {name!r}; known: {names}, or module:NAME for your own")
    function = own(name, "metric")
    if not callable(function):
        raise UserError(f"metric {name}: is no function NAME(answers, gold)")
    return Family("predictions", _predicts, partial(_own_metric, name, function), (name,))


def _own_metric(name: str, function: Callable[..., Any], record: Prediction) -> Scores:
    """Score a record by the user's own function of the answers given and the gold ones."""
    try:
        value = function(list(record.texts), list(record.golds))
    except Exception as error:
        raise UserError(f"metric {name}: {failure(error)}") from error
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise UserError(f"metric {name}: returned {value!r} for {record.id}, not a number")
    return {name: float(value)}
