"""Baselines and ceilings in a report: read beside a run, shared by runs of the same questions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from eval.analysis.summary import add_scores, figures, paired_difference, summarise
from eval.run.beside import FOLDER, read_beside
from eval.run.records import Run, read_run
from graphwalker.trajectory import Trajectory

SAME = ("questions_checksum", "graph", "environment", "environment_version", "environment_settings")
"""Settings of runs that have the same baselines and the same ceiling."""


def beside(
    runs: Sequence[Run], lean: Callable[[Trajectory], Trajectory], seed: int = 0
) -> list[dict[str, Any]]:
    """Return for each run the `ceiling` of its environment (`None` and `no_ceiling` where there is
    none), and its `baselines` by name: figures, and the run's paired difference to each of them.

    Where a run has none, those of another run of the same questions in the same environment stand.
    """
    known: dict[str, dict[str, Any]] = {}
    played: dict[str, dict[str, list[Trajectory]]] = {}
    for run in runs:
        record = read_beside(run.folder) if run.folder.is_dir() else {}
        key = _key(run)
        if record and (key not in known or len(record["baselines"]) > len(played[key])):
            folders = {name: run.folder / FOLDER / name for name in record["baselines"]}
            known[key] = {**known.get(key, {}), **_known_facts(record)}
            played[key] = {n: read_run(f, lean).trajectories for n, f in folders.items()}
    return [
        {
            **known.get(_key(run), {}),
            "baselines": _figures(played.get(_key(run), {}), run.trajectories, seed),
        }
        for run in runs
    ]


def benchmark_figures(folders: Mapping[str, Path]) -> dict[str, dict[str, Any]]:
    """Figures of the stages' runs on one benchmark, by stage; the paired gain of the last stage
    over the first; then the baselines, and the ceiling where there is one."""
    runs = {stage: read_run(folder) for stage, folder in folders.items()}
    found = {stage: summarise(run.trajectories) for stage, run in runs.items()}
    first, last = next(iter(runs)), list(runs)[-1]
    gain = paired_difference(runs[first].trajectories, runs[last].trajectories)
    others = beside(list(runs.values()), lambda trajectory: trajectory)[-1]
    ceiling = {"ceiling": others["ceiling"]} if others.get("ceiling") else {}
    return {**found, f"{last} minus {first}": gain, **others["baselines"], **ceiling}


def _known_facts(record: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("ceiling", "no_ceiling", "no_baselines", "set_aside")
    return {key: record[key] for key in kept if key in record}


def _figures(
    played: Mapping[str, list[Trajectory]], agent: Iterable[Trajectory], seed: int
) -> dict[str, dict[str, Any]]:
    ours = list(agent)
    found: dict[str, dict[str, Any]] = {}
    for name, theirs in played.items():
        kept = [add_scores(one) for one in theirs if not one.stop.infrastructure_failure]
        row = figures(kept, ("em", "f1", "hits1") if kept else (), {}, seed)
        found[name] = {**row, "agent_minus": paired_difference(theirs, ours, seed=seed)}
    return found


def _key(run: Run) -> str:
    """Return what runs of one question file in one environment share; a lone file shares
    nothing."""
    facts = [run.config.get(name) for name in SAME]
    return repr(facts) if any(facts) else str(run.folder)
