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

import numpy as np

from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction
from graphwalker.graphs.build.edges import write_side
from graphwalker.graphs.build.listings import write_listings
from graphwalker.graphs.build.nodes import Strings, write_nodes
from graphwalker.graphs.build.numbering import Numbering
from graphwalker.graphs.build.properties import write_properties
from graphwalker.graphs.build.review import LONG_TEXT, review_counts
from graphwalker.graphs.format.layout import FILE_NAME, Layout, LayoutWriter, typecode
from graphwalker.graphs.format.offsets import StartsWriter, write_ints
from graphwalker.graphs.format.sides import Rows
from graphwalker.graphs.intake.columns import TABLES, TableForm
from graphwalker.graphs.intake.filters import Filters
from graphwalker.graphs.intake.foreign.recognise import convert
from graphwalker.graphs.intake.intake import MEMORY, Intake
from graphwalker.graphs.intake.phases import LimitError, Phases, plan, workplace
from graphwalker.graphs.intake.rows import REJECT_LIMIT, Rejects, Source
from graphwalker.graphs.intake.sorter import Sorter, size_of
from graphwalker.graphs.names import local_name, names_nothing
from graphwalker.runs import locked_file


class Compiler:
    """Takes the tables of `Intake`; each phase that is done is not done again."""

    def __init__(self, sorter: Sorter, phases: Phases, say: Callable[[str], None]) -> None:
        self._sorter, self._phases, self._say = sorter, phases, say
        self._folder = phases.folder / "sections"
        self._folder.mkdir(exist_ok=True)
        self._writer = LayoutWriter(self._folder)
        self._writer.adopt(phases.get("sections", {}))

    def write(
        self,
        path: Path,
        ids_are_names: bool,
        properties: bool = False,
        names_from_ids: bool = False,
    ) -> list[str]:
        """Write the graph's file, with `properties` also what a property graph has besides; returns
        what is to be said of the input."""
        unnamed = local_name if names_from_ids else itself if ids_are_names else nothing
        numbered: dict[str, int] = {}
        for number, (what, step) in enumerate(Numbering(self._sorter).steps()):
            numbered = self._phase(f"number-{number}", what, step)
        nodes = self._phase("nodes", "writing names", lambda: self._write_nodes(unnamed))
        lists = self._phase("lists", "writing types", lambda: self._write_lists(nodes))
        out = self._phase("out", "sorting edges", lambda: self._write_out(nodes, lists))
        self._phase("in", "sorting edges backwards", lambda: self._write_in(nodes, lists))
        self._phase("listings", "listing hubs", self._write_listings)
        more: dict[str, int] = {}
        if properties:
            more = self._phase(
                "properties",
                "writing properties",
                lambda: write_properties(self._sorter, self._writer, nodes, lists["relations"]),
            )
        self._say("writing the file")
        counts = {
            "nodes": nodes["nodes"],
            "entities": nodes["named"],
            "literals": nodes["literals"],
            "triples": out["edges"],
            "relations": lists["relations"],
            "types": lists["types"],
            **more,
        }
        self._writer.finish(path, counts)
        counts |= {"long_texts": nodes["long_texts"], "stated": out["stated"]}
        relations = self._sorter.strings("SELECT r FROM relation ORDER BY n")
        return list(review_counts(counts | numbered, relations))

    def _phase(
        self, name: str, what: str, work: Callable[[], dict[str, int] | None]
    ) -> dict[str, int]:
        found = self._phases.notes_of(name)
        if found is not None:
            return found
        self._say(what)
        noted = work() or dict[str, int]()
        self._phases.put(sections=self._writer.close_sections())
        self._phases.finish(name, noted)
        return noted

    def _write_nodes(self, unnamed: Callable[[str], str]) -> dict[str, int]:
        if unnamed is itself and self._sorter.rows("name"):
            unnamed = nothing
        if unnamed is itself and self._ids_are_paths():
            self._say(
                "no names: entities are called by their whole ids; names=FILE gives names, and"
                " names_from_ids (--names-from-ids) takes the last part of each id"
            )
        nodes = write_nodes(self._sorter, self._writer, unnamed)
        return {
            "nodes": len(nodes.is_cvt),
            "named": nodes.named,
            "literals": nodes.literals,
            "first_literal": nodes.first_literal,
            "long_texts": self._sorter.scalar(
                f"SELECT count(*) FROM label WHERE id[1] = '\"' AND length(id) > {LONG_TEXT}"
            ),
        }

    def _ids_are_paths(self) -> bool:
        ids = "label WHERE id[1] <> '\"'"
        paths = self._sorter.scalar(f"SELECT count(*) FROM {ids} AND contains(id, '/')")
        return 2 * paths > self._sorter.rows(ids)

    def _write_lists(self, nodes: dict[str, int]) -> dict[str, int]:
        types = self._write_list("type_id", "SELECT DISTINCT type FROM typed ORDER BY type")
        self._write_types(_rows(nodes), nodes["nodes"], types)
        relations = self._write_list("relation_id", "SELECT r FROM relation ORDER BY n")
        return {"types": types, "relations": relations}

    def _write_list(self, name: str, sql: str) -> int:
        strings = [text.encode() for text in self._sorter.strings(sql)]
        written = Strings(self._writer, name, sum(map(len, strings)))
        written.write(strings)
        written.close()
        return len(strings)

    def _write_types(self, rows: Rows, nodes: int, types: int) -> None:
        sorter = self._sorter
        most = sorter.rows("typed")
        starts = StartsWriter(self._writer, "type_starts", nodes - rows.gap, most)
        items = self._writer.section("type_items", typecode(types))
        sorter.run(
            "CREATE OR REPLACE TABLE type_number AS SELECT typed.n, numbered.k FROM typed"
            " JOIN (SELECT type, (row_number() OVER (ORDER BY type) - 1)::UINTEGER k"
            " FROM (SELECT DISTINCT type FROM typed)) numbered USING (type)"
            " ORDER BY typed.n, numbered.k"
        )
        for node, kind in sorter.chunks("type_number", ["n", "k"]):
            starts.add(rows.of(node.astype(np.int64)))
            write_ints(items, kind)
        starts.close()
        sorter.run("DROP TABLE type_number")

    def _write_out(self, nodes: dict[str, int], lists: dict[str, int]) -> dict[str, int]:
        sorter, most = self._sorter, self._sorter.rows("edge")
        sorter.run("CREATE OR REPLACE TABLE out_edge AS SELECT h, r, t FROM edge ORDER BY h, r, t")
        chunks = sorter.chunks("out_edge", ["h", "r", "t"])
        side = write_side(
            self._writer,
            Direction.OUT,
            chunks,
            self._is_cvt(),
            lists["relations"],
            most,
            _rows(nodes),
        )
        write_ints(self._writer.section("relation_counts", typecode(most)), side.relation_counts)
        sorter.run("DROP TABLE out_edge")
        return {"edges": side.edges, "stated": most}

    def _write_in(self, nodes: dict[str, int], lists: dict[str, int]) -> None:
        sorter, most = self._sorter, self._sorter.rows("edge")
        literals = _rows(nodes)
        sorter.run(
            "CREATE OR REPLACE TABLE in_edge AS SELECT t, r, h FROM edge"
            f" WHERE t < {literals.first} OR t >= {literals.end} ORDER BY t, r, h"
        )
        chunks = sorter.chunks("in_edge", ["t", "r", "h"])
        cvts, rows = self._is_cvt(), _rows(nodes)
        write_side(self._writer, Direction.IN, chunks, cvts, lists["relations"], most, rows)
        sorter.run("DROP TABLE in_edge")

    def _write_listings(self) -> dict[str, int]:
        relations = self._sorter.strings("SELECT r FROM relation ORDER BY n")
        return write_listings(
            self._writer, self._writer.closed_sections(), self._is_cvt(), relations
        )

    def _is_cvt(self) -> Any:
        return np.fromfile(self._folder / "is_cvt.section", dtype=bool)


def _rows(nodes: dict[str, int]) -> Rows:
    return Rows(nodes["first_literal"], nodes["first_literal"] + nodes["literals"])


def itself(entity_id: str) -> str:
    """What an entity is called in a graph without names: its id, where that is no MID."""
    return "" if names_nothing(entity_id) else entity_id


def nothing(_: str) -> str:
    """What an entity without a name is called in a graph that has names."""
    return ""


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

    Each file's format is recognised by its content (`intake.foreign.recognise`), compressed or not;
    property graphs, for which `open_graph` gives a `PropertyGraph`, may stand among `triples`, or
    in `property_files`. Without a
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
        if phases.is_started:
            say("resuming the build that was stopped")
        sources = [convert(source, work) for source in sources]
        properties = any(source.kind == "property" for source in sources)
        record = Rejects(rejects or work / REJECTS_NAME, max_malformed)
        with Sorter(work / "sort", memory_limit, disk_limit, kept) as sorter:
            intake = Intake(sorter, phases, filters, record, say, _readers(workers, memory_limit))
            intake.read(sources)
            compiler = Compiler(sorter, phases, say)
            warnings = compiler.write(work / FILE_NAME, names is None, properties, names_from_ids)
        seconds = round(time.perf_counter() - started, 3)
        facts = {"filters": filters.facts(), **intake.facts(), "seconds": seconds}
        _publish(work, out, {"inputs": [str(s.shown) for s in sources], **facts})
    counted = {"malformed": record.count, "filtered": facts["filtered"], "seconds": seconds}
    if facts["divided"]:
        counted["fields of several values"] = facts["divided"]
    return {**Layout(out).info(), **counted, **({"warnings": warnings} if warnings else {})}


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
