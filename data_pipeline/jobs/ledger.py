"""The ledger of a stage's folder: what is finished, appended in order, resumable after a kill."""

import json
import os
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from data_pipeline.jobs.digests import seal_bytes
from data_pipeline.jobs.distinct import TextSet
from data_pipeline.jobs.journal import NAME as JOURNAL
from data_pipeline.jobs.journal import Journal
from graphwalker.config import Config
from graphwalker.errors import UserError
from graphwalker.files import JsonlAppender, digest, dumps_bytes, read_jsonl
from graphwalker.policies.config import weights_checksum
from graphwalker.ranking.load import trained_ranker
from graphwalker.runs import claim, lock_folder, mend_config, stored_facts
from graphwalker.trajectory import Trajectory

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
            line = dumps_bytes(record) if name == DROPPED else seal_bytes(record)
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
