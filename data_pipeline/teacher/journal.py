"""The teacher's journal: every request that went out, every answer that was paid for, on disk."""

import fcntl
import json
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from graphwalker.errors import UserError
from graphwalker.files import JsonlAppender
from graphwalker.policies.chat.budget import Spent

ANSWERS, USAGE = "answers.jsonl", "usage.json"

Entry = dict[str, Any]


class Journal:
    """Appends `sent`, then one of `text` (answered), `lost` (perhaps billed) or `free`, by key.

    A request that a kill left without its ending is booked at its worst price when the journal is
    opened again, so that a cap on money holds over any number of kills. Memory holds one offset an
    answer. Thread-safe. Raises `UserError` where another process has the journal open.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._lock = threading.Lock()
        self._claim = (folder / "lock").open("w")
        try:
            fcntl.flock(self._claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._claim.close()
            raise UserError(
                f"{folder}: another run is using this teacher's answers; wait for it, or give "
                "this run a teacher.cache_dir of its own"
            ) from None
        path = folder / ANSWERS
        self._appender = JsonlAppender(path)
        self._offsets: dict[str, int] = {}
        open_ones: dict[str, Entry] = {}
        for offset, entry in entries(path):
            if "sent" in entry:
                open_ones[entry["key"]] = entry
            else:
                open_ones.pop(entry["key"], None)
            if "text" in entry:
                self._offsets[entry["key"]] = offset
        self._end = path.stat().st_size
        self._answers = path.open("rb")
        for key, entry in open_ones.items():
            self.write({"key": key, "lost": entry["sent"]})
        self.spent = spent_in(path)

    def find(self, key: str) -> Entry | None:
        """The answer to a request, if it was paid for already."""
        with self._lock:
            offset = self._offsets.get(key)
            if offset is None:
                return None
            self._answers.seek(offset)
            return json.loads(self._answers.readline())

    def write(self, entry: Entry) -> None:
        """Append one entry; it is with the system before this returns, whatever kills us then."""
        with self._lock:
            self._appender.append(entry)
            if "text" in entry:
                self._offsets[entry["key"]] = self._end
            self._end = self._appender.path.stat().st_size

    def close(self) -> None:
        """Write usage.json and let others have the journal."""
        usage = json.dumps(usage_of(self._appender.path), indent=1)
        (self.folder / USAGE).write_text(usage + "\n", encoding="utf-8")
        self._appender.close()
        self._answers.close()
        self._claim.close()


def entries(path: Path) -> Iterator[tuple[int, Entry]]:
    """Every entry with its offset in bytes. Raises `UserError` naming a damaged line."""
    offset = 0
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                entry = json.loads(line)
                assert isinstance(entry["key"], str)
            except (ValueError, KeyError, TypeError, AssertionError):
                raise UserError(f"{path}:{number}: damaged; move the file away") from None
            yield offset, entry
            offset += len(line)


def spent_in(path: Path) -> Spent:
    """What the requests of a journal cost; one that was lost counts at its worst."""
    total = Spent()
    for _, entry in entries(path):
        paid = entry.get("paid") or entry.get("lost")
        if paid:
            total += Spent(1, *paid)
    return total


def usage_of(path: Path) -> dict[str, Any]:
    """Answers by purpose, requests that may have been paid for nothing, tokens and money."""
    purposes = Counter(e.get("for", "") for _, e in entries(path) if "text" in e)
    spent = spent_in(path)
    return {
        "answers": dict(sorted(purposes.items())),
        "lost": sum("lost" in e for _, e in entries(path)),
        "prompt_tokens": spent.prompt_tokens,
        "completion_tokens": spent.completion_tokens,
        "cost": round(spent.cost, 6),
    }
