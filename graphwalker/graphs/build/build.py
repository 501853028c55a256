"""Compiling a graph: rows go into DuckDB, come back sorted, and are written as arrays."""

import glob
import json
import logging
import os
import shutil
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graphwalker.counts import number_of
from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction
from graphwalker.graphs.build.edges import write_listings, write_side
from graphwalker.graphs.build.nodes import write_nodes
from graphwalker.graphs.build.numbering import Numbering
from graphwalker.graphs.build.properties import write_properties
from graphwalker.graphs.build.review import review_counts, unfit_ids
from graphwalker.graphs.build.same import join_names, join_spellings, name_relations, name_texts
from graphwalker.graphs.format.layout import FILE_NAME, Layout, LayoutWriter, typecode
from graphwalker.graphs.format.texts import write_words
from graphwalker.graphs.intake.columns import TABLES, TableForm
from graphwalker.graphs.intake.databases.schema import read_tables
from graphwalker.graphs.intake.filters import Filters
from graphwalker.graphs.intake.foreign.recognise import convert
from graphwalker.graphs.intake.intake import MEMORY, Intake
from graphwalker.graphs.intake.ntriples import is_ntriples, scope_blank_nodes
from graphwalker.graphs.intake.rows import REJECT_LIMIT, Rejects, Source
from graphwalker.graphs.intake.sorter import LimitError, Sorter, size_of
from graphwalker.graphs.names import local_name, name_of_id
from graphwalker.runs import locked_file

log = logging.getLogger(__name__)

REJECTS_NAME = "rejects.tsv"
JOINED_NAME = "joined.tsv"
BUILD_NAME = "build.json"
RENAMED = "relations by their names"
"""Under which it holds the names that relations have instead of their ids."""
NO_FILTERS = Filters()


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
    join: bool = False,
) -> dict[str, Any]:
    """Compile files of triples into the folder `out`; returns the graph's `info` and the cost.

    Each file's format is recognised by its content (`intake.foreign.recognise`), compressed or not;
    property graphs, for which `open_graph` gives a `PropertyGraph`, may stand among `triples`, or
    in `property_files`. Without a
    names file and without names among the triples, an id that is not a Freebase MID names
    itself; with `names_from_ids` an entity without a name is called by the last part of its id,
    `Anna Weber` for `http://x.org/Anna_Weber`. `form` says which columns of CSV and TSV files are
    head, relation and tail where their headers do not, and what separates values. With `join`
    entities of several files that have one name and one type are one. Malformed lines
    are skipped, counted, and written to `rejects` (`out`/rejects.tsv); more than `max_malformed`
    stop the build. Nothing appears at `out` before it is whole.

    Large files are read by `workers` processes (by default one for each core, as many as the
    memory allows), small ones and the rest of the build by this one; the bytes are the same.

    Memory stays near `memory_limit`, temporary files below `disk_limit`. A build that was stopped
    starts again when it is called again. Raises `UserError` naming file and line for input that
    cannot be read.
    """
    started, say, out = time.perf_counter(), progress or log.info, Path(out)
    sources = _sources(triples, names, types, property_files, form)
    with locked_file(out), _workplace(out) as work:
        sources = scope_blank_nodes([convert(source, work) for source in sources])
        sources, read = read_tables(sources)
        properties = any(source.kind == "property" for source in sources)
        record = Rejects(rejects or work / REJECTS_NAME, max_malformed)
        with Sorter(work / "sort", memory_limit, disk_limit) as sorter:
            intake = Intake(sorter, filters, record, say, _readers(workers, memory_limit))
            intake.read(sources)
            if (dropped := intake.facts()["filtered"]) and not sorter.rows("fact"):
                raise UserError(
                    f"the filters drop all {number_of(dropped, 'triple')}: change --keep, --drop, "
                    "--predicates, --namespace, --language or --freebase"
                )
            warnings, ids_are_names = record.describe(), names is None and not names_from_ids
            if ids_are_names and not sorter.rows("name"):
                warnings += join_spellings(sorter)
            elif ids_are_names and len(sources) > 1 and any(map(_has_no_names, sources)):
                warnings += name_texts(sorter, len(sources))
            if len(sources) > 1:
                warnings += join_names(sorter, work / JOINED_NAME if join else None)
            files = [source.number for source in sources if source.kind == "names"]
            relation_names = name_relations(sorter, files) if files else {}
            compiler = _Compiler(sorter, work / "sections", say)
            warnings += unfit_ids(sorter, sources)
            unnamed = compiler.choose_names(names is None, names_from_ids)
            warnings += compiler.write(work / FILE_NAME, unnamed, properties)
        seconds = round(time.perf_counter() - started, 3)
        facts = {"filters": filters.facts(), **intake.facts(), "seconds": seconds}
        if relation_names:
            facts[RENAMED] = relation_names
        _publish(work, out, {"inputs": [str(s.shown) for s in sources], **facts})
    counted = {"malformed": record.count, "filtered": facts["filtered"], "seconds": seconds}
    if relation_names:
        counted[RENAMED] = len(relation_names)
    if read:
        counted["read"] = read
    if facts["divided"]:
        counted["fields of several values"] = facts["divided"]
    return {**Layout(out).info(), **counted, **({"warnings": warnings} if warnings else {})}


class _Compiler:
    """Writes the graph's file from the tables of `Intake`."""

    def __init__(self, sorter: Sorter, folder: Path, say: Callable[[str], None]) -> None:
        folder.mkdir()
        self._sorter, self._writer, self._say = sorter, LayoutWriter(folder), say
        numbering = Numbering(sorter)
        for what, step in numbering.steps():
            say(what)
            step()
        self._unwanted = numbering.count_unwanted()

    def choose_names(self, ids_are_names: bool, names_from_ids: bool) -> Callable[[str], str]:
        """Return what an entity without a name is called, by its id."""
        if names_from_ids:
            return local_name
        if not ids_are_names or self._sorter.rows("named"):
            return _nothing
        ids = "node WHERE id[1] <> '\"'"
        paths = self._sorter.scalar(f"SELECT count(*) FROM {ids} AND contains(id, '/')")
        if 2 * paths > self._sorter.rows(ids):
            self._say(
                "no names: entities are called by their whole ids; names=FILE gives names, and"
                " names_from_ids (--names-from-ids) takes the last part of each id"
            )
        return name_of_id

    def write(self, path: Path, unnamed: Callable[[str], str], properties: bool) -> list[str]:
        """Write the file, with `properties` also what a property graph has besides; returns what is
        to be said of the input."""
        sorter, writer, say = self._sorter, self._writer, self._say
        relations = sorter.strings("SELECT r FROM relation ORDER BY n")
        types = sorter.strings("SELECT type FROM type_number ORDER BY k")
        write_words(writer, "relation_ids", relations)
        write_words(writer, "type_ids", types)
        say("writing nodes")
        nodes = write_nodes(sorter, writer, unnamed, len(types))
        stated, triples = sorter.rows("edge"), 0
        for direction, (one, other) in zip(Direction, ("ht", "th"), strict=True):
            say(f"sorting edges, {direction.value}")
            first, end = nodes.rows.first, nodes.rows.end
            sorter.run(
                f"CREATE TABLE sorted AS SELECT {one}, r, {other} FROM edge"
                f" WHERE {one} < {first} OR {one} >= {end} ORDER BY {one}, r, {other}"
            )
            chunks = sorter.chunks("sorted", [one, "r", other])
            counts = write_side(
                writer, direction, chunks, nodes.is_cvt, nodes.rows, len(relations), stated
            )
            sorter.run("DROP TABLE sorted")
            if direction == Direction.OUT:
                triples = int(counts.sum())
                writer.write("relation_counts", typecode(stated), counts)
        say("listing hubs")
        write_listings(writer, nodes.is_cvt, relations)
        counts = {
            "nodes": len(nodes.is_cvt),
            "entities": nodes.named,
            "literals": nodes.literals,
            "triples": triples,
            "relations": len(relations),
            "types": len(types),
        }
        if properties:
            say("writing properties")
            counts |= write_properties(sorter, writer, nodes.rows, len(relations))
        say("writing the file")
        writer.finish(path, counts)
        more = {"long_texts": nodes.long_texts, "stated": stated, "unwanted": self._unwanted}
        return list(review_counts(counts | more, relations))


def _nothing(_: str) -> str:
    """Return what an entity without a name is called in a graph that has names."""
    return ""


def _has_no_names(source: Source) -> bool:
    """Return whether a file can give no names beside its ids."""
    plain = source.kind == "triples" and source.table is None
    return plain and (source.is_json or not is_ntriples(source.path))


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


@contextmanager
def _workplace(out: Path) -> Generator[Path, None, None]:
    """Make an empty folder beside `out` for the build; what a killed one left is removed."""
    if out.exists() and not out.is_dir():
        raise UserError(f"{out}: is a file; give a folder for the graph")
    work = out.with_name(f".{out.name}.building-{os.getpid()}")
    try:
        for old in out.parent.glob(f".{glob.escape(out.name)}.building-*"):
            shutil.rmtree(old, ignore_errors=True)
        work.mkdir(parents=True)
        yield work
    except LimitError as error:
        raise LimitError(f"{error}; the graph was not built") from None
    except OSError as error:
        where = error.filename or out
        raise LimitError(f"{where}: {error.strerror or error}; the graph was not built") from None
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _publish(work: Path, out: Path, facts: dict[str, Any]) -> None:
    """Move what was built to its place, the graph itself last, so that it is never half there."""
    text = json.dumps(facts, indent=2, ensure_ascii=False)
    (work / BUILD_NAME).write_text(text + "\n", encoding="utf-8")
    is_new = not out.exists()
    try:
        out.mkdir(exist_ok=True)
        for name in (REJECTS_NAME, JOINED_NAME):
            (out / name).unlink(missing_ok=True)
        for name in (REJECTS_NAME, JOINED_NAME, BUILD_NAME, FILE_NAME):
            if (work / name).is_file():
                (work / name).replace(out / name)
    except OSError:
        if is_new:
            shutil.rmtree(out, ignore_errors=True)
        raise


__all__ = ["Filters", "LimitError", "build_graph"]
