"""JSONL files: read with the line named on error, append safely, resume after a kill."""

import gzip
import json
import os
from collections.abc import Callable, Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TypeVar, cast

from graphwalker.errors import UserError

T = TypeVar("T")


def dumps(record: Any) -> str:
    """One line of JSON, the same bytes for the same record."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def read_jsonl(path: Path | str) -> Iterator[dict[str, Any]]:
    """Records of a `.jsonl` or `.jsonl.gz` file. Raises `UserError` naming file and line."""
    path = Path(path)
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    try:
        with _open_text(path) as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield _parse(line, path, number)
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 text ({error.reason})") from None
    except (gzip.BadGzipFile, EOFError) as error:
        raise UserError(f"{path}: damaged gzip file ({error})") from None


def read_records(path: Path | str, parse: Callable[[dict[str, Any]], T]) -> Iterator[T]:
    """Records parsed by `parse`; its `UserError` is given the file and record number."""
    for number, record in enumerate(read_jsonl(path), start=1):
        try:
            yield parse(record)
        except UserError as error:
            raise UserError(f"{path}: record {number}: {error}") from None


def write_jsonl(path: Path | str, records: Iterator[dict[str, Any]] | list[dict[str, Any]]) -> int:
    """Write a whole file atomically (a temporary file, then a rename); returns the record count."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    count = 0
    with partial.open("w", encoding="utf-8") as out:
        for record in records:
            out.write(dumps(record) + "\n")
            count += 1
        out.flush()
        os.fsync(out.fileno())
    partial.replace(path)
    return count


class JsonlAppender:
    """Appends whole lines; on opening, a half-written last line (a killed job) is cut away."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        _cut_partial_line(self.path)
        self._out = self.path.open("a", encoding="utf-8")

    def append(self, record: dict[str, Any]) -> None:
        self._out.write(dumps(record) + "\n")
        self._out.flush()

    def close(self) -> None:
        self._out.close()

    def __enter__(self) -> "JsonlAppender":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _cut_partial_line(path: Path) -> None:
    if not path.exists():
        return
    with path.open("rb+") as file:
        end = file.seek(0, os.SEEK_END)
        position = end
        while position > 0:
            step = min(1 << 16, position)
            file.seek(position - step)
            newline = file.read(step).rfind(b"\n")
            if newline >= 0:
                file.truncate(position - step + newline + 1)
                return
            position -= step
        file.truncate(0)


def _open_text(path: Path) -> TextIOWrapper:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8")  # type: ignore[return-value]
    return path.open(encoding="utf-8")


def _parse(line: str, path: Path, number: int) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise UserError(
            f"{path}:{number}: not JSON ({error.msg} at column {error.colno})"
        ) from None
    if not isinstance(record, dict):
        raise UserError(f"{path}:{number}: a record must be a JSON object")
    return cast(dict[str, Any], record)
