"""Questions of True or False over repeated runs, as ARK-V1's Table III reports them."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from eval.run.records import SampledEpisode
from eval.score.compat_papers import ark_reliability, truth
from graphwalker.trajectory import Trajectory

Verdicts = list[tuple[bool | None, bool]]
"""Of each question of a run: what was answered (`None`: nothing definite), and what is right."""


def truth_runs(kept: Sequence[Trajectory], samples: Iterable[SampledEpisode]) -> dict[str, Any]:
    """Sample k of every question is run k: the mean over runs of answer rate, conditional and
    overall accuracy, each with its standard deviation `_sd`; and the mean reliability of a
    question. `{}` where a question has another answer, or no run is whole."""
    gold = {one.question.id: _gold(one) for one in kept}
    right = {key: value for key, value in gold.items() if value is not None}
    answers: dict[int, dict[str, Sequence[str]]] = {}
    for sample in samples if right and len(right) == len(gold) else ():
        if sample.question_id in right and not sample.stop.infrastructure_failure:
            answers.setdefault(sample.sample, {})[sample.question_id] = sample.answer or ()
    whole = [run for run in answers.values() if len(run) == len(right)]
    if not whole:
        return {}
    verdicts = [[(_verdict(run[key]), value) for key, value in right.items()] for run in whole]
    figures: dict[str, Any] = {"runs": len(whole)}
    for name, measure in _MEASURES.items():
        values = [value for run in verdicts if (value := measure(run)) is not None]
        figures[name] = fmean(values) if values else None
        figures[f"{name}_sd"] = stdev(values) if len(values) > 1 else None
    reliable = [ark_reliability([run[key] for run in whole]) or 0.0 for key in right]
    return {"truth_runs": {**figures, "reliability": fmean(reliable)}}


def _gold(one: Trajectory) -> bool | None:
    answers = one.question.answers
    return truth(answers[0].name) if len(answers) == 1 else None


def _verdict(answer: Sequence[str]) -> bool | None:
    return truth(answer[0]) if answer else None


def _answer_rate(run: Verdicts) -> float | None:
    return fmean(given is not None for given, _ in run)


def _overall(run: Verdicts) -> float | None:
    return fmean(given is right for given, right in run)


def _conditional(run: Verdicts) -> float | None:
    definite = [given is right for given, right in run if given is not None]
    return fmean(definite) if definite else None


_MEASURES: Mapping[str, Any] = {
    "answer_rate": _answer_rate,
    "conditional_accuracy": _conditional,
    "overall_accuracy": _overall,
}
