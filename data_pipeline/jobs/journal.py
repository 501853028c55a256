"""The journal of a ledger: how long its files were after each attempt, and what they held."""

import json
import logging
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from graphwalker.errors import UserError
from graphwalker.files import JsonlAppender

NAME = ".journal"
CHUNK = 1 << 20

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Mark:
    """The length of a file and the CRC of what it holds up to there."""

    size: int = 0
    crc: int = 0

    def add(self, data: bytes) -> None:
        self.size += len(data)
        self.crc = zlib.crc32(data, self.crc)


class Journal:
    """Marks after every attempt, so that files are brought back to where they agreed.

    A machine that goes down leaves some files shorter than others; which records are missing
    cannot be read from the rest (a file of drops says nothing of those that it has lost). All files
    are cut back to the last attempt that all of them hold, and what came after it is made again.
    """

    def __init__(self, folder: Path, files: Sequence[str]) -> None:
        """A journal of the files' lines from here on; `restore` first where there is one."""
        self._path, self._files = folder / NAME, [folder / name for name in files]
        self._marks = {name: Mark() for name in files}
        self._out: JsonlAppender | None = None

    @property
    def exists(self) -> bool:
        """False for a new folder, and for one that was copied without its hidden files."""
        return self._path.is_file()

    def restore(self) -> None:
        """Cut the files back to the last marks that all reach. Raises `UserError` for a file that
        holds something else than was written."""
        JsonlAppender(self._path).close()  # cuts half a line
        rows = self._rows()
        fits = [i for i, row in enumerate(rows) if self._fits(row)]
        last = rows[fits[-1]] if fits else [0, 0] * len(self._files)
        self._check(rows[: fits[-1] + 1] if fits else [])
        if again := len(rows) - (fits[-1] + 1 if fits else 0):
            log.warning(
                "%s: files were cut off; the last %d attempts are made again",
                self._path.parent, again,
            )  # fmt: skip
        for file, size in zip(self._files, last[::2], strict=True):
            os.truncate(file, size)
        kept = "".join(json.dumps(row) + "\n" for row in rows[: len(rows) - again])
        if kept:
            os.truncate(self._path, len(kept))
        else:
            self._path.unlink()
        self._marks = {
            file.name: Mark(size, crc)
            for file, size, crc in zip(self._files, last[::2], last[1::2], strict=True)
        }

    def begin(self) -> None:
        """Open it; a new one begins with the files as they are."""
        fresh = not self.exists
        self._out = JsonlAppender(self._path)
        if fresh:
            for file in self._files:
                with file.open("rb") as data:
                    while chunk := data.read(CHUNK):
                        self._marks[file.name].add(chunk)
            self.write({})

    def write(self, lines: Mapping[str, bytes]) -> None:
        """Note the lines that an attempt has added to the files."""
        assert self._out is not None
        for name, line in lines.items():
            self._marks[name].add(line)
        flat = ", ".join([f"{mark.size}, {mark.crc}" for mark in self._marks.values()])
        self._out.append_line(f"[{flat}]")

    def close(self) -> None:
        if self._out is not None:
            self._out.close()

    def _rows(self) -> list[list[int]]:
        rows: list[list[int]] = []
        width = 2 * len(self._files)
        for line in self._path.read_bytes().splitlines():
            try:
                row = json.loads(line)
            except ValueError:
                break
            if not isinstance(row, list) or len(cast(list[int], row)) != width:
                break
            rows.append(cast(list[int], row))
        return rows

    def _fits(self, row: list[int]) -> bool:
        return all(f.stat().st_size >= n for f, n in zip(self._files, row[::2], strict=True))

    def _check(self, rows: list[list[int]]) -> None:
        """Each file against its marks, in one pass."""
        for place, file in enumerate(self._files):
            mark = Mark()
            with file.open("rb") as data:
                for row in rows:
                    size, crc = row[2 * place : 2 * place + 2]
                    mark.add(data.read(size - mark.size))
                    if mark.crc != crc:
                        raise UserError(
                            f"{file}: was changed in its first {size:,} bytes after it was "
                            "written; put it back, or remove the folder to start again"
                        )
