"""The goal of a collection: how many trajectories of each structure, which questions are left."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from data_pipeline.config import ExpertConfig, quotas
from data_pipeline.jobs.ledger import Ledger, unit_of
from graphwalker.errors import UserError
from graphwalker.question import Question
from graphwalker.trajectory import Trajectory

GRAPHROLL, DROPPED = "graphroll.jsonl", "dropped.jsonl"

ByStructure = Mapping[str, Sequence[Question]]


class Goal:
    """Which structure comes next, and how many of its questions are used up."""

    def __init__(
        self, config: ExpertConfig, questions: ByStructure, ledger: Ledger, source: str
    ) -> None:
        self.quota = quotas_of(config, questions)
        self.kept: Counter[str] = Counter()
        self.tried: Counter[str] = Counter()
        self._questions = questions
        self._left = {name: len(questions.get(name, ())) for name in self.quota}
        self._source = source
        self._or_shares = ", or take the file's own shares (mix={})" if config.mix else ""
        self._over: set[str] = set()
        for name in (GRAPHROLL, DROPPED):
            for record in ledger.records(name):
                self._add(structure_of(record), name == GRAPHROLL)
                self._over.add(unit_of(record))
        self._check()

    def next_structure(self) -> str | None:
        open_ones = [name for name in self.quota if self.kept[name] < self.quota[name]]
        return min(open_ones, key=lambda n: self.kept[n] / self.quota[n]) if open_ones else None

    def window(self, size: int) -> list[Question]:
        """The next questions, no more than are wanted if all of them are kept, nor than `size`."""
        found: list[Question] = []
        for name, quota in self.quota.items():
            fresh = (q for q in self._questions.get(name, ()) if unit(q) not in self._over)
            found += islice(fresh, quota - self.kept[name])
        return found[:size]

    def end(self, question: Question, kept: bool) -> None:
        """The question of a window is over."""
        self._over.add(unit(question))
        self.count(question.structure, kept)

    def count(self, structure: str, kept: bool) -> None:
        self._add(structure, kept)
        self._check()

    def _add(self, structure: str, kept: bool) -> None:
        self.tried[structure] += 1
        self.kept[structure] += kept
        self._left[structure] -= 1

    def _check(self) -> None:
        """Raises `UserError` when the file has too few questions of a structure."""
        for name, wanted in self.quota.items():
            if self._left[name] < wanted - self.kept[name]:
                raise UserError(
                    f"{self._source}: {self.kept[name]} trajectories of {wanted} made, and too few "
                    f"{name} questions left: make more questions, ask for fewer trajectories, "
                    f"set mix.{name}=0{self._or_shares}"
                )


def unit(question: Question) -> str:
    """The unit of work that a question is, whichever of its tries ended it."""
    return f"{question.id}#0"


def quotas_of(config: ExpertConfig, questions: ByStructure) -> dict[str, int]:
    """Trajectories wanted of each structure; without a mix, by the shares of the file."""
    shares = {name: float(len(found)) for name, found in questions.items()}
    return quotas(config.mix or shares, config.count)


def structure_of(record: Mapping[str, Any]) -> str:
    """The structure of the question behind a kept or a dropped record."""
    return str(record["structure"] if "structure" in record else record["question"]["structure"])


def fault(trajectory: Trajectory) -> str:
    """Why the trajectory is rejected, `""` when it is kept (GraphWalker section 2.2.2)."""
    if trajectory.answer is None or trajectory.stop.ours:
        return trajectory.stop.value
    if trajectory.scores["em"] != 1.0:
        return "wrong_answer" if trajectory.answer else "gave_up"
    return "" if trajectory.scores["grounded"] == 1.0 else "not_grounded"


def ending(
    trajectory: Trajectory, reason: str, rejected: Sequence[str] = ()
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The record that ends a question: its trajectory, or why the last of its tries was dropped.

    `rejected` are the reasons of the tries before; the unit is the question's, not the try's.
    """
    before = {"unit": unit(trajectory.question), "rejected": list(rejected)} if rejected else {}
    if not reason:
        yield GRAPHROLL, {**trajectory.to_json(), **before}
        return
    yield (
        DROPPED,
        {
            "id": trajectory.id,
            "structure": trajectory.question.structure,
            "stage": "expert",
            "reason": reason,
            "errors": [error["kind"] for error in trajectory.provenance["errors"]],
            **before,
        },
    )


def recoveries(ledger: Ledger, tries: int) -> dict[str, Any]:
    """What went wrong and was put right, over the kept trajectories; where questions had several
    tries, how many episodes there were and why they were rejected."""
    errors: Counter[str] = Counter()
    rejected: Counter[str] = Counter()
    erring = total = episodes = 0
    for record in ledger.records(GRAPHROLL):
        found = record["provenance"]["errors"]
        errors.update(error["kind"] for error in found)
        erring += bool(found)
        total += 1
        rejected.update(record.get("rejected", ()))
    for record in ledger.records(DROPPED):
        rejected.update([*record.get("rejected", ()), record["reason"]])
    episodes = total + rejected.total()
    about = {
        "with_an_error": erring,
        "share_with_an_error": round(erring / total, 4) if total else 0.0,
        "errors": dict(sorted(errors.items())),
    }
    if tries == 1:
        return about
    reasons = dict(sorted(rejected.items()))
    return {**about, "tries": tries, "episodes": episodes, "rejected": reasons}
