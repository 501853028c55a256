"""Figures of a run: means with 95 % intervals, breakdowns, Pass@k; paired differences of two runs.

Intervals are those of `graphwalker.intervals`; several episodes of one question count as one.
"""

import math
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from eval.analysis.truth_runs import truth_runs
from eval.run.records import SampledEpisode, tool_calls
from eval.score.forms import Hints
from eval.tables import natural
from graphwalker.intervals import INTERVALS, mean_interval, paired_interval
from graphwalker.policies.base import is_looping
from graphwalker.question import Question
from graphwalker.scoring import near_miss, pass_at_k, predicted_entities, score
from graphwalker.trajectory import StopReason, Trajectory

RATES = ("em", "f1", "precision", "recall", "hits1", "hit_any")
WALKS = ("retrieval_any", "retrieval_all", "grounded")
SPENT = ("prompt_tokens", "completion_tokens", "cost", "seconds")
EpisodeCosts = Mapping[str, Mapping[str, Any]]
"""Costs of episodes by their ids, as `usage.jsonl` holds them."""
Passes = Mapping[str, Mapping[int, float]]
"""Question -> k -> its unbiased Pass@k."""

GROUPS: dict[str, Callable[[Question], str]] = {
    "structure": lambda question: question.structure or "(none)",
    "hops": lambda question: str(question.hops) if question.hops else "(unknown)",
    "split": lambda question: question.split or "(none)",
}


def summarise(
    trajectories: Iterable[Trajectory],
    samples: Iterable[SampledEpisode] = (),
    ks: Sequence[int] = (1, 2, 4, 8),
    *,
    failures: int = 0,
    seed: int = 0,
    usage: EpisodeCosts | None = None,
) -> dict[str, Any]:
    """Return all figures of a run. `failures` adds to the infrastructure failures among
    `trajectories`; `usage` holds costs of episodes by their ids.

    Every figure `x` comes with `x_interval`; one that has no data is `None` (rates given an error)
    or absent (Pass@k where no question has k samples, walks of answers alone).
    """
    every = list(trajectories)
    kept = [add_scores(t) for t in every if not t.stop.infrastructure_failure]
    drawn = list(samples)
    passes = pass_by_question(drawn, ks)
    summary: dict[str, Any] = {
        "questions": len(kept),
        "failures": failures + len(every) - len(kept),
        "intervals": INTERVALS,
    }
    if not kept:
        return summary
    spent = [t for t in kept if t.turns or t.usage]  # a missing record that counts 0 cost nothing
    walked = any(t.turns for t in kept)
    summary |= {} if walked else {"answers_alone": True}
    summary |= figures(kept, (*RATES, *WALKS) if walked else RATES, passes, seed, walked)
    put(summary, "answered", kept, [float(t.answer is not None) for t in kept], seed)
    if walked:
        put(summary, "forced", kept, [float(t.stop is StopReason.FORCED) for t in kept], seed)
    costs = costs_of(spent, usage or {}) if walked else []
    for name in dict.fromkeys(name for cost in costs for name in cost):
        values = [cost.get(name, 0.0) for cost in costs]
        put(summary, name, spent, values, seed, share=False)
        summary[f"{name}_total"] = sum(values)
    summary |= _of_kinds(kept) | truth_runs(kept, drawn) | _lost_turns(kept) | _near_misses(kept)
    row = partial(figures, names=("em", "f1", "hits1"), passes=passes, seed=seed)
    return summary | {f"by_{name}": by_group(kept, group, row) for name, group in GROUPS.items()}


def figures(
    kept: Sequence[Trajectory],
    names: Iterable[str],
    passes: Passes,
    seed: int,
    recovery: bool = False,
) -> dict[str, Any]:
    """Return the means of these scores, with `recovery` how often episodes recovered (of all, and
    of the `erring` ones), and Pass@k; `pass@k_questions` says how many have k samples."""
    row: dict[str, Any] = {"questions": len(kept)}
    for name in names:
        put(row, name, kept, [t.scores[name] for t in kept], seed)
    if recovery:
        erring = [t for t in kept if t.scores["had_error"]]
        put(row, "recovery_all", kept, [t.scores["recovered"] for t in kept], seed)
        row["erring"] = len(erring)
        put(row, "recovery_given_error", erring, [t.scores["recovered"] for t in erring], seed)
    own = {t.question.id: passes[t.question.id] for t in kept if t.question.id in passes}
    for point in pass_curve(own, seed):
        key = f"pass@{point['k']}"
        row[key], row[f"{key}_interval"] = point["value"], point["interval"]
        row[f"{key}_questions"] = point["questions"]
    return row


def costs_of(kept: Iterable[Trajectory], usage: EpisodeCosts) -> list[dict[str, float]]:
    """Return what each episode cost; tokens and money only where the policy counted them."""
    return [_cost(t, {**usage.get(t.id, {}), **t.usage}) for t in kept]


def _cost(t: Trajectory, spent: Mapping[str, Any]) -> dict[str, float]:
    counted = {key: float(spent[key]) for key in SPENT if spent.get(key)}
    return {
        "turns": float(len(t.turns)),
        "graph_calls": float(sum(turn.graph_calls for turn in t.turns)),
        "tool_calls": float(tool_calls(t)),
        **({"tokens": float(n)} if (n := t.usage.get("completion_tokens")) else {}),
        **counted,
    }


def _near_misses(kept: Iterable[Trajectory]) -> dict[str, Any]:
    """Count the answers that are wrong only by the way they are typed."""
    hints = Hints()
    for one in kept:
        named = None if one.question.gold else predicted_entities(one)
        if typed := near_miss(named, one.question.answers):
            hints.add("typing", typed)
    return (
        {"near_misses": hints.counts["typing"], "remark": hints.lines()[0]} if hints.counts else {}
    )


def _lost_turns(kept: Sequence[Trajectory]) -> dict[str, Any]:
    """Count turns without any text, turns that the token limit ended before their action, those of
    them that repeat themselves, and turns in a conversation that the server had cut."""
    names = ("empty_turns", "cut_turns", "truncated_turns")
    counts = {name: sum(int(t.usage.get(name, 0)) for t in kept) for name in names}
    counts["looping_turns"] = sum(
        turn.error == "malformed" and is_looping(turn.completion)
        for one in kept
        if one.usage.get("cut_turns")
        for turn in one.turns
    )
    found = {name: count for name, count in counts.items() if count}
    return {**found, "all_turns": sum(len(t.turns) for t in kept)} if found else {}


def _of_kinds(kept: Sequence[Trajectory]) -> dict[str, Any]:
    """Return what only answers of rows and paths have: false positives summed, the mean ratio to
    the shortest path, and how often each way of reading an answer was needed."""
    wrong = [t.scores["false_positives"] for t in kept if "false_positives" in t.scores]
    ratios = [t.scores["path_ratio"] for t in kept if "path_ratio" in t.scores]
    actions = [(t.question.gold, t.turns[-1].action) for t in kept if t.turns]
    read = Counter(a.get("read", "none") for gold, a in actions if gold or "read" in a)
    found: dict[str, Any] = {"false_positives": sum(wrong)} if wrong else {}
    found |= {"path_ratio": sum(ratios) / len(ratios)} if ratios else {}
    return {**found, "answers_read": dict(sorted(read.items()))} if read else found


def by_group(
    kept: Iterable[Trajectory],
    group: Callable[[Question], str],
    row: Callable[[Sequence[Trajectory]], dict[str, Any]],
) -> dict[str, dict[str, Any]]:
    """Return the `row` of each group of questions, groups in natural order."""
    groups: dict[str, list[Trajectory]] = defaultdict(list)
    for trajectory in kept:
        groups[group(trajectory.question)].append(trajectory)
    return {name: row(groups[name]) for name in sorted(groups, key=natural)}


def add_scores(trajectory: Trajectory) -> Trajectory:
    """Return the trajectory with all its scores, unless it is an infrastructure failure."""
    needed = {*RATES, *WALKS, "had_error", "recovered"}
    if trajectory.stop.infrastructure_failure or trajectory.scores.keys() >= needed:
        return trajectory
    return trajectory.with_scores(**score(trajectory))


def pass_by_question(
    samples: Iterable[SampledEpisode], ks: Sequence[int]
) -> dict[str, dict[int, float]]:
    """Unbiased Pass@k of each question, for every k that its scored samples suffice for."""
    hits: dict[str, list[bool]] = defaultdict(list)
    for sample in samples:
        if not sample.stop.infrastructure_failure:
            hits[sample.question_id].append(sample.scores["em"] == 1)
    return {
        question: {k: pass_at_k(len(won), sum(won), k) for k in ks if k <= len(won)}
        for question, won in hits.items()
    }


def pass_curve(passes: Passes, seed: int = 0) -> list[dict[str, Any]]:
    """Unbiased Pass@k for every k that some question has samples for, over those that have.

    >>> pass_curve({"a": {1: 0.5, 2: 1.0}, "b": {1: 0.0, 2: 0.0}})[1]["value"]
    0.5
    """
    curve: list[dict[str, Any]] = []
    for k in sorted({k for found in passes.values() for k in found}):
        values = [found[k] for found in passes.values() if k in found]
        value, interval = mean_interval(values, seed)
        curve.append({"k": k, "value": value, "interval": interval, "questions": len(values)})
    return curve


def paired_difference(
    a: Iterable[Trajectory], b: Iterable[Trajectory], *, seed: int = 0
) -> dict[str, Any]:
    """B minus A over the questions that both have, with intervals; McNemar's exact p for EM.

    Where a question has several episodes, whole questions are resampled, and p is of the questions
    that won or lost on balance.
    """
    first = {t.id: add_scores(t) for t in a if not t.stop.infrastructure_failure}
    second = {t.id: add_scores(t) for t in b if not t.stop.infrastructure_failure}
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
        questions = [first[key].question.id for key in common]
        result[f"{name}_interval"] = paired_interval(gains, seed, questions)
    won = sum(second[key].scores["em"] > first[key].scores["em"] for key in common)
    lost = sum(second[key].scores["em"] < first[key].scores["em"] for key in common)
    balance: dict[str, float] = defaultdict(float)
    for key in common:
        balance[first[key].question.id] += second[key].scores["em"] - first[key].scores["em"]
    up, down = (sum(sign * gain > 0 for gain in balance.values()) for sign in (1, -1))
    return {**result, "won": won, "lost": lost, "p": mcnemar(up, down)}


def mcnemar(won: int, lost: int) -> float:
    """Two-sided exact p that gains and losses are a fair coin; never 0, however small it is.

    >>> round(mcnemar(2, 10), 6)
    0.038574
    """
    n, fewer = won + lost, min(won, lost)
    if 2 * fewer >= n - 1:
        return 1.0
    # In logarithms: the terms are beyond any float from a thousand pairs on.
    every = math.lgamma(n + 1) - n * math.log(2)
    terms = [every - math.lgamma(i + 1) - math.lgamma(n - i + 1) for i in range(fewer + 1)]
    largest = terms[-1]
    tail = largest + math.log(math.fsum(math.exp(term - largest) for term in terms))
    return min(1.0, max(2 * math.exp(tail), sys.float_info.min))


def holm(ps: Sequence[float]) -> list[float]:
    """Adjust p values for several tests at once (Holm, Scandinavian Journal of Statistics 1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted, floor = list(ps), 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        floor = max(floor, min(1.0, (len(ps) - rank) * ps[place]))
        adjusted[place] = floor
    return adjusted


def put(
    row: dict[str, Any],
    name: str,
    kept: Sequence[Trajectory],
    values: Sequence[float],
    seed: int,
    share: bool = True,
) -> None:
    """Set a figure of `row` and its interval; `None` where there are no values."""
    row[name], row[f"{name}_interval"] = (
        mean_interval(values, seed, share, [t.question.id for t in kept])
        if values
        else (None, None)
    )
