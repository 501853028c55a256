"""The ledger of a run: one append-only file of attempts, and the files published from it."""

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from data_pipeline.jobs.distinct import TextSet
from graphwalker.config import Config
from graphwalker.errors import UserError
from graphwalker.files import (
    JsonlAppender,
    bounded_lines,
    digest,
    dumps_bytes,
    read_jsonl,
    whole_bytes,
)
from graphwalker.policies.config import weights_checksum
from graphwalker.ranking.load import trained_ranker
from graphwalker.runs import ATTEMPTS, claim, lock_folder, mend_config, stored_facts
from graphwalker.tools.own import tool_digests
from graphwalker.trajectory import Trajectory

FIELD = "digest"
_SEAL = re.compile(rb',"digest":"([0-9a-f]{16})"\}$')


def seal(record: Mapping[str, Any]) -> bytes:
    """Return the record as a line, its digest the last field; one that it had is made again.

    >>> seal({"id": "2I/3"})
    b'{"id":"2I/3","digest":"1a0fc414fe8c259b"}'
    """
    if FIELD in record:
        record = {key: value for key, value in record.items() if key != FIELD}
    line = dumps_bytes(record)
    return b'%b,"%b":"%b"}' % (line[:-1], FIELD.encode(), _digest(line).encode())


def is_intact(line: bytes, record: Mapping[str, Any]) -> bool | None:
    """Return whether a line is as it was written; `None` for one without a digest. `record` is what
    it holds: a line that another program wrote again, with other blanks, is compared by that."""
    if found := _SEAL.search(line):
        if _digest(line[: found.start()] + b"}") == found[1].decode():
            return True
    elif FIELD not in record:
        return None
    return seal(record) == dumps_bytes(record)


def _digest(line: bytes) -> str:
    return blake2b(line, digest_size=8).hexdigest()


RUN, DROPPED = "run.json", "dropped.jsonl"
IRRELEVANT = ("workers", "engine", "ray_address", "force_environment", "trust")
"""Settings that do not change what is made."""
CONTENTS = {
    "against": "config.against",
    "phrases": "config.phrases_file",
    "predicates_file": "config.predicates_file",
    "ranker_digest": "config.environment.ranker",
    "seeds_file": "config.seeds_file",
    "tools": "config.environment.tools",
    "weights": "config.policy.model",
}
"""Facts that hold a content, and the setting that says where it lies: that may change."""

Unit = list[tuple[str, dict[str, Any]]]
"""The (file, record) pairs of one attempt, its ending last."""
JobProgress = Callable[[int, int, str], None]
"""Called with (done, total, label)."""


PUBLISH_S = 60.0
"""Seconds between two times that the files are published; more where that takes long."""
SHARE = 0.05
"""Most of a run's time that publishing may take."""


class Ledger:
    """Appends a line an attempt to `attempts.jsonl`, and publishes the files from it.

    The files are written whole, every minute and at the end, so that a reader never finds half a
    record. A line that a kill cut off is cut away, and its attempt is made again.
    """

    def __init__(self, out: Path, stage: str, files: Sequence[str]) -> None:
        """`files`: what is written of an attempt, the product last.

        Raises `UserError` for a folder whose files an earlier version wrote, and for attempts that
        were changed after they were written.
        """
        self.out, self.stage, self.product = out, stage, files[-1]
        self.files = (*files, DROPPED)
        _refuse_without_attempts(out, self.files)
        self._attempts = JsonlAppender(out / ATTEMPTS)
        self._published = False
        self._due = 0.0
        self.publish()

    def write(self, unit: Unit) -> None:
        lines = [[name, _with_digest(name, record)] for name, record in unit]
        self._attempts.append_bytes(seal({"unit": unit_of(unit[-1][1]), "records": lines}) + b"\n")
        self._published = False
        if time.monotonic() > self._due:
            self.publish()

    def records(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the records of a file, those of the last attempt included."""
        self.publish()
        return read_jsonl(self.out / name)

    def endings(self) -> Iterator[tuple[dict[str, Any], bool]]:
        """Yield the record that ended each attempt, and whether it was kept."""
        for name in (self.product, DROPPED):
            for record in self.records(name):
                yield record, name == self.product

    def close(self) -> None:
        """Publish what is there, and close."""
        self._attempts.close()
        self.publish()

    def publish(self) -> None:
        """Write the files whole, from the attempts so far."""
        if self._published:
            return
        started, products = time.monotonic(), TextSet()
        with ExitStack() as stack:
            outs = {name: stack.enter_context(whole_bytes(self.out / name)) for name in self.files}
            for unit in read_attempts(self.out):
                for name, record in unit:
                    if name == self.product and not products.add(str(record["id"])):
                        raise UserError(
                            f"{self.out / ATTEMPTS}: holds {record['id']} twice, as two processes "
                            "at once leave it; remove the folder, or choose another one"
                        )
                    outs[name].write(dumps_bytes(record) + b"\n")
        now = time.monotonic()
        self._published, self._due = True, now + max(PUBLISH_S, (now - started) / SHARE)


def read_attempts(folder: Path) -> Iterator[Unit]:
    """Yield the records of each attempt of a run, in order, its ending last.

    Raises `UserError` naming the line that is not as it was written.
    """
    path = folder / ATTEMPTS
    with path.open("rb") as lines:
        for number, line in enumerate(bounded_lines(lines, path), 1):
            if not line.endswith(b"\n"):  # a run under way is in the middle of it
                return
            try:
                attempt = json.loads(line)
            except ValueError:
                attempt = None
            if not isinstance(attempt, dict) or not is_intact(line[:-1], attempt):
                raise UserError(
                    f"{path}:{number}: was changed after it was written; put it back, or remove "
                    "the folder to start again"
                )
            yield [(str(name), record) for name, record in attempt["records"]]


def _with_digest(name: str, record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the record of a file with its digest as the last field; drops have none."""
    if name == DROPPED:
        return record
    bare = {key: value for key, value in record.items() if key != FIELD}
    return {**bare, FIELD: _digest(dumps_bytes(bare))}


def _refuse_without_attempts(out: Path, files: Sequence[str]) -> None:
    if (out / ATTEMPTS).is_file():
        return
    older = [name for name in files if (out / name).is_file() and (out / name).stat().st_size]
    if older:
        raise UserError(
            f"{out}: {older[0]} has no {ATTEMPTS} beside it, as in version 0.2.0: finish it "
            "with that version, or choose another --out"
        )


@contextmanager
def open_ledger(
    out: Path, stage: str, config: Config, facts: Mapping[str, Any], files: Sequence[str]
) -> Generator[Ledger, None, None]:
    """Open the ledger of a folder that no other process writes, made with these settings alone.
    A run that is refused before it has made anything leaves the folder to others.

    Raises `UserError` naming the process, or the setting that differs.
    """
    with lock_folder(out):
        about = {"stage": stage, **facts, **_digests(config, out / RUN), "config": config}
        places = {
            "against",
            "config.like",
            *(place for key, place in CONTENTS.items() if key in about),
        }
        is_new = claim(out, about, RUN, free=IRRELEVANT, places=places)
        mend_config(config, out, free=IRRELEVANT)
        ledger = Ledger(out, stage, files)
        try:
            yield ledger
        except UserError:
            ledger.close()
            if is_new and not (out / ATTEMPTS).stat().st_size:
                for name in (RUN, "config.yaml", ATTEMPTS, *ledger.files):
                    (out / name).unlink(missing_ok=True)
            raise
        finally:
            ledger.close()


def _digests(config: Any, run: Path) -> dict[str, str]:
    """Return what the files and models that a config names hold: others may lie there tomorrow.

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
    if environment and environment.tools:
        later["tools"] = json.dumps(tool_digests(environment.tools))
    return later | (trained_ranker(environment.ranker) if environment else {})


def record_of(trajectory: Trajectory, unit: str, rejected: Sequence[str] = ()) -> dict[str, Any]:
    """Return the record of a trajectory that trains, with `rejected`, the reasons of earlier tries.

    GraphSynth's and GraphRoll's have the same fields of the same types, so that `datasets` reads
    both together."""
    about = {"errors": [], **trajectory.provenance}
    record = replace(trajectory, provenance=about).to_json()
    return {**record, "unit": unit, "rejected": ", ".join(rejected)}


def unit_of(record: Mapping[str, Any]) -> str:
    """Return the attempt that a record belongs to: its `unit`, else its id."""
    return str(record.get("unit") or record["id"])


def count_reasons(records: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return how many drops there were for each `stage: reason`, most first."""
    counts = Counter(f"{r['stage']}: {r['reason']}" for r in records)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _json(line: bytes, path: Path) -> dict[str, Any]:
    try:
        return json.loads(line)
    except ValueError:
        raise UserError(f"{path}: damaged; remove the folder or choose another --out") from None
