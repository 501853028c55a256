"""Rejection sampling: which expert episodes are kept, and how many of each structure are wanted."""

import json
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from data_pipeline.config import ExpertConfig, quotas
from data_pipeline.jobs.goals import Attempts, Goal, one_of_each, too_few
from data_pipeline.jobs.ledger import DROPPED, Ledger, Unit, record_of, unit_of
from graphwalker.errors import UserError
from graphwalker.question import Question
from graphwalker.trajectory import Trajectory

GRAPHROLL = "graphroll.jsonl"
log = logging.getLogger(__name__)

ByStructure = Mapping[str, Sequence[Question]]


def attempts(questions: ByStructure) -> Attempts:
    """Return one attempt for each question, by structure, in the file's order."""
    return one_of_each(
        questions, unit, lambda record: str(record.get("question", record)["structure"])
    )


def quotas_of(questions: ByStructure, config: ExpertConfig) -> dict[str, int]:
    """Trajectories wanted of each structure; without a mix, by the shares of the file."""
    shares = {name: float(len(found)) for name, found in questions.items()}
    return quotas(config.mix or shares, config.count)


class ExpertGoal(Goal):
    """A stratified sample of questions, each replaced by the next where its episodes are dropped.

    What a structure has too few questions for is shared out among the others. Raises `UserError`
    where the file has no question of any structure that is wanted.
    """

    def __init__(
        self, config: ExpertConfig, questions: ByStructure, ledger: Ledger, file: str
    ) -> None:
        self._requested = quotas_of(questions, config)
        super().__init__(self._requested, attempts(questions), ledger)
        self._questions = questions
        self._ended = {unit_of(record) for record, _ in ledger.endings()}
        if not self._requested:
            raise UserError(
                f"{file}: none of its questions has an answer on this graph: is it their graph?"
            )
        if not any(map(self._questions.get, self._requested)):
            raise UserError(
                f"{file}: no {', '.join(self._requested)} questions in it: give another file"
                f"{', or take its own structures (mix={})' if config.mix else ''}"
            )
        if config.mix:
            self._warn_of_left_out(file)
        self._share_out()

    def _warn_of_left_out(self, file: str) -> None:
        """Warn of questions whose structures the mix lacks, where it has too few of the others."""
        sizes = {name: len(found) for name, found in self._questions.items()}
        left_out = {name: size for name, size in sizes.items() if name not in self._requested}
        usable = sum(sizes.values()) - sum(left_out.values())
        if left_out and usable < self.total:
            log.warning(
                "%s: mix leaves out %d of %d questions (%s), and %d are too few for count=%d; "
                "mix={} takes the structures of the file",
                file, sum(left_out.values()), sum(sizes.values()),
                ", ".join(f"{name or '(none)'}: {size}" for name, size in left_out.items()),
                usable, self.total,
            )  # fmt: skip

    @property
    def questions(self) -> Iterator[Question]:
        """Every question that may be asked."""
        return chain.from_iterable(self._questions.values())

    def next_structure(self) -> str | None:
        return super().next_structure() if self.kept.total() < self.total else None

    def window(self, size: int) -> list[Question]:
        """Return the next questions, no more than are wanted if all are kept, nor than `size`."""
        found: list[Question] = []
        for name, quota in self.quota.items():
            fresh = (q for q in self._questions.get(name, ()) if unit(q) not in self._ended)
            found += islice(fresh, quota - self.kept[name])
        return found[: min(size, self.total - self.kept.total())]

    def end(self, question: Question, kept: bool) -> None:
        """End the question of a window."""
        self._ended.add(unit(question))
        self.count(question.structure, kept)

    def count(self, structure: str, kept: bool) -> None:
        super().count(structure, kept)
        if not kept:
            self._share_out()

    def _share_out(self) -> None:
        """Set the quotas by what the file still has: it follows from the ledger alone."""
        room = {
            name: self.kept[name] + len(self._questions.get(name, ())) - self.tried[name]
            for name in self._requested
        }
        full: dict[str, int] = {}
        rest = dict(self._requested)
        while True:
            lacking = self.total - sum(full.values()) - sum(self._requested[n] for n in rest)
            more = quotas({n: float(self._requested[n]) for n in rest}, lacking) if rest else {}
            rest = {n: max(self.kept[n], self._requested[n] + more.get(n, 0)) for n in rest}
            over = {n: room[n] for n in rest if room[n] < rest[n]}
            if not over:
                break
            full |= over
            rest = {n: rest[n] for n in rest if n not in over}
        self.quota = {name: (full | rest)[name] for name in self._requested}

    @property
    def card(self) -> dict[str, Any]:
        return too_few(self._requested, self.kept)


def unit(question: Question) -> str:
    """Return the attempt that a question is, whichever of its tries ended it."""
    return f"{question.id}#0"


def fault(trajectory: Trajectory) -> str:
    """Return why the trajectory is rejected, `""` when it is kept (GraphWalker section 2.2.2)."""
    if trajectory.answer is None or trajectory.stop.infrastructure_failure:
        return str(trajectory.provenance.get("failure") or trajectory.stop.value)
    if trajectory.scores["em"] != 1.0:
        return "wrong_answer" if trajectory.answer else "gave_up"
    if trajectory.scores["grounded"] != 1.0:
        return "not_grounded"
    # Of `referenced` episodes: none of the policy's thoughts leads to the gold actions unaided.
    return "no_thought" if trajectory.provenance.get("referenced") == [] else ""


def ending(trajectory: Trajectory, reason: str, rejected: Sequence[str] = ()) -> Unit:
    """Return the record that ends a question: its trajectory, or why its last try was dropped.

    `rejected` are the reasons of the tries before; the unit is the question's, not the try's.
    """
    if not reason:
        return [(GRAPHROLL, record_of(trajectory, unit(trajectory.question), rejected))]
    before = {"unit": unit(trajectory.question), "rejected": list(rejected)} if rejected else {}
    dropped = {
        "id": trajectory.id,
        "structure": trajectory.question.structure,
        "stage": "expert",
        "reason": reason,
        "errors": [error["kind"] for error in trajectory.provenance["errors"]],
        **before,
    }
    return [(DROPPED, dropped)]


def refused(question: Question, reason: str) -> Unit:
    """Return the record of a question that is not played."""
    about = {"id": unit(question), "structure": question.structure}
    return [(DROPPED, {**about, "stage": "expert", "reason": reason, "errors": []})]


def recoveries(ledger: Ledger, tries: int) -> dict[str, Any]:
    """Return what went wrong and was put right, over the kept trajectories; where questions had
    several tries, how many episodes there were and why they were rejected."""
    errors: Counter[str] = Counter()
    rejected: Counter[str] = Counter()
    erring = total = injected = led_back = 0
    for record in ledger.records(GRAPHROLL):
        found = json.loads(record["provenance"]["errors"])
        errors.update(error["kind"] for error in found)
        injected += sum(error["slip"] for error in found)
        led_back += "way_back" in record["provenance"]
        erring += bool(found)
        total += 1
        rejected.update(filter(None, record["rejected"].split(", ")))
    for record in ledger.records(DROPPED):
        rejected.update([*record.get("rejected", ()), record["reason"]])
    about = {
        "with_an_error": erring,
        "share_with_an_error": round(erring / total, 4) if total else 0.0,
        "errors": dict(sorted(errors.items())),
        "injected_errors": injected,
        "honest_errors": errors.total() - injected,
        **({"way_back": led_back} if led_back else {}),
    }
    if tries == 1:
        return about
    reasons = dict(sorted(rejected.items()))
    return {**about, "tries": tries, "episodes": total + rejected.total(), "rejected": reasons}
