"""Exemplars: worked episodes that a prompt shows before the question (few-shot)."""

from collections.abc import Callable, Iterable
from pathlib import Path

from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.errors import UserError
from graphwalker.files import read_records, write_jsonl
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.question import Question
from graphwalker.trajectory import Trajectory

EXEMPLARS = "exemplars.jsonl"
"""The exemplars of a run, in its folder."""

MakeExemplars = Callable[
    [KnowledgeGraph, EnvironmentConfig, int, Iterable[Question]], list[Trajectory]
]
"""Makes `config.exemplars` episodes by a seed, none of them about what the questions ask."""


def run_exemplars(
    folder: Path,
    graph: KnowledgeGraph,
    config: EnvironmentConfig,
    seed: int = 0,
    questions: Iterable[Question] = (),
    make: MakeExemplars | None = None,
) -> list[Trajectory]:
    """Return the exemplars of the run in that folder, made and written there by its first command.

    Raises `UserError` where the folder has others, or none and `make` is not given.
    """
    if not config.exemplars:
        return []
    path = folder / EXEMPLARS
    if not path.is_file():
        if make is None:
            raise UserError(
                f"{path}: environment.exemplars={config.exemplars} needs this file; copy it from "
                "the folder of an evaluation, or set exemplars=0"
            )
        folder.mkdir(parents=True, exist_ok=True)
        write_jsonl(path, [one.to_json() for one in make(graph, config, seed, questions)])
    found = list(read_records(path, Trajectory.from_json))
    if len(found) != config.exemplars:
        raise UserError(
            f"{path}: holds {len(found)} exemplars and environment.exemplars={config.exemplars}; "
            "choose another output folder, or remove the file"
        )
    return found
