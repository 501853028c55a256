"""The lines of a data file as bytes, so that a damaged one is named and the rest is still read."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from graphwalker.errors import UserError
from graphwalker.files import bounded_lines, json_fault, no_file


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
    """Lines of a plain file, for the progress bar; 0 where only reading it would show."""
    if path.suffix == ".gz" or not path.is_file():
        return 0
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


def parsed(line: bytes) -> dict[str, Any]:
    """The record of a line. Raises `ValueError` that says what is wrong with it."""
    try:
        record = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 text at byte {error.start + 1}") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON ({json_fault(error)})") from None
    if not isinstance(record, dict):
        raise ValueError("a record must be a JSON object")
    return cast(dict[str, Any], record)
