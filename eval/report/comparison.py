"""A comparison as one self-contained page: its tables, and the walks of all agents on one question
side by side."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eval.analysis.comparison import NamedRun, figures_tables, pairs_table, ratios_table
from eval.report import assets
from eval.report.archive import WalkArchive
from graphwalker.trajectory import Trajectory


def write_page(path: Path, runs: Sequence[NamedRun], result: dict[str, Any]) -> None:
    """Write the page: the questions that some agents have right and others wrong come first. Every
    name and every word of a model is escaped or packed."""
    page = assets.templates().get_template("compare.html")
    names = [run.name for run in runs]
    parts = page.generate(
        title=" against ".join(names),
        figures=figures_tables(result)[0],
        pairs=pairs_table(result),
        ratios=ratios_table(result.get("ratios", ())),
        data=pack_walks(runs).parts(),
        scripts=assets.scripts(),
        beside=True,
    )
    assets.write_page(path, parts)


def pack_walks(runs: Sequence[NamedRun]) -> WalkArchive:
    """Return the scored walks of all runs, those of questions on which the agents differ first."""
    archive = WalkArchive()
    walks = [{walk.id: walk for walk in reversed(run.scored_episodes)} for run in runs]
    every = dict.fromkeys(walk.id for run in runs for walk in run.scored_episodes)
    order = sorted(every, key=lambda key: not _differ([own.get(key) for own in walks]))
    for run, own in zip(runs, walks, strict=True):
        archive.open_run(run.name, run.usage)
        for key in order:
            if key in own:
                archive.add(own[key])
    return archive


def _differ(walks: Sequence[Trajectory | None]) -> bool:
    return len({walk.scores["em"] for walk in walks if walk is not None}) > 1
