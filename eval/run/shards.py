"""Shards of an evaluation: a job array shares the questions out, one command joins what it made."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from eval.run.records import CONFIG, FAILURES, PREDICTIONS, SAMPLES, USAGE
from graphwalker.datasets.base import load_questions
from graphwalker.errors import UserError
from graphwalker.files import JsonlAppender, read_json, read_jsonl, write_json
from graphwalker.runs import claim, lock_folder
from graphwalker.workers.shard import FOLDER, Shard, shard_folders

COMPLETE = "complete.json"
"""In a shard's folder once none of its episodes is missing."""


def has_shards(out: Path) -> bool:
    """Return whether an array has begun this run."""
    return any((out / FOLDER).glob(f"*-of-*/{CONFIG}"))


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


def merge_shards(out: Path, questions: Path | None = None) -> str:
    """Join what the shards below `out` have done, however far each came; a run that was resumed
    since keeps its records. Returns what is missing, `""` for a whole run, with the ids where the
    question file is given. Raises `UserError` for no shards, or shards of two runs."""
    begun = sorted((out / FOLDER).glob(f"*-of-*/{CONFIG}"))
    if not begun:
        raise UserError(f"{out / FOLDER}: no shard of an evaluation has begun here")
    facts = read_json(begun[0], "delete the folder")
    of, total = Shard.parse(facts.pop("shard")).of, int(facts["questions"])
    ids = [question.id for question in load_questions(questions)] if questions else []
    if ids and len(ids) != total:
        raise UserError(f"{questions} has {len(ids):,} questions, the shards of {out} {total:,}")
    shards = [Shard(number, of) for number in range(of)]
    with lock_folder(out):
        claim(out, facts, CONFIG, foreign=PREDICTIONS)
        for shard in shards:
            if (folder := shard.folder(out)) in [path.parent for path in begun]:
                claim(folder, {**facts, "shard": str(shard)}, CONFIG)
        (out / FAILURES).unlink(missing_ok=True)  # a later run may have scored them
        for name in (PREDICTIONS, SAMPLES, FAILURES, USAGE):
            _copy(out / name, [shard.folder(out) / name for shard in shards])
        done = {str(record["id"]) for record in read_jsonl(out / PREDICTIONS)}
    lost = [text for shard in shards if (text := _lost(shard, out, total, ids, done))]
    counted = f"{total - len(done):,} of {total:,} questions missing: " if lost else ""
    return counted + "; ".join(lost)


def _lost(shard: Shard, out: Path, total: int, ids: Sequence[str], done: set[str]) -> str:
    """Return what a shard has not done, in words."""
    mine = shard.part(range(total))
    if ids:
        lost = [ids[place] for place in mine if f"{ids[place]}#0" not in done]
        some = f" ({', '.join(lost[:5])}{', ...' if len(lost) > 5 else ''})" if lost else ""
        return f"shard {shard}: {len(lost)} of {len(mine)}{some}" if lost else ""
    path = shard.folder(out) / PREDICTIONS
    count = len(mine) - (sum(1 for _ in _lines([path])) if path.is_file() else 0)
    return f"shard {shard}: {count} of {len(mine)}" if count > 0 else ""


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
                if (line := file.readline()).endswith("\n"):  # a killed one may end in half a line
                    yield line.rstrip("\n"), json.loads(line)
                else:
                    file.close()
                    open_files.remove(file)
    finally:
        for file in open_files:
            file.close()
