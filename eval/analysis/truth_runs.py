"""Questions of True or False over repeated runs, as ARK-V1's Table III reports them."""

from collections.abc import Iterable, Sequence
from statistics import fmean, stdev
from typing import Any

from eval.run.records import SampledEpisode
from eval.score.compat_papers import ark_reliability, ark_scores, truth
from graphwalker.trajectory import Trajectory

FIGURES = {
    "answer_rate": "ark_answer_rate",
    "conditional_accuracy": "ark_conditional_accuracy",
    "overall_accuracy": "ark_accuracy",
}


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
    scores = [[ark_scores(run[key], value) for key, value in right.items()] for run in whole]
    figures: dict[str, Any] = {"runs": len(whole)}
    for name, metric in FIGURES.items():
        found = [[score[metric] for score in run if metric in score] for run in scores]
        values = [fmean(run) for run in found if run]
        figures[name] = fmean(values) if values else None
        figures[f"{name}_sd"] = stdev(values) if len(values) > 1 else None
    reliable = [ark_reliability([run[key] for run in whole]) for key in right]
    return {"truth_runs": {**figures, "reliability": fmean(reliable)}}


def _gold(one: Trajectory) -> bool | None:
    answers = one.question.answers
    return truth(answers[0].name) if len(answers) == 1 else None
