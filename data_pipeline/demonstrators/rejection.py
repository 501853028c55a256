"""Rejection sampling: which expert episodes are kept, and how many of each structure are wanted."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from data_pipeline.config import ExpertConfig, quotas
from data_pipeline.jobs.goals import Goal
from data_pipeline.jobs.ledger import DROPPED, Ledger, Unit, unit_of
from graphwalker.errors import UserError
from graphwalker.question import Question
from graphwalker.trajectory import Trajectory

GRAPHROLL = "graphroll.jsonl"

ByStructure = Mapping[str, Sequence[Question]]


class Questions:
    """One attempt for each question of a file, by structure, in the file's order."""

    def __init__(self, questions: ByStructure) -> None:
        self.by_structure = questions

    def job(self, structure: str, number: int) -> Question | None:
        questions = self.by_structure.get(structure, ())
        return questions[number] if number < len(questions) else None

    def unit(self, structure: str, number: int) -> str:
        return unit(self.by_structure[structure][number])

    def structure_of(self, record: Mapping[str, Any]) -> str:
        return str(
            record["structure"] if "structure" in record else record["question"]["structure"]
        )

    def quotas(self, config: ExpertConfig) -> dict[str, int]:
        """Trajectories wanted of each structure; without a mix, by the shares of the file."""
        shares = {name: float(len(found)) for name, found in self.by_structure.items()}
        return quotas(config.mix or shares, config.count)


class ExpertGoal(Goal):
    """A stratified sample of questions, each replaced by the next where its episodes are dropped.

    Raises `UserError` as soon as the file has too few questions of a structure.
    """

    def __init__(
        self, config: ExpertConfig, questions: Questions, ledger: Ledger, file: str
    ) -> None:
        super().__init__(questions.quotas(config), questions, ledger)
        self._questions, self._file = questions.by_structure, file
        self._or_shares = ", or take the file's own shares (mix={})" if config.mix else ""
        self._ended = {unit_of(record) for record, _ in ledger.endings()}
        self._check()

    def window(self, size: int) -> list[Question]:
        """The next questions, no more than are wanted if all of them are kept, nor than `size`."""
        found: list[Question] = []
        for name, quota in self.quota.items():
            fresh = (q for q in self._questions.get(name, ()) if unit(q) not in self._ended)
            found += islice(fresh, quota - self.kept[name])
        return found[:size]

    def end(self, question: Question, kept: bool) -> None:
        """The question of a window is over."""
        self._ended.add(unit(question))
        self.count(question.structure, kept)

    def count(self, structure: str, kept: bool) -> None:
        super().count(structure, kept)
        self._check()

    def _check(self) -> None:
        for name, wanted in self.quota.items():
            untried = len(self._questions.get(name, ())) - self.tried[name]
            if untried < wanted - self.kept[name]:
                raise UserError(
                    f"{self._file}: {self.kept[name]} trajectories of {wanted} made, and too few "
                    f"{name} questions left: make more questions, ask for fewer trajectories, "
                    f"set mix.{name}=0{self._or_shares}"
                )


def unit(question: Question) -> str:
    """The attempt that a question is, whichever of its tries ended it."""
    return f"{question.id}#0"


def fault(trajectory: Trajectory) -> str:
    """Why the trajectory is rejected, `""` when it is kept (GraphWalker section 2.2.2)."""
    if trajectory.answer is None or trajectory.stop.infrastructure_failure:
        return trajectory.stop.value
    if trajectory.scores["em"] != 1.0:
        return "wrong_answer" if trajectory.answer else "gave_up"
    return "" if trajectory.scores["grounded"] == 1.0 else "not_grounded"


def ending(trajectory: Trajectory, reason: str, rejected: Sequence[str] = ()) -> Unit:
    """The record that ends a question: its trajectory, or why the last of its tries was dropped.

    `rejected` are the reasons of the tries before; the unit is the question's, not the try's.
    """
    before = {"unit": unit(trajectory.question), "rejected": list(rejected)} if rejected else {}
    if not reason:
        return [(GRAPHROLL, {**trajectory.to_json(), **before})]
    dropped = {
        "id": trajectory.id,
        "structure": trajectory.question.structure,
        "stage": "expert",
        "reason": reason,
        "errors": [error["kind"] for error in trajectory.provenance["errors"]],
        **before,
    }
    return [(DROPPED, dropped)]


def recoveries(ledger: Ledger, tries: int) -> dict[str, Any]:
    """What went wrong and was put right, over the kept trajectories; where questions had several
    tries, how many episodes there were and why they were rejected."""
    errors: Counter[str] = Counter()
    rejected: Counter[str] = Counter()
    erring = total = 0
    for record in ledger.records(GRAPHROLL):
        found = record["provenance"]["errors"]
        errors.update(error["kind"] for error in found)
        erring += bool(found)
        total += 1
        rejected.update(record.get("rejected", ()))
    for record in ledger.records(DROPPED):
        rejected.update([*record.get("rejected", ()), record["reason"]])
    about = {
        "with_an_error": erring,
        "share_with_an_error": round(erring / total, 4) if total else 0.0,
        "errors": dict(sorted(errors.items())),
    }
    if tries == 1:
        return about
    reasons = dict(sorted(rejected.items()))
    return {**about, "tries": tries, "episodes": total + rejected.total(), "rejected": reasons}
