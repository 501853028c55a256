"""The ledger of a stage's folder: what is finished, appended in order, sealed by digests, resumable
after a kill."""

import json
import logging
import os
import re
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, cast

from data_pipeline.jobs.distinct import TextSet
from graphwalker.config import Config
from graphwalker.errors import UserError
from graphwalker.files import JsonlAppender, digest, dumps_bytes, read_jsonl
from graphwalker.policies.config import weights_checksum
from graphwalker.ranking.load import trained_ranker
from graphwalker.runs import claim, lock_folder, mend_config, stored_facts
from graphwalker.trajectory import Trajectory

FIELD = "digest"
_SEAL = re.compile(rb',"digest":"([0-9a-f]{16})"\}$')


def seal(record: Mapping[str, Any]) -> bytes:
    """The record as a line, its digest the last field; one that it had is made again.

    >>> seal({"id": "2I/3"})
    b'{"id":"2I/3","digest":"1a0fc414fe8c259b"}'
    """
    if FIELD in record:
        record = {key: value for key, value in record.items() if key != FIELD}
    line = dumps_bytes(record)
    return b'%b,"%b":"%b"}' % (line[:-1], FIELD.encode(), _digest(line).encode())


def is_intact(line: bytes, record: Mapping[str, Any]) -> bool | None:
    """Whether a line is as it was written; `None` for one without a digest. `record` is what it
    holds: a line that another program wrote again, with other blanks, is compared by that."""
    if found := _SEAL.search(line):
        if _digest(line[: found.start()] + b"}") == found[1].decode():
            return True
    elif FIELD not in record:
        return None
    return seal(record) == dumps_bytes(record)


def _digest(line: bytes) -> str:
    return blake2b(line, digest_size=8).hexdigest()


JOURNAL = ".journal"
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
        self._path, self._files = folder / JOURNAL, [folder / name for name in files]
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


RUN, DROPPED = "run.json", "dropped.jsonl"
IRRELEVANT = ("workers", "engine", "ray_address", "force_environment", "trust")
"""Settings that do not change what is made."""
CONTENTS = {
    "against": "config.against",
    "phrases": "config.phrases_file",
    "predicates_file": "config.predicates_file",
    "ranker_digest": "config.environment.ranker",
    "seeds_file": "config.seeds_file",
    "weights": "config.policy.model",
}
"""Facts that hold a content, and the setting that says where it lies: that may change."""

Unit = list[tuple[str, dict[str, Any]]]
"""The (file, record) pairs of one attempt, its ending last."""
JobProgress = Callable[[int, int, str], None]
"""Called with (done, total, label)."""


class Ledger:
    """Appends the records of one attempt to several files, the one that ends it last.

    An attempt counts once the journal says how far it brought each file. On opening, records of an
    attempt in flight are cut away, and so is what other files lost in a crash.
    """

    def __init__(self, out: Path, stage: str, files: Sequence[str]) -> None:
        """`files`: what is written of an attempt, the product last."""
        self.out, self.stage, self.product = out, stage, files[-1]
        self.files = (*files, DROPPED)
        self._appenders = {name: JsonlAppender(out / name) for name in self.files}
        finished, products = TextSet(), TextSet()
        for record, kept in self.endings():
            finished.add(unit_of(record))
            if kept and not products.add(str(record["id"])):
                raise UserError(
                    f"{out / self.product}: holds {record['id']} twice, as two processes at once "
                    "leave it; remove the folder, or choose another one"
                )
        self._journal = Journal(out, self.files)
        if self._journal.exists:
            self._journal.restore()
        else:  # a new folder, or one that was copied without its hidden files
            for name in files[:-1]:
                self._trim(name, finished)
        self._journal.begin()

    def write(self, unit: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        added: dict[str, bytes] = {}
        for name, record in unit:
            line = dumps_bytes(record) if name == DROPPED else seal(record)
            line += b"\n"
            self._appenders[name].append_bytes(line)
            added[name] = added[name] + line if name in added else line
        self._journal.write(added)

    def records(self, name: str) -> Iterator[dict[str, Any]]:
        return read_jsonl(self.out / name)

    def endings(self) -> Iterator[tuple[dict[str, Any], bool]]:
        """The record that ended each attempt, and whether it was kept."""
        for name in (self.product, DROPPED):
            for record in self.records(name):
                yield record, name == self.product

    def close(self) -> None:
        for appender in self._appenders.values():
            appender.close()
        self._journal.close()

    def _trim(self, name: str, finished: TextSet) -> None:
        path, kept = self.out / name, 0
        with path.open("rb") as lines:
            for line in lines:
                if unit_of(_json(line, path)) not in finished:
                    break
                kept += len(line)
        if kept < path.stat().st_size:
            os.truncate(path, kept)


@contextmanager
def open_ledger(
    out: Path, stage: str, config: Config, facts: Mapping[str, Any], files: Sequence[str]
) -> Generator[Ledger, None, None]:
    """The ledger of a folder that no other process writes, made with these settings and no others.
    A run that is refused before it has made anything leaves the folder to others.

    Raises `UserError` naming the process, or the setting that differs.
    """
    with lock_folder(out):
        about = {"stage": stage, **facts, **_digests(config, out / RUN), "config": config}
        places = {"against", *(place for key, place in CONTENTS.items() if key in about)}
        is_new = claim(out, about, RUN, free=IRRELEVANT, places=places)
        mend_config(config, out, free=IRRELEVANT)
        ledger = Ledger(out, stage, files)
        try:
            yield ledger
        except UserError:
            ledger.close()
            if is_new and not any((out / name).stat().st_size for name in ledger.files):
                for name in (RUN, "config.yaml", JOURNAL, *ledger.files):
                    (out / name).unlink(missing_ok=True)
            raise
        finally:
            ledger.close()


def _digests(config: Any, run: Path) -> dict[str, str]:
    """What the files and models that a config names hold: others may lie there tomorrow.

    A folder that lacks some of them resumes without these.
    """
    environment, policy = getattr(config, "environment", None), getattr(config, "policy", None)
    named = ((key, getattr(config, key, "")) for key in ("seeds_file", "predicates_file"))
    later = {key: digest(file) for key, file in named if file}
    if policy and not policy.api and (weights := weights_checksum(policy.model)):
        later["weights"] = weights
    if run.is_file():
        stored = stored_facts(run)
        later = {key: value for key, value in later.items() if key in stored}
    return later | (trained_ranker(environment.ranker) if environment else {})


def record_of(trajectory: Trajectory, unit: str, rejected: Sequence[str] = ()) -> dict[str, Any]:
    """The record of a trajectory that trains, `rejected` being the reasons of the tries before it.

    GraphSynth's and GraphRoll's have the same fields of the same types, so that `datasets` reads
    both together."""
    about = {"errors": [], **trajectory.provenance}
    record = replace(trajectory, provenance=about).to_json()
    return {**record, "unit": unit, "rejected": ", ".join(rejected)}


def unit_of(record: Mapping[str, Any]) -> str:
    """The attempt that a record belongs to: its `unit`, else its id."""
    return str(record.get("unit") or record["id"])


def count_reasons(records: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How many drops there were for each `stage: reason`, most first."""
    counts = Counter(f"{r['stage']}: {r['reason']}" for r in records)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _json(line: bytes, path: Path) -> dict[str, Any]:
    try:
        return json.loads(line)
    except ValueError:
        raise UserError(f"{path}: damaged; remove the folder or choose another --out") from None
