"""The lines of a data file, and the verdict on it: which records hold, why others do not."""

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

from data_pipeline.jobs.shards import CARD
from graphwalker.errors import UserError
from graphwalker.files import bounded_lines, json_fault, no_file, read_json


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """(line number, line) of those that are not blank. Raises `UserError` for a file that is not
    there, or not gzip as its name says."""
    if not path.is_file():
        raise no_file(path)
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for number, line in enumerate(bounded_lines(cast(BinaryIO, file), path), start=1):
                if line.strip():
                    yield number, line.rstrip(b"\r\n")
    except (gzip.BadGzipFile, EOFError) as error:
        raise UserError(f"{path}: damaged gzip file ({error})") from None


def count_lines(path: Path) -> int:
    """Return lines of a plain file, for the progress bar; 0 where only reading it would show."""
    if path.suffix == ".gz" or not path.is_file():
        return 0
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


def parse_record(line: bytes) -> dict[str, Any]:
    """Return the record of a line. Raises `ValueError` that says what is wrong with it."""
    try:
        record = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 text at byte {error.start + 1}") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON ({json_fault(error)})") from None
    if not isinstance(record, dict):
        raise ValueError("a record must be a JSON object")
    return cast(dict[str, Any], record)


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
    """Return the digest of the file on the data card that lies beside it, `""` for none."""
    card = path.parent / CARD
    found = read_json(card).get("digests") if card.is_file() else None
    return str(found.get(path.name, "")) if isinstance(found, dict) else ""
