"""What verification found in a file: how many records hold, and why the others do not."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from data_pipeline.jobs.merge_shards import CARD
from graphwalker.files import read_json

FIRST = 10
"""Failures that are listed one by one; all of them are counted."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A record that does not hold, or a file as a whole (line 0)."""

    line: int
    """Its line in the file, from 1."""
    id: str
    reason: str
    detail: str

    def __str__(self) -> str:
        return f"line {self.line} ({self.id}): {self.reason}: {self.detail}"


@dataclass(slots=True)
class FileVerdict:
    """What became of a file."""

    records: int = 0
    reasons: Counter[str] = field(default_factory=Counter[str])
    first: list[Failure] = field(default_factory=list[Failure])
    trajectories: int = 0
    replayed: int = 0
    digests: int = 0
    """Records with a digest of their own."""
    notes: list[str] = field(default_factory=list[str])
    """What could not be compared, and why."""
    seconds: float = 0.0

    @property
    def failed(self) -> int:
        return self.reasons.total()

    def add(self, failure: Failure | None) -> None:
        if failure is not None:
            self.reasons[failure.reason] += 1
            if len(self.first) < FIRST:
                self.first.append(failure)

    def to_json(self) -> dict[str, Any]:
        return {
            "records": self.records,
            "hold": self.records - self.failed,
            "failed": self.failed,
            "reasons": dict(sorted(self.reasons.items())),
            "first": [
                {"line": f.line, "id": f.id, "reason": f.reason, "detail": f.detail}
                for f in self.first
            ],
            "trajectories": self.trajectories,
            "replayed": self.replayed,
            "with_a_digest": self.digests,
            "notes": self.notes,
            "seconds": round(self.seconds, 1),
        }


def card_digest(path: Path) -> str:
    """The digest of the file on the data card that lies beside it; `""` where there is none."""
    card = path.parent / CARD
    found = read_json(card).get("digests") if card.is_file() else None
    return str(found.get(path.name, "")) if isinstance(found, dict) else ""
