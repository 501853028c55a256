"""Figures of an evaluation: means with intervals, and the paired gain over another evaluation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev

from graphwalker.scoring import score
from graphwalker.trajectory import Trajectory

Z = 1.959964
"""Standard errors of a 95 % interval."""


@dataclass(frozen=True, slots=True)
class Play:
    """What an evaluation keeps of an episode; no `em` for an infrastructure failure."""

    question: str
    em: float | None = None
    f1: float = 0.0
    answered: bool = False
    turns: int = 0
    valid_actions: int = 0

    @classmethod
    def of(cls, trajectory: Trajectory) -> "Play":
        if trajectory.stop.infrastructure_failure:
            return cls(trajectory.question.id)
        scores = score(trajectory)
        return cls(
            trajectory.question.id,
            scores["em"],
            scores["f1"],
            trajectory.answer is not None,
            len(trajectory.turns),
            sum("malformed" not in turn.action for turn in trajectory.turns),
        )


def figures(plays: Sequence[Play]) -> dict[str, float]:
    """Means over episodes, of EM with its interval; `failed` counts infrastructure failures, which
    no mean holds."""
    valid = [play for play in plays if play.em is not None]
    low, high = wilson(em_by_question(plays))
    return {
        "em": _mean([play.em or 0.0 for play in valid]),
        "em_low": low,
        "em_high": high,
        "f1": _mean([play.f1 for play in valid]),
        "answered": _mean([play.answered for play in valid]),
        "valid_actions": sum(p.valid_actions for p in valid) / max(1, sum(p.turns for p in valid)),
        "failed": float(len(plays) - len(valid)),
    }


def em_by_question(plays: Sequence[Play]) -> dict[str, float]:
    """The mean EM of each question's episodes."""
    found: dict[str, list[float]] = {}
    for play in plays:
        if play.em is not None:
            found.setdefault(play.question, []).append(play.em)
    return {question: fmean(ems) for question, ems in found.items()}


def wilson(em: Mapping[str, float]) -> tuple[float, float]:
    """Wilson's 95 % interval of a mean over questions. Where a question's EM is itself a mean over
    samples, it is on the wide side.

    >>> wilson({})
    (0.0, 1.0)
    >>> [round(end, 3) for end in wilson({"a": 1.0, "b": 1.0, "c": 0.0, "d": 1.0})]
    [0.301, 0.954]
    """
    if not em:
        return 0.0, 1.0
    count, share = len(em), fmean(em.values())
    middle = (share + Z * Z / (2 * count)) / (1 + Z * Z / count)
    reach = Z / (1 + Z * Z / count)
    reach *= sqrt(share * (1 - share) / count + Z * Z / (4 * count * count))
    return max(0.0, middle - reach), min(1.0, middle + reach)


def paired_gain(now: Mapping[str, float], before: Mapping[str, float]) -> dict[str, float]:
    """Mean difference over the questions that both have, with its 95 % interval; `{}` for none.

    >>> paired_gain({"a": 1.0, "b": 1.0}, {"a": 1.0, "b": 1.0, "c": 0.0})
    {'gain': 0.0, 'gain_low': 0.0, 'gain_high': 0.0}
    """
    changes = [now[question] - before[question] for question in now if question in before]
    if not changes:
        return {}
    mean = fmean(changes)
    reach = Z * stdev(changes) / sqrt(len(changes)) if len(changes) > 1 else 1.0
    return {"gain": mean, "gain_low": mean - reach, "gain_high": mean + reach}


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else 0.0
