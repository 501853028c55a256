"""Rejected lines: what a build could not read, counted, shown by file and line, and written out."""

import logging
from pathlib import Path
from typing import Any, BinaryIO

from graphwalker.errors import UserError

log = logging.getLogger(__name__)

REJECT_LIMIT = 100
"""Malformed lines that a build skips and counts; one more stops it."""
SHOWN = 10
_TEXT_LIMIT = 2_000
_HEADER = b"file\tline\treason\ttext\n"
_FLAT = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


class Rejects:
    """The malformed lines of a build: skipped, counted, named; too many stop it.

    They go to a TSV file (file, line, reason, the first 2,000 characters), if a path is given.
    """

    def __init__(self, path: Path | None = None, limit: int = REJECT_LIMIT) -> None:
        self.count = 0
        self.first = ""
        self._path, self.limit = path, limit
        self._file: BinaryIO | None = None

    def add(self, path: Path, number: int, why: str, text: str | bytes = "") -> None:
        """Raises `UserError` once there are more than the limit."""
        self.count += 1
        where = f"{path}:{number}: {why}"
        self.first = self.first or where
        self._write(path, number, why, text)
        if self.count > self.limit:
            self.close()
            raise UserError(
                f"{where}; more than {self.limit} malformed lines, the first {self.first}"
            )
        if self.count <= SHOWN:
            log.warning("skipped %s", where)

    def save(self) -> dict[str, Any]:
        """Where the record stands, for `restore` in a later run."""
        if self._file is not None:
            self._file.flush()
        size = self._file.tell() if self._file is not None else 0
        return {"count": self.count, "first": self.first, "bytes": size}

    def restore(self, state: dict[str, Any]) -> None:
        """Resume from there; what was written after it is cut off."""
        self.count, self.first = state["count"], state["first"]
        if self._path is not None and self._path.is_file() and state["bytes"]:
            self._file = self._path.open("r+b")
            self._file.truncate(state["bytes"])
            self._file.seek(0, 2)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _write(self, path: Path, number: int, why: str, text: str | bytes) -> None:
        if self._path is None:
            return
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("wb")
            self._file.write(_HEADER)
        start = text[:_TEXT_LIMIT]
        shown = start if isinstance(start, str) else start.decode(errors="backslashreplace")
        fields = (str(path), str(number), why, shown)
        line = "\t".join(field.translate(_FLAT) for field in fields) + "\n"
        self._file.write(line.encode(errors="backslashreplace"))
