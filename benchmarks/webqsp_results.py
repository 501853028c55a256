"""The figures of `benchmarks.webqsp_rows`, read from its run folder."""

import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from eval.analysis.summary import summarise
from eval.run.records import read_run
from graphwalker.files import read_json
from graphwalker.graphs.base import Entity
from graphwalker.scoring import is_right, score
from graphwalker.trajectory import Trajectory, Turn

FIGURES = ("questions", "em", "em_interval", "f1", "hits1", "answered", "turns")
DRAWS = 10_000
BASELINES = ("linear", "first-relation", "random-relation")


def results(out: Path, rows: Iterable[str], seeds: Sequence[int]) -> dict[str, Any]:
    """Every row: baselines, agents by seed, the paired differences to the best baseline."""
    return {"rows": {name: _row(out / "eval", name, seeds) for name in rows}}


def _row(folder: Path, name: str, seeds: Sequence[int]) -> dict[str, Any]:
    baselines = {kind: exact(folder / f"{name}-{kind}") for kind in BASELINES}
    best = max(baselines, key=lambda kind: fmean(baselines[kind].values()))
    agents = [exact(folder / f"{name}-webqsp-{seed}") for seed in seeds]
    return {
        "ceiling": read_json(folder / f"{name}-ceiling.json"),
        "baselines": {kind: figures_of(folder / f"{name}-{kind}") for kind in baselines},
        "best_baseline": best,
        "agents": {
            str(seed): {
                "webqsp": figures_of(folder / f"{name}-webqsp-{seed}"),
                "heldout": figures_of(folder / f"{name}-heldout-{seed}"),
                "minus_best": difference([agent], baselines[best]),
            }
            for seed, agent in zip(seeds, agents, strict=True)
        },
        "mean_em": round(fmean(fmean(agent.values()) for agent in agents), 4),
        "minus_best": difference(agents, baselines[best]),
    }


def difference(
    agents: Sequence[Mapping[str, float]], baseline: Mapping[str, float], seed: int = 0
) -> dict[str, Any]:
    """The mean of the agents minus the baseline, over the same questions; 95 % by bootstrap over
    questions, each with all its agents.

    >>> found = difference([{"a": 1.0, "b": 0.0}], {"a": 0.0, "b": 0.0})
    >>> found["difference"], found["interval"]
    (0.5, [0.0, 1.0])
    """
    gains = [fmean(a[key] for a in agents) - baseline[key] for key in sorted(baseline)]
    rng, n = random.Random(seed), len(gains)
    drawn = sorted(fmean(rng.choices(gains, k=n)) for _ in range(DRAWS))
    low, high = drawn[round(0.025 * DRAWS)], drawn[round(0.975 * DRAWS) - 1]
    return {"difference": round(fmean(gains), 4), "interval": [round(low, 4), round(high, 4)]}


def figures_of(folder: Path) -> dict[str, Any]:
    """The figures of an evaluation."""
    trajectories = read_run(folder).trajectories
    found = summarise(trajectories)
    return {name: found[name] for name in FIGURES} | {
        "em_of_all_shown": round(fmean(map(_all_shown, trajectories)), 4)
    }


def _all_shown(trajectory: Trajectory) -> float:
    """Exact match if the answer were all that its last relation shows: what choosing the relation
    is worth without reading on, whatever was copied wrongly."""
    calls = [turn for turn in trajectory.turns if turn.action.get("tool") == "get_triples"]
    if not calls:
        return 0.0
    last = _asked(calls[-1])
    topics = {topic.id for topic in trajectory.question.topic_entities}
    shown: dict[str, Entity] = {}
    for turn in calls:
        if _asked(turn) == last:  # its pages
            shown.update((entity.id, entity) for entity in turn.shown)
    ends = [entity for entity in shown.values() if entity.id not in topics]
    return float(is_right(ends, trajectory.question.answers))


def exact(folder: Path) -> dict[str, float]:
    """Exact match by question; an infrastructure failure counts as a miss."""
    return {t.question.id: score(t)["em"] for t in read_run(folder).trajectories}


def _asked(turn: Turn) -> tuple[Any, Any]:
    arguments = turn.action["arguments"]
    return arguments.get("entity"), arguments.get("relations")


def table(figures: Mapping[str, Any]) -> str:
    """The rows in Markdown."""
    lines = [
        "| row | winnable | linear | agents | mean | minus the best | held-out |",
        "|" + " --- |" * 7,
    ]
    for name, row in figures["rows"].items():
        em = " / ".join(f"{a['webqsp']['em']:.3f}" for a in row["agents"].values())
        heldout = " / ".join(f"{a['heldout']['em']:.3f}" for a in row["agents"].values())
        gain, (low, high) = row["minus_best"]["difference"], row["minus_best"]["interval"]
        lines.append(
            f"| {name} | {row['ceiling']['winnable']:.3f} | {row['baselines']['linear']['em']:.3f} "
            f"| {em} | {row['mean_em']:.3f} | {gain:+.3f} [{low:+.3f}, {high:+.3f}] | {heldout} |"
        )
    return "\n".join(lines)
