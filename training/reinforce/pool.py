"""The pool of questions: what came of each one's last visit, and what is drawn for a solved one."""

from collections.abc import Collection, Sequence
from pathlib import Path

from graphwalker.files import JsonlAppender
from graphwalker.trajectory import Trajectory
from training.reinforce.groups import substitutes
from training.runs.checkpoints import lines_until
from training.runs.distributed import agreed, gathered, rank

FILE = "visits.jsonl"
"""In the run folder: a line for each group of episodes, `right` of `of` being right."""

Visit = tuple[str, int, int]
"""A question, how many of its episodes were right, and how many were scored."""


def visit(group: Sequence[Trajectory]) -> Visit:
    """Of scored episodes."""
    em = [t.scores["em"] for t in group if "em" in t.scores]
    return group[0].question.id, sum(map(bool, em)), len(em)


class QuestionPool:
    """Which questions are solved: all their episodes were right at the last visit.

    A resumed run (after step `start`) reads the visits that it made. The same in all processes.
    """

    def __init__(self, ids: Collection[str], folder: Path, start: int, seed: int) -> None:
        self._ids, self._path, self._start, self._seed = ids, folder / FILE, start, seed
        self._solved: dict[str, bool] | None = None

    def open_ones(self, wanted: Sequence[str], step: int) -> tuple[list[str], int]:
        """The questions of the whole step, open ones in the place of those that are solved while
        there are any, and how many places that changed. A collective at its first call."""
        solved = self._known()
        rest = [
            question
            for question in substitutes(self._ids, wanted, f"{self._seed}:pool:{step}")
            if not solved.get(question)
        ]
        places = [place for place, question in enumerate(wanted) if solved.get(question)]
        chosen = list(wanted)
        for place, question in zip(places, rest, strict=False):
            chosen[place] = question
        return chosen, min(len(places), len(rest))

    def note(self, step: int, visits: Sequence[Visit]) -> None:
        """Remember the visits of this process, and those of the others. A collective."""
        solved = self._known()
        everyone = gathered(list(visits))
        solved.update({question: right == of > 0 for question, right, of in everyone})
        if rank() == 0:
            appender = JsonlAppender(self._path)
            for question, right, of in everyone:
                appender.append({"step": step + 1, "question": question, "right": right, "of": of})
            appender.close()

    def _known(self) -> dict[str, bool]:
        if self._solved is None:
            lines = agreed(lines_until(self._path, self._start) if rank() == 0 else [])
            self._solved = {line["question"]: line["right"] == line["of"] > 0 for line in lines}
        return self._solved
