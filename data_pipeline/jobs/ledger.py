"""The ledger of a stage's folder: what is finished, appended in order, resumable after a kill."""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from data_pipeline.jobs.seen import Seen
from graphwalker.config import Config, write_config
from graphwalker.errors import UserError
from graphwalker.files import JsonlAppender, read_jsonl

RUN = "run.json"
IRRELEVANT = ("workers", "engine")
"""Settings that do not change what is made."""


class Ledger:
    """Appends the records of one unit of work to several files, the ending one last.

    A unit counts once its ending record stands: a file of `endings` holds it (what was made, or why
    it was dropped). On opening, records of a unit in flight are cut away from the other files.
    """

    def __init__(self, out: Path, files: Sequence[str], endings: Sequence[str]) -> None:
        self.out = out
        self.endings = tuple(endings)
        self._appenders = {name: JsonlAppender(out / name) for name in (*files, *endings)}
        self.finished = Seen()
        for name in endings:
            for record in read_jsonl(out / name):
                self.finished.add(unit_of(record))
        for name in files:
            self._trim(name)

    def write(self, unit: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        """Append (file, record) pairs; the last one must be the ending."""
        for name, record in unit:
            self._appenders[name].append(dict(record))

    def records(self, name: str) -> Iterator[dict[str, Any]]:
        return read_jsonl(self.out / name)

    def close(self) -> None:
        for appender in self._appenders.values():
            appender.close()

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _trim(self, name: str) -> None:
        path, kept = self.out / name, 0
        with path.open("rb") as lines:
            for line in lines:
                if unit_of(_json(line, path)) not in self.finished:
                    break
                kept += len(line)
        if kept < path.stat().st_size:
            os.truncate(path, kept)


def unit_of(record: Mapping[str, Any]) -> str:
    """The unit of work that a record belongs to: its `unit`, else its id."""
    return str(record.get("unit") or record["id"])


def open_run(
    out: Path, stage: str, config: Config, graph: Mapping[str, Any], more: Mapping[str, Any] = {}
) -> None:
    """Write what a folder is made from, or check that it was made from the same.

    Raises `UserError` naming the first setting that differs: two runs never share a folder.
    """
    settings = config.model_dump(mode="json", exclude=set(IRRELEVANT))
    wanted = {"stage": stage, "graph": dict(graph), **more, "config": settings}
    wanted = json.loads(json.dumps(wanted))
    path = out / RUN
    if not path.is_file() and any(out.glob("*.jsonl")):
        raise UserError(f"{out} holds files of another making: choose another --out")
    if not path.is_file():
        write_config(config, out)
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(wanted, indent=1) + "\n", encoding="utf-8")
        partial.replace(path)
        return
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise UserError(f"{path}: damaged; remove the folder or choose another --out") from None
    difference = _difference(found, wanted)
    if difference:
        raise UserError(
            f"{out} was made with another {difference}: "
            "choose another --out, or remove the folder to start again"
        )


def file_checksum(path: Path) -> str:
    """Tells one source file from another, wherever it lies. Raises `UserError` for none."""
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()[:16]


def _difference(found: Any, wanted: Any, key: str = "") -> str:
    """The first dotted key under which two trees differ, with both values; `""` when equal."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        for name in dict.fromkeys((*wanted, *found)):
            part = f"{key}.{name}" if key else str(name)
            inner = _difference(found.get(name), wanted.get(name), part)
            if inner:
                return inner
        return ""
    if found == wanted:
        return ""
    return f"{key.removeprefix('config.')} ({found!r} there, {wanted!r} now)"


def _json(line: bytes, path: Path) -> dict[str, Any]:
    try:
        return json.loads(line)
    except ValueError:
        raise UserError(f"{path}: damaged; remove the folder or choose another --out") from None


def count_reasons(records: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How many drops there were for each `stage: reason`, most first."""
    counts = Counter(f"{r['stage']}: {r['reason']}" for r in records)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


Progress = Callable[[int, int, str], None]
"""Called with (done, total, label)."""
