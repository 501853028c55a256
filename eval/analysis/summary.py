"""Figures of a run: means with 95 % intervals, breakdowns, Pass@k; paired differences of two runs.

Intervals are those of `eval.intervals`: Wilson's where every value is 0 or 1 (it stays honest at 0
and at n), else the percentile bootstrap over questions.
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from eval.intervals import INTERVALS, Interval, bootstrap, mean_interval, wilson
from eval.run.records import Sampled
from graphwalker.scoring import pass_at_k, score
from graphwalker.trajectory import StopReason, Trajectory

__all__ = [  # with the intervals, so that a run's figures come from one module
    "INTERVALS",
    "Interval",
    "bootstrap",
    "mcnemar",
    "mean_interval",
    "natural",
    "paired",
    "pass_by_question",
    "summarise",
    "wilson",
]

RATES = ("em", "f1", "precision", "recall", "hits1", "hit_any", "retrieval_any", "retrieval_all")
_NEEDED = {*RATES, "had_error", "recovered"}


def summarise(
    trajectories: Iterable[Trajectory],
    samples: Iterable[Sampled] = (),
    ks: Sequence[int] = (1, 2, 4, 8),
    *,
    failures: int = 0,
    seed: int = 0,
) -> dict[str, Any]:
    """All figures of a run. `failures` adds to the episodes of ours found among `trajectories`.

    Every figure `x` comes with `x_interval`; one that has no data is `None` (rates given an error)
    or left out (Pass@k where no question has k samples).
    """
    every = list(trajectories)
    kept = [_scored(t) for t in every if not t.stop.ours]
    passes = pass_by_question(samples, ks)
    summary: dict[str, Any] = {
        "questions": len(kept),
        "failures": failures + len(every) - len(kept),
        "intervals": INTERVALS,
    }
    if not kept:
        return summary
    for name in RATES:
        _put(summary, name, [t.scores[name] for t in kept], seed)
    _put(summary, "recovery_all", [t.scores["recovered"] for t in kept], seed)
    erring = [t.scores["recovered"] for t in kept if t.scores["had_error"]]
    summary["erring"] = len(erring)
    _put(summary, "recovery_given_error", erring, seed)
    _put(summary, "answered", [float(t.answer is not None) for t in kept], seed)
    _put(summary, "forced", [float(t.stop is StopReason.FORCED) for t in kept], seed)
    for name, values in _costs(kept).items():
        _put(summary, name, values, seed, share=False)
    _put_passes(summary, kept, passes, seed)
    for name, group in _GROUPS.items():
        summary[name] = _breakdown(kept, passes, group, seed)
    return summary


def pass_by_question(samples: Iterable[Sampled], ks: Sequence[int]) -> dict[str, dict[int, float]]:
    """Unbiased Pass@k of each question, for every k that its scored samples suffice for."""
    hits: dict[str, list[bool]] = defaultdict(list)
    for sample in samples:
        if not sample.stop.ours:
            hits[sample.question_id].append(sample.scores["em"] == 1)
    return {
        question: {k: pass_at_k(len(won), sum(won), k) for k in ks if k <= len(won)}
        for question, won in hits.items()
    }


def paired(a: Iterable[Trajectory], b: Iterable[Trajectory], *, seed: int = 0) -> dict[str, Any]:
    """B minus A over the questions that both have, with intervals; McNemar's exact p for EM."""
    first = {t.id: _scored(t) for t in a if not t.stop.ours}
    second = {t.id: _scored(t) for t in b if not t.stop.ours}
    common = [key for key in first if key in second]
    result: dict[str, Any] = {
        "questions": len(common),
        "only_a": len(first) - len(common),
        "only_b": len(second) - len(common),
    }
    if not common:
        return result
    for name in ("em", "f1", "hits1"):
        before = [first[key].scores[name] for key in common]
        after = [second[key].scores[name] for key in common]
        gains = [y - x for x, y in zip(before, after, strict=True)]
        result[f"{name}_a"] = sum(before) / len(common)
        result[f"{name}_b"] = sum(after) / len(common)
        result[name] = sum(gains) / len(common)
        result[f"{name}_interval"] = bootstrap(gains, seed)
    won = sum(second[key].scores["em"] > first[key].scores["em"] for key in common)
    lost = sum(second[key].scores["em"] < first[key].scores["em"] for key in common)
    return {**result, "won": won, "lost": lost, "p": mcnemar(won, lost)}


def mcnemar(won: int, lost: int) -> float:
    """Two-sided exact p that gains and losses are a fair coin."""
    n = won + lost
    tail = sum(math.comb(n, i) for i in range(min(won, lost) + 1))
    return min(1.0, 2 * tail / 2**n)


def _scored(trajectory: Trajectory) -> Trajectory:
    if trajectory.scores.keys() >= _NEEDED:
        return trajectory
    return trajectory.with_scores(**score(trajectory))


def _put(
    summary: dict[str, Any], name: str, values: Sequence[float], seed: int, share: bool = True
) -> None:
    summary[name], summary[f"{name}_interval"] = (
        mean_interval(values, seed, share) if values else (None, None)
    )


def _costs(kept: Sequence[Trajectory]) -> dict[str, list[float]]:
    costs = {
        "turns": [float(len(t.turns)) for t in kept],
        "graph_calls": [float(sum(turn.graph_calls for turn in t.turns)) for t in kept],
    }
    tokens = [t.usage.get("completion_tokens", 0.0) for t in kept]
    if any(tokens):  # a policy without token ids counts none
        costs["tokens"] = tokens
    return costs


def _put_passes(
    summary: dict[str, Any],
    kept: Sequence[Trajectory],
    passes: Mapping[str, Mapping[int, float]],
    seed: int,
) -> None:
    """Pass@k over the kept questions that have k samples; `pass@k_questions` says how many have."""
    sampled = [passes[t.question.id] for t in kept if t.question.id in passes]
    for k in sorted(set().union(*sampled)):
        values = [found[k] for found in sampled if k in found]
        _put(summary, f"pass@{k}", values, seed)
        summary[f"pass@{k}_questions"] = len(values)


_GROUPS: dict[str, Callable[[Trajectory], str]] = {
    "by_structure": lambda t: t.question.structure or "(none)",
    "by_hops": lambda t: str(t.question.hops) if t.question.hops else "(unknown)",
    "by_split": lambda t: t.question.split or "(none)",
}


def _breakdown(
    kept: Sequence[Trajectory],
    passes: Mapping[str, Mapping[int, float]],
    group: Callable[[Trajectory], str],
    seed: int,
) -> dict[str, dict[str, Any]]:
    groups: dict[str, list[Trajectory]] = defaultdict(list)
    for trajectory in kept:
        groups[group(trajectory)].append(trajectory)
    table: dict[str, dict[str, Any]] = {}
    for name in sorted(groups, key=natural):
        row: dict[str, Any] = {"questions": len(groups[name])}
        for metric in ("em", "f1", "hits1"):
            _put(row, metric, [t.scores[metric] for t in groups[name]], seed)
        _put_passes(row, groups[name], passes, seed)
        table[name] = row
    return table


def natural(text: str) -> list[tuple[int, int, str]]:
    """Sort key that reads numbers in a name as numbers: 2-hop before 10-hop before 2I."""
    parts = re.findall(r"\d+|\D+", text)
    key = [(0, int(p), "") if p.isdecimal() else (1, 0, p) for p in parts]
    return [(0 if re.fullmatch(r"\d+(-hop)?", text) else 1, 0, ""), *key]
