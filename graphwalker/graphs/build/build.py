"""Compiling a graph: rows go into DuckDB, come back sorted, and are written as arrays."""

import json
import logging
import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from graphwalker.errors import UserError
from graphwalker.graphs.build.compiler import Compiler
from graphwalker.graphs.build.foreign import refuse_foreign
from graphwalker.graphs.format.layout import FILE_NAME, Layout
from graphwalker.graphs.intake.filters import Filters
from graphwalker.graphs.intake.intake import Intake
from graphwalker.graphs.intake.parallel import MEMORY
from graphwalker.graphs.intake.phases import LimitError, Phases, plan, workplace
from graphwalker.graphs.intake.rejects import REJECT_LIMIT, Rejects
from graphwalker.graphs.intake.rows import Source
from graphwalker.graphs.intake.sorter import Sorter, size_of
from graphwalker.graphs.intake.tables.columns import TABLES, TableForm
from graphwalker.runs import locked_file

log = logging.getLogger(__name__)

REJECTS_NAME = "rejects.tsv"
BUILD_NAME = "build.json"
NO_FILTERS = Filters()
RESUMABLE_BYTES = 16 << 20
"""Builds of less input start anew after a kill: they take seconds."""


def build_graph(
    triples: Sequence[Path],
    out: Path,
    names: Path | Sequence[Path] | None = None,
    types: Path | Sequence[Path] | None = None,
    memory_limit: str = "2GB",
    progress: Callable[[str], None] | None = None,
    *,
    filters: Filters = NO_FILTERS,
    max_malformed: int = REJECT_LIMIT,
    rejects: Path | None = None,
    disk_limit: str | None = None,
    property_files: Sequence[Path] = (),
    workers: int | None = None,
    names_from_ids: bool = False,
    form: TableForm = TABLES,
) -> dict[str, Any]:
    """Compile files of triples into the folder `out`; returns the graph's `info` and the cost.

    Reads TSV and N-Triples (Freebase dumps included), plain or .gz, and property graphs as JSON
    lines or CSV (`property_files`), for which `open_graph` gives a `PropertyGraph`. Without a
    names file and without names among the triples, an id that is not a Freebase MID names
    itself; with `names_from_ids` an entity without a name is called by the last part of its id,
    `Anna Weber` for `http://x.org/Anna_Weber`. `form` says which columns of CSV and TSV files are
    head, relation and tail where their headers do not, and what separates values. Malformed lines
    are skipped, counted, and written to `rejects` (`out`/rejects.tsv); more than `max_malformed`
    stop the build. Nothing appears at `out` before it is whole.

    Large files are read by `workers` processes (by default one for each core, as many as the
    memory allows), small ones and the rest of the build by this one; the bytes are the same.

    Memory stays near `memory_limit`, temporary files below `disk_limit`. A build that was
    killed, or that ran out of disk, resumes where it was when it is called again with the same
    input. Raises `UserError` naming file and line for input that cannot be read.
    """
    started, say, out = time.perf_counter(), progress or log.info, Path(out)
    sources = _sources(triples, names, types, property_files, form)
    settings = {"filters": asdict(filters), "max_malformed": max_malformed}
    settings |= {"names_from_ids": True} if names_from_ids else {}
    settings |= {"form": asdict(form)} if form != TABLES else {}
    with locked_file(out), workplace(out, plan([s.path for s in sources], settings)) as work:
        kept = sum(s.path.stat().st_size for s in sources if s.path.is_file()) >= RESUMABLE_BYTES
        phases = Phases(work, kept)
        if phases.started:
            say("resuming the build that was stopped")
        record = Rejects(rejects or work / REJECTS_NAME, max_malformed)
        with Sorter(work / "sort", memory_limit, disk_limit, kept) as sorter:
            intake = Intake(sorter, phases, filters, record, say, _readers(workers, memory_limit))
            intake.read(sources)
            compiler = Compiler(sorter, phases, say)
            compiler.write(work / FILE_NAME, names is None, bool(property_files), names_from_ids)
        seconds = round(time.perf_counter() - started, 3)
        facts = {"filters": filters.facts(), **intake.facts(), "seconds": seconds}
        _publish(work, out, {"inputs": [str(s.path) for s in sources], **facts})
    counted = {"malformed": record.count, "filtered": facts["filtered"], "seconds": seconds}
    if facts["divided"]:
        counted["fields of several values"] = facts["divided"]
    return {**Layout(out).info(), **counted}


def _readers(workers: int | None, memory_limit: str) -> int:
    """Processes that read, beside the one that stores."""
    most = size_of("memory_limit", memory_limit) // MEMORY
    return max(1, min(workers or len(os.sched_getaffinity(0)), most))


def _sources(
    triples: Sequence[Path],
    names: Path | Sequence[Path] | None,
    types: Path | Sequence[Path] | None,
    property_files: Sequence[Path],
    form: TableForm,
) -> list[Source]:
    if not triples and not property_files:
        raise UserError("no file of triples given")
    kinds = (
        ("names", _several(names)),
        ("types", _several(types)),
        ("property", property_files),
        ("triples", triples),
    )
    files = [(Path(path), kind) for kind, paths in kinds for path in paths]
    for path, _ in files:
        refuse_foreign(path)
    return [Source(path, kind, number, form) for number, (path, kind) in enumerate(files)]


def _several(paths: Path | Sequence[Path] | None) -> Sequence[Path]:
    return [] if paths is None else [paths] if isinstance(paths, str | Path) else paths


def _publish(work: Path, out: Path, facts: dict[str, Any]) -> None:
    """Move what was built to its place, the graph itself last, so that it is never half there."""
    text = json.dumps(facts, indent=2, ensure_ascii=False)
    (work / BUILD_NAME).write_text(text + "\n", encoding="utf-8")
    is_new = not out.exists()
    try:
        out.mkdir(exist_ok=True)
        (out / REJECTS_NAME).unlink(missing_ok=True)
        for name in (REJECTS_NAME, BUILD_NAME, FILE_NAME):
            if (work / name).is_file():
                (work / name).replace(out / name)
    except OSError:
        if is_new:
            shutil.rmtree(out, ignore_errors=True)
        raise


__all__ = ["Filters", "LimitError", "build_graph"]
