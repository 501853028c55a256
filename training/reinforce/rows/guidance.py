"""Guidance: where no episode of a group was right, a demonstration takes the place of the last one.

An off-policy episode in the group of its question, after LUFFY (Yan et al. 2025, arXiv:2504.14945,
section 3.1). It earns what it would have earned and counts in the mean of its group, so a question
that no draw solves teaches what would have solved it. LUFFY adds one to every group; here it stands
only where the group's own episodes say nothing, and the group stays as large as the others.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from graphwalker.errors import UserError
from graphwalker.files import read_records
from graphwalker.question import Question
from graphwalker.tokens.segments import ChatFormat, Tokenizer, completion_ids
from graphwalker.trajectory import Trajectory
from training.reinforce.rows.episode_tokens import EpisodeTokens, episode_tokens
from training.supervised.data import injected_errors

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Guide:
    """A demonstration as an episode of a group."""

    trajectory: Trajectory
    """With its scores."""
    tokens: EpisodeTokens


class Guidance:
    """The demonstrations of a run by the id of their question."""

    def __init__(
        self,
        demonstrations: Mapping[str, Trajectory],
        score: Callable[[Trajectory], Trajectory],
        tokens: Callable[[Trajectory], EpisodeTokens],
    ) -> None:
        """`score` says what an episode earns; `tokens` makes its row."""
        self._demonstrations, self._score, self._tokens = demonstrations, score, tokens

    def guides(self, groups: Sequence[Sequence[Trajectory]]) -> dict[int, Guide]:
        """For the batch of these scored groups: the guides by the places of the episodes that give
        way, counted over all groups."""
        found: dict[int, Guide] = {}
        place = -1
        for group in groups:
            place += len(group)
            known = self._demonstrations.get(group[0].question.id)
            if known is not None and _is_lost(group):
                found[place] = Guide(self._score(known), self._tokens(known))
        return found


def _is_lost(group: Iterable[Trajectory]) -> bool:
    """No episode of it was right, and none was an infrastructure failure."""
    return not any(t.stop.infrastructure_failure or t.scores.get("em") for t in group)


def read_demonstrations(
    files: Sequence[str], questions: Iterable[Question], preset: str
) -> dict[str, Trajectory]:
    """The first right demonstration of each of the questions. Raises `UserError` for one of another
    preset, and where there is none for any of them."""
    known, found = {question.id: question for question in questions}, dict[str, Trajectory]()
    for path in files:
        for trajectory in read_records(Path(path), Trajectory.from_json):
            question = known.get(trajectory.question.id)
            if question is None or question.text != trajectory.question.text:
                continue
            if trajectory.agent != preset:
                raise UserError(
                    f"guidance.data: {path}: {trajectory.id} is of the preset {trajectory.agent}, "
                    f"this run's is {preset}: make the demonstrations in its environment"
                )
            if trajectory.scores.get("em") == 1.0:
                found.setdefault(question.id, replace(trajectory, question=question))
    if not found:
        raise UserError(
            f"guidance.data: {', '.join(files)}: no right demonstration of any training question; "
            "make some of the same file: graphwalker experts --questions FILE searched=2"
        )
    log.info("guidance: demonstrations of %d of %d questions", len(found), len(known))
    return found


def guide_tokens(
    trajectory: Trajectory, fmt: ChatFormat, tokenizer: Tokenizer, end_ids: Sequence[int]
) -> EpisodeTokens:
    """The row of a demonstration, its agent's own tokens as if they had been drawn, but for turns
    in which an expert was made to err: those are not trained on. Log-probabilities are given as 0:
    nothing drew them."""
    turns: list[Any] = []
    last, wrong = len(trajectory.turns) - 1, injected_errors(trajectory)
    for number, turn in enumerate(trajectory.turns):
        ids = completion_ids(turn.completion, fmt, tokenizer, continues=number < last)
        drawn = 0 if number in wrong else len(ids)
        turns.append(replace(turn, token_ids=tuple(ids), logprobs=(0.0,) * drawn))
    return episode_tokens(replace(trajectory, turns=tuple(turns)), fmt, tokenizer, end_ids)
