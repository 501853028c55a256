"""Shards of an evaluation: a job array shares the questions out, one command joins what it made."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from eval.run.records import CONFIG, USAGE
from graphwalker.files import JsonlAppender, read_jsonl, write_json
from graphwalker.jobs.shard import FOLDER, shard_folders
from graphwalker.runs import claim

COMPLETE = "complete.json"
"""In a shard's folder once none of its episodes is missing."""


def has_shards(out: Path) -> bool:
    """Whether an array has begun this run."""
    return any((out / FOLDER).glob("*-of-*"))


def mark_complete(folder: Path, questions: int) -> None:
    """Say that the shard is whole. Its questions may be none, where there are more shards."""
    write_json(folder / COMPLETE, {"questions": questions})


def adopt(out: Path, facts: Mapping[str, Any], names: Sequence[str]) -> None:
    """Take over the records of the shards below `out` that are not there yet.

    `facts` are those of the whole run, `names` its files of records. Raises `UserError` naming
    shards that are missing, unfinished, or made with other settings.
    """
    folders = shard_folders(out, COMPLETE)
    for number, folder in enumerate(folders):
        claim(folder, {**facts, "shard": f"{number}/{len(folders)}"}, CONFIG)
    for name in names:
        _copy(out / name, [folder / name for folder in folders])
    if not (out / USAGE).is_file():
        _copy(out / USAGE, [folder / USAGE for folder in folders])


def _copy(path: Path, sources: Sequence[Path]) -> None:
    with JsonlAppender(path) as lines:
        there = {str(record.get("id")) for record in read_jsonl(path)}
        for line, record in _lines(sources):
            if str(record.get("id")) not in there:
                lines.append_line(line)


def _lines(sources: Sequence[Path]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Line by line, the shards in turn: nearly the order of the questions."""
    open_files = [path.open(encoding="utf-8") for path in sources if path.is_file()]
    try:
        while open_files:
            for file in list(open_files):
                if line := file.readline():
                    yield line.rstrip("\n"), json.loads(line)
                else:
                    file.close()
                    open_files.remove(file)
    finally:
        for file in open_files:
            file.close()
