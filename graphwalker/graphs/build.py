"""Compiling a graph: rows go into DuckDB, come back sorted, and are written as arrays."""

import glob
import logging
import os
import platform
import shutil
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction
from graphwalker.graphs.compiled import open_graph
from graphwalker.graphs.edges import write_side
from graphwalker.graphs.layout import FILE_NAME, LayoutWriter, typecode
from graphwalker.graphs.nodes import Nodes, Strings, write_nodes
from graphwalker.graphs.offsets import StartsWriter, write_ints
from graphwalker.graphs.sorter import Sorter, string_sink
from graphwalker.graphs.sources import Faults, read_names, read_triples, read_types

log = logging.getLogger(__name__)


def build_graph(
    triples: Sequence[Path],
    out: Path,
    names: Path | None = None,
    types: Path | None = None,
    memory_limit: str = "2GB",
    progress: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Compile files of triples into the folder `out`; returns the graph's `info` and the cost.

    Reads TSV and N-Triples, plain or .gz. Without a names file and without names among the
    triples, an id that is not a Freebase MID names itself. Nothing appears at `out` before it is
    whole. Raises `UserError` naming file and line for input that cannot be read.
    """
    started, say = time.perf_counter(), progress or log.info
    out, faults = Path(out), Faults()
    with _workplace(out) as work:
        with Sorter(work / "sort", memory_limit) as sorter:
            _read(sorter, faults, list(map(Path, triples)), names, types, say)
            _Compiler(sorter, LayoutWriter(work), say).write(work / FILE_NAME, names is None)
        out.mkdir(exist_ok=True)
        (work / FILE_NAME).replace(out / FILE_NAME)
    seconds = round(time.perf_counter() - started, 3)
    return {**open_graph(out).info(), "malformed": faults.count, "seconds": seconds}


@contextmanager
def _workplace(out: Path) -> Generator[Path, None, None]:
    """A folder beside `out`, gone afterwards; what a killed build left there is swept away."""
    if out.exists() and not out.is_dir():
        raise UserError(f"{out}: is a file; give a folder for the graph")
    prefix = f".{out.name}.building-{platform.node()}-"
    work = out.with_name(f"{prefix}{os.getpid()}")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        for old in out.parent.glob(f"{glob.escape(prefix)}*"):
            if old == work or not _is_running(old.name.removeprefix(prefix)):
                shutil.rmtree(old, ignore_errors=True)
        work.mkdir()
        yield work
    except OSError as error:
        where = error.filename or out
        raise UserError(f"{where}: {error.strerror or error}; the graph was not built") from None
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _is_running(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:
        pass
    return True


def _read(
    sorter: Sorter,
    faults: Faults,
    triples: Sequence[Path],
    names: Path | None,
    types: Path | None,
    say: Callable[[str], None],
) -> None:
    if not triples:
        raise UserError("no file of triples given")
    sink = string_sink(sorter)
    if names is not None:
        say(f"reading {names}")
        read_names(Path(names), sink, faults)
    if types is not None:
        say(f"reading {types}")
        read_types(Path(types), sink, faults)
    for path in triples:
        say(f"reading {path}")
        read_triples(path, sink, faults)


class _Compiler:
    """Numbers the nodes, sorts the edges, writes the sections."""

    def __init__(self, sorter: Sorter, writer: LayoutWriter, say: Callable[[str], None]) -> None:
        self._sorter, self._writer, self._say = sorter, writer, say

    def write(self, path: Path, ids_are_names: bool) -> None:
        self._say("sorting nodes")
        _number(self._sorter)
        ids_are_names = ids_are_names and not self._sorter.rows("name")
        self._say("writing names")
        nodes = write_nodes(self._sorter, self._writer, ids_are_names)
        types = self._write_list("type_id", "SELECT DISTINCT type FROM typed ORDER BY type")
        self._write_types(len(nodes.is_cvt), types)
        relations = self._write_list("relation_id", "SELECT r FROM relation ORDER BY rowid")
        self._say("sorting edges")
        edges = self._write_edges(nodes, relations)
        counts = {
            "nodes": len(nodes.is_cvt),
            "entities": nodes.named,
            "literals": nodes.literals,
            "triples": edges,
            "relations": relations,
            "types": types,
        }
        self._writer.finish(path, counts)

    def _write_list(self, name: str, sql: str) -> int:
        strings = [text.encode() for text in self._sorter.strings(sql)]
        written = Strings(self._writer, name, sum(map(len, strings)))
        written.write(strings)
        written.close()
        return len(strings)

    def _write_types(self, nodes: int, types: int) -> None:
        sorter = self._sorter
        starts = StartsWriter(self._writer, "type_starts", nodes, sorter.rows("typed"))
        items = self._writer.section("type_items", typecode(types))
        sorter.run(
            "CREATE TABLE type_number AS SELECT typed.n, numbered.k FROM typed JOIN (SELECT type,"
            " (row_number() OVER (ORDER BY type) - 1)::UINTEGER k FROM (SELECT DISTINCT type FROM"
            " typed)) numbered USING (type) ORDER BY typed.n, numbered.k"
        )
        for node, kind in sorter.chunks("type_number", ["n", "k"]):
            starts.add(node)
            write_ints(items, kind)
        starts.close()

    def _write_edges(self, nodes: Nodes, relations: int) -> int:
        sorter, most = self._sorter, self._sorter.rows("edge")
        sorter.run("CREATE TABLE out_edge AS SELECT h, r, t FROM edge ORDER BY h, r, t")
        chunks = sorter.chunks("out_edge", ["h", "r", "t"])
        out = write_side(self._writer, Direction.OUT, chunks, nodes.is_cvt, relations, most)
        write_ints(self._writer.section("relation_counts", typecode(most)), out.relation_counts)
        sorter.run("DROP TABLE out_edge")
        first, end = nodes.first_literal, nodes.first_literal + nodes.literals
        sorter.run(
            f"CREATE TABLE in_edge AS SELECT t, r, h FROM edge WHERE t < {first} OR t >= {end}"
            " ORDER BY t, r, h"
        )
        chunks = sorter.chunks("in_edge", ["t", "r", "h"])
        write_side(self._writer, Direction.IN, chunks, nodes.is_cvt, relations, most)
        return out.edges


def _number(sorter: Sorter) -> None:
    """A node's number is its row in `node`, sorted by id; DuckDB compares UTF-8 bytes."""
    for statement in _NUMBERING:
        sorter.run(statement)


_NUMBERING = (
    "CREATE TABLE node AS SELECT id FROM (SELECT h AS id FROM fact UNION SELECT t FROM fact"
    " UNION SELECT id FROM name UNION SELECT id FROM type) ORDER BY id",
    "CREATE TABLE relation AS SELECT DISTINCT r FROM fact ORDER BY r",
    "CREATE TABLE edge AS SELECT h.rowid::UINTEGER h, r.rowid::UINTEGER r, t.rowid::UINTEGER t"
    " FROM fact JOIN node h ON fact.h = h.id JOIN relation r ON fact.r = r.r"
    " JOIN node t ON fact.t = t.id",
    "DROP TABLE fact",
    "CREATE TABLE typed AS SELECT DISTINCT node.rowid::UINTEGER n, type FROM type"
    " JOIN node USING (id)",
    # The best name is the one of lowest rank, the first line among equals.
    "CREATE TABLE label AS SELECT id, coalesce(best, '') AS name, coalesce(types, 0) AS types"
    " FROM (SELECT rowid::UINTEGER n, id FROM node)"
    " LEFT JOIN (SELECT id, arg_min(name, rank * 1000000000000 + line) best FROM name GROUP BY id)"
    " USING (id)"
    " LEFT JOIN (SELECT n, count(*) types FROM typed GROUP BY n) USING (n) ORDER BY n",
)
