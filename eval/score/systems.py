"""Systems to compare: runs of ours as they are, anyone's predictions as episodes without turns."""

import logging
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from eval.run.records import Run, read_run
from eval.score.expected import ExpectedQuestions
from eval.score.files import read_predictions
from eval.score.forms import Hints
from eval.score.metrics import OWN
from eval.score.predictions import Prediction, holds_lines, read_file
from eval.score.score import score_record
from graphwalker.errors import UserError
from graphwalker.question import Question
from graphwalker.trajectory import StopReason, Trajectory

_log = logging.getLogger(__name__)
RECORDED = ("retrieval_any", "retrieval_all", "grounded", "had_error", "recovered")
"""Scores that only a walk has; an episode without turns has 0 there, which no table shows."""


def read_system(path: Path, expected: ExpectedQuestions | None = None) -> Run:
    """Read a run's folder, a file of trajectories, or a predictions file of any known form.

    With `expected`, questions without a record are episodes without an answer, unless they are
    dropped. Raises `UserError`.
    """
    if not path.exists():
        raise UserError(f"{path}: no such file: not an evaluation run, nor a predictions file")
    if path.is_dir() or holds_walks(path):
        run = read_run(path)
        if expected is None:
            return run
        return replace(count_expected(run, expected), failures=[], samples=[])
    hints, records = Hints(), list(read_predictions(path, expected=expected))
    if not records and expected is None:
        raise UserError(f"{path}: holds no records to score")
    for record in records:
        if record.hint:
            hints.add(*record.hint)
    for line in hints.lines():
        _log.warning("%s: %s", path, line)
    run = Run(path, _distinct(_as_episode(r, path.stem, expected) for r in records), [], [])
    return run if expected is None else _with_blanks(run, expected)


def count_expected(run: Run, expected: ExpectedQuestions) -> Run:
    """Return the run over the expected questions: those without a scored episode are episodes
    without an answer, unless they are dropped; episodes of other questions do not count."""
    return _with_blanks(
        replace(run, trajectories=list(expected.of_episodes(run.trajectories))), expected
    )


def _with_blanks(run: Run, expected: ExpectedQuestions) -> Run:
    expected.refuse_strangers(run.folder)
    names = () if expected.drop else expected.missing
    missing = (Prediction(name, expected.question(name).answers) for name in names)
    blanks = [_as_episode(record, run.folder.stem, expected) for record in missing]
    return replace(run, trajectories=[*run.trajectories, *blanks])


def holds_walks(path: Path) -> bool:
    """Return whether the first record of a file is a trajectory."""
    if not holds_lines(path):
        return False
    found: list[bool] = []

    def look(record: dict[str, Any]) -> Prediction:
        found.append(isinstance(record.get("turns"), list) and "predictions" not in record)
        return Prediction("")

    next(iter(read_file(path, look)), None)
    return found == [True]


def _as_episode(record: Prediction, name: str, expected: ExpectedQuestions | None) -> Trajectory:
    question = expected.question(record.id) if expected else Question(record.id, record.id, ())
    scores = score_record(record, OWN)
    return Trajectory(
        question if expected else replace(question, answers=record.answers),
        name,
        "predictions",
        (),
        record.texts if record.predictions is not None else None,
        StopReason.MALFORMED if record.predictions is None else StopReason.ANSWERED,
        scores={**dict.fromkeys((*OWN, *RECORDED), 0.0), **scores},
    )


def _distinct(episodes: Iterable[Trajectory]) -> list[Trajectory]:
    """Return the first episode of each question."""
    found: dict[str, Trajectory] = {}
    for episode in episodes:
        found.setdefault(episode.id, episode)
    return list(found.values())
