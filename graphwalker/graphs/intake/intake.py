"""The intake of a build: input files as rows into the sorter, by one process or several."""

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphwalker.errors import UserError
from graphwalker.graphs.intake.blocks import PACKED, Block, BlockEnd, is_csv, read_blocks
from graphwalker.graphs.intake.filters import Filters
from graphwalker.graphs.intake.readers import check_read, open_reader
from graphwalker.graphs.intake.rows import (
    LINE_BITS,
    BlockReader,
    IntakeRows,
    ReaderInput,
    RejectList,
    Rejects,
    Relations,
    Source,
)
from graphwalker.graphs.intake.sorter import Sorter
from graphwalker.workers.pool import Pool, Processes

LEAST_BYTES = 64 << 20
"""Files of less, unpacked, are read before the processes would have started."""
UNPACKED = 8
"""Bytes for each of a compressed file, as dumps have them at least."""
MEMORY = 256 << 20
"""Of the build's limit for each process: its block as text, as fields, and as rows."""


@dataclass(slots=True)
class _BlockResult:
    """What a worker made of a block; `relations` are the names behind the numbers of its rows."""

    rows: IntakeRows
    relations: list[str]
    kept: int
    dropped: int
    divided: int
    rejected: list[tuple[int, str, str | bytes]] = field(
        default_factory=list[tuple[int, str, str | bytes]]
    )
    oddities: dict[str, Any] = field(default_factory=dict[str, Any])


class ParallelReader(BlockReader):
    """A reader of triples whose blocks are parsed by processes; they come back in their order, so
    that the rows, the numbers of relations and the rejected lines are those of one process."""

    def __init__(self, given: ReaderInput, workers: int) -> None:
        super().__init__(given)
        self._given, self._workers = given, workers

    def blocks(self) -> Iterator[tuple[BlockEnd, IntakeRows]]:
        backend = Processes(_parser, (self._given.source, self._given.filters), self._workers)
        under_way: list[BlockEnd] = []

        def jobs() -> Iterator[Block]:
            for block in read_blocks(self.path):
                under_way.append(block.place)
                yield block

        with Pool[Block, _BlockResult](backend, self._workers + 1) as pool:
            for parsed in pool.results(jobs()):
                yield under_way.pop(0), self._own(parsed)

    def _own(self, parsed: _BlockResult) -> IntakeRows:
        """Return the rows with our numbers of relations."""
        for number, why, line in parsed.rejected:
            self.rejects.add(self.path, number, why, line)
        for what, (times, (path, number, text)) in parsed.oddities.items():
            self.rejects.note(what, path, number, text, times)
        self.kept += parsed.kept
        self.dropped += parsed.dropped
        self.divided += parsed.divided
        rows: Any = parsed.rows
        if parsed.relations:
            numbers = np.array([self._relations[name] for name in parsed.relations], dtype=np.int64)
            rows.relations = numbers[rows.relations]
        return rows


def suits(source: Source) -> bool:
    """Return whether a file is worth several processes: lines of triples, and many of them."""
    table = is_csv(source.path)
    if source.kind != "triples" or table or source.is_json or not source.path.is_file():
        return False
    times = UNPACKED if source.path.suffix in PACKED else 1
    return source.path.stat().st_size * times >= LEAST_BYTES


def _parser(source: Source, filters: Filters) -> Callable[[Block], _BlockResult]:
    gc.disable()  # rows are many small objects, none of them in a cycle
    relations, noted = Relations(filters), RejectList()
    reader = open_reader(source, filters, relations, noted)

    def parse(block: Block) -> _BlockResult:
        reader.kept = reader.dropped = reader.divided = 0
        noted.lines, noted.oddities = [], {}
        rows: Any = reader.rows_of(block)
        used, places = np.unique(np.array(rows.relations, dtype=np.int64), return_inverse=True)
        rows.relations = places.astype(np.int32)
        names: list[str] = [relations.listed[int(number)] for number in used]
        counts = reader.kept, reader.dropped, reader.divided
        return _BlockResult(rows, names, *counts, rejected=noted.lines, oddities=noted.oddities)

    return parse


_SAY_EVERY_S = 5.0
_TABLES = {
    "fact": {"h": "VARCHAR", "r": "UINTEGER", "t": "VARCHAR"},
    "relation_number": {"r": "VARCHAR", "k": "UINTEGER"},
    "name": {"id": "VARCHAR", "name": "VARCHAR", "rank": "BIGINT", "line": "BIGINT"},
    "type": {"id": "VARCHAR", "type": "VARCHAR"},
    "edge_property": {
        "h": "VARCHAR",
        "r": "UINTEGER",
        "t": "VARCHAR",
        "json": "VARCHAR",
        "line": "BIGINT",
    },
}


class Intake:
    """Tables `fact` (h, r, t), `relation_number` (r, k), `name`, `type` and `edge_property` from
    input files."""

    def __init__(
        self,
        sorter: Sorter,
        filters: Filters,
        rejects: Rejects,
        say: Callable[[str], None],
        workers: int = 1,
    ) -> None:
        self._sorter, self._say, self._workers = sorter, say, workers
        self._filters, self._rejects = filters, rejects
        self._tables = {name: sorter.table(name, **columns) for name, columns in _TABLES.items()}
        self._counts = {"lines": 0, "filtered": 0, "divided": 0}

    def read(self, sources: Sequence[Source]) -> None:
        """Read all files. Raises `UserError` naming file and line."""
        relations = Relations(self._filters)
        self._rejects.origins = {source.path: source.shown for source in sources}
        for source in sources:
            try:
                self._read_one(source, relations)
            except UserError as error:
                why = str(error).replace(str(source.path), str(source.shown))
                raise type(error)(why) from None
        listed = relations.listed
        self._tables["relation_number"].extend([listed, list(range(len(listed)))])
        if all(source.kind != "triples" for source in sources):
            self._drop_strays(sources)
        self._rejects.close()

    def facts(self) -> dict[str, Any]:
        """Return lines read, and how many were malformed or dropped by the filters."""
        return {**self._counts, "malformed": self._rejects.count}

    def _read_one(self, source: Source, relations: Relations) -> None:
        self._say(f"reading {source.shown}")
        rejected, reported, place = self._rejects.count, time.monotonic(), BlockEnd(0, 0)
        reader = self._reader(source, relations)
        for place, rows in reader.blocks():
            self._store(rows)
            if time.monotonic() - reported > _SAY_EVERY_S:
                reported, share = time.monotonic(), f"{100 * place.share:.0f} %"
                self._say(f"reading {source.shown}: {share}, {place.line:,} lines")
        check_read(reader, source, self._rejects.count - rejected)
        self._counts["lines"] += place.line
        self._counts["filtered"] += reader.dropped
        self._counts["divided"] += reader.divided

    def _drop_strays(self, sources: Sequence[Source]) -> None:
        """Reject the relationships of property-graph files whose ends no record has as a node.
        Raises `UserError` where there is no node."""
        if self._sorter.rows("edge_property") and not self._sorter.rows("name"):
            raise UserError(
                f"{sources[0].shown}: relationships alone; give the file of their nodes, too"
            )
        strays = self._sorter.records(
            "SELECT DISTINCT line, h, t, h IN (SELECT id FROM name) FROM edge_property WHERE NOT"
            " (h IN (SELECT id FROM name) AND t IN (SELECT id FROM name))"
            f" ORDER BY line LIMIT {self._rejects.limit + 1}"
        )
        for line, h, t, h_known in strays:
            source, number = sources[int(line) >> LINE_BITS], int(line) % (1 << LINE_BITS)
            why = f"no record is the node {t if h_known else h}"
            self._rejects.add(source.path, number, why)
        if not strays:
            return
        for table, exempt in (("fact", "starts_with(t, '\"') OR"), ("edge_property", "")):
            known = "(h IN (SELECT id FROM name) AND t IN (SELECT id FROM name))"
            self._sorter.replace(table, f"FROM {table} WHERE {exempt} {known}")

    def _reader(self, source: Source, relations: Relations) -> BlockReader:
        if self._workers > 1 and suits(source):
            given = ReaderInput(source, self._filters, self._rejects, relations)
            return ParallelReader(given, self._workers)
        return open_reader(source, self._filters, relations, self._rejects)

    def _store(self, rows: IntakeRows) -> None:
        self._tables["fact"].extend([rows.heads, rows.relations, rows.tails])
        listed_in = (("name", rows.names), ("type", rows.types), ("edge_property", rows.edges))
        for name, listed in listed_in:
            if listed:
                self._tables[name].extend(list(zip(*listed, strict=True)))
