"""Exemplars: worked episodes that a prompt shows before the question (few-shot)."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from graphwalker.errors import UserError
from graphwalker.files import read_records, write_jsonl
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.question import Question
from graphwalker.trajectory import Message, Trajectory

if TYPE_CHECKING:
    from graphwalker.agents.environment import EnvironmentConfig

EXEMPLARS = "exemplars.jsonl"
"""The exemplars of a run, in its folder."""

MakeExemplars = Callable[
    [KnowledgeGraph, "EnvironmentConfig", int, Iterable[Question]], list[Trajectory]
]
"""Makes `config.exemplars` episodes by a seed, none of them about what the questions ask."""


def exemplar_messages(episodes: Sequence[Trajectory], preset: str) -> tuple[Message, ...]:
    """The dialogues of the episodes, one behind the other, without their system messages.

    Raises `UserError` for an agent that begins its conversation anew.
    """
    shown: list[Message] = []
    for turn in (turn for episode in episodes for turn in episode.turns):
        if turn.restart:
            raise UserError(
                f"environment.exemplars: {preset} asks each step in a conversation of its own, "
                "which shows no whole dialogue; set exemplars=0"
            )
        shown += [message for message in turn.context if message.role != "system"]
        shown.append(Message("assistant", turn.completion))
    return tuple(shown)


def run_exemplars(
    folder: Path,
    graph: KnowledgeGraph,
    config: "EnvironmentConfig",
    seed: int = 0,
    questions: Iterable[Question] = (),
    make: MakeExemplars | None = None,
) -> list[Trajectory]:
    """The exemplars of the run in that folder, made and written there by its first command.

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
