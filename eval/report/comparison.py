"""A comparison as one self-contained page: its tables, and the walks of all agents on one question
side by side."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from eval.analysis.comparison import NamedRun, figures_table, pairs_table
from eval.analysis.ratios import ratios_table
from eval.report.assets import templates
from eval.viewer.record import ENDS, action_text
from graphwalker.question import Question
from graphwalker.trajectory import Trajectory

LONGEST = 1500
"""Characters of a text that a page shows."""


class ShownTurn(NamedTuple):
    """A turn as the page shows it."""

    number: int
    thought: str
    action: str
    observation: str
    error: str
    restart: bool


class ShownEpisode(NamedTuple):
    """An agent's walk on one question; `None` for one that it has not scored."""

    agent: str
    right: bool | None
    answer: str
    end: str
    turns: tuple[ShownTurn, ...]


class SideBySide(NamedTuple):
    """A question and what each agent did about it."""

    question: Question
    gold: str
    episodes: tuple[ShownEpisode, ...]


def write_page(path: Path, runs: Sequence[NamedRun], result: dict[str, Any], most: int) -> None:
    """Write the page with the walks on `most` questions: those first that some agents have right
    and others wrong. Every name and every word of a model is escaped."""
    pages = templates()
    page = pages.get_template("compare.html")
    names = [run.name for run in runs]
    text = page.render(
        title=" against ".join(names),
        figures=figures_table(result),
        pairs=pairs_table(result),
        ratios=ratios_table(result.get("ratios", ())),
        questions=list(side_by_side(runs, most)),
        total=len({t.question.id for run in runs for t in run.scored_episodes}),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="replace")


def side_by_side(runs: Sequence[NamedRun], most: int) -> Iterator[SideBySide]:
    """The questions to look at, those on which the agents differ first, in the runs' order."""
    walks = [{t.question.id: t for t in reversed(run.scored_episodes)} for run in runs]
    questions = {t.question.id: t.question for run in runs for t in run.scored_episodes}
    order = sorted(questions, key=lambda key: not _differ([own.get(key) for own in walks]))
    for key in order[:most]:
        question = questions[key]
        found = [
            _show_episode(run.name, own.get(key)) for run, own in zip(runs, walks, strict=True)
        ]
        gold = ", ".join(answer.name or answer.id for answer in question.answers)
        yield SideBySide(question, gold, tuple(found))


def _differ(walks: Sequence[Trajectory | None]) -> bool:
    return len({walk.scores["em"] for walk in walks if walk is not None}) > 1


def _show_episode(agent: str, walk: Trajectory | None) -> ShownEpisode:
    if walk is None:
        return ShownEpisode(agent, None, "", "not scored", ())
    turns = (
        ShownTurn(
            number,
            _cut(turn.thought),
            _cut(action_text(turn.action)),
            _cut(turn.observation),
            turn.error,
            turn.restart,
        )
        for number, turn in enumerate(walk.turns, start=1)
    )
    answer = "no answer" if walk.answer is None else ", ".join(walk.answer) or "(nothing)"
    return ShownEpisode(
        agent, walk.scores["em"] == 1.0, _cut(answer), ENDS[walk.stop], tuple(turns)
    )


def _cut(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]} (+{len(text) - LONGEST:,} characters)"
