"""The intake of a build: input files as rows into the sorter, by one process or several."""

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from graphwalker.errors import UserError
from graphwalker.graphs.intake.blocks import PACKED, Block, is_csv, read_blocks
from graphwalker.graphs.intake.filters import Filters
from graphwalker.graphs.intake.phases import Phases
from graphwalker.graphs.intake.readers import check_read, open_reader
from graphwalker.graphs.intake.rows import (
    LINE_BITS,
    BlockReader,
    IntakeRows,
    Rejects,
    Relations,
    Source,
)
from graphwalker.graphs.intake.sorter import Sorter, Table
from graphwalker.workers import Pool, Processes

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


class ParallelReader(BlockReader):
    """A reader of triples whose blocks are parsed by processes; they come back in their order, so
    that the rows, the numbers of relations and the rejected lines are those of one process."""

    def __init__(
        self, source: Source, filters: Filters, relations: Relations, rejects: Rejects, workers: int
    ) -> None:
        super().__init__(source, rejects)
        self._source, self._filters, self._workers = source, filters, workers
        self._numbers = relations

    def blocks(self, after: int) -> Iterator[tuple[Block, IntakeRows]]:
        backend = Processes(_parser, (self._source, self._filters), self._workers)
        under_way: list[Block] = []

        def jobs() -> Iterator[Block]:
            for block in read_blocks(self.path, after):
                under_way.append(Block(block.first, "", block.position, block.size))
                yield block

        with Pool[Block, tuple[int, _BlockResult]](backend, self._workers + 1) as pool:
            for last, parsed in pool.results(jobs()):
                block = under_way.pop(0)
                yield (
                    ParsedBlock(block.first, "", block.position, block.size, (), last),
                    self._own(parsed),
                )

    def _own(self, parsed: _BlockResult) -> IntakeRows:
        """The rows with our numbers of relations."""
        for number, why, line in parsed.rejected:
            self.rejects.add(self.path, number, why, line)
        self.kept += parsed.kept
        self.dropped += parsed.dropped
        self.divided += parsed.divided
        rows: Any = parsed.rows
        if parsed.relations:
            numbers = np.array([self._numbers[name] for name in parsed.relations], dtype=np.int64)
            rows.relations = numbers[rows.relations]
        return rows


@dataclass(frozen=True, slots=True)
class ParsedBlock(Block):
    """A block whose lines were read elsewhere."""

    end: int = 0

    @property
    def last(self) -> int:
        return self.end


class _RejectList(Rejects):
    """Rejected lines, for the process that counts them."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[tuple[int, str, str | bytes]] = []

    def add(self, path: Path, number: int, why: str, text: str | bytes = "") -> None:
        self.lines.append((number, why, text))


def suits(source: Source) -> bool:
    """Whether a file is worth several processes: lines of triples, and many of them."""
    table = is_csv(source.path)
    if source.kind != "triples" or table or source.is_json or not source.path.is_file():
        return False
    times = UNPACKED if source.path.suffix in PACKED else 1
    return source.path.stat().st_size * times >= LEAST_BYTES


def _parser(source: Source, filters: Filters) -> Callable[[Block], tuple[int, _BlockResult]]:
    gc.disable()  # rows are many small objects, none of them in a cycle
    relations, noted = Relations(filters, []), _RejectList()
    reader = open_reader(source, filters, relations, noted)

    def parse(block: Block) -> tuple[int, _BlockResult]:
        reader.kept = reader.dropped = reader.divided = 0
        noted.lines = []
        rows: Any = reader.rows_of(block)
        used, places = np.unique(np.array(rows.relations, dtype=np.int64), return_inverse=True)
        rows.relations = places.astype(np.int32)
        names: list[str] = [relations.listed[int(number)] for number in used]
        counts = reader.kept, reader.dropped, reader.divided
        return block.last, _BlockResult(rows, names, *counts, noted.lines)

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
    """Tables `fact` (h, r, t), `relation_number` (r, k), `name` and `type` from input files."""

    def __init__(
        self,
        sorter: Sorter,
        phases: Phases,
        filters: Filters,
        rejects: Rejects,
        say: Callable[[str], None],
        workers: int = 1,
    ) -> None:
        self._sorter, self._phases, self._say = sorter, phases, say
        self._workers = workers
        self._filters, self._rejects = filters, rejects
        self._tables: dict[str, Table] = {}
        self._stored_relations = 0
        self._counts: dict[str, int] = phases.get(
            "counts", {"lines": 0, "filtered": 0, "divided": 0}
        )
        rejects.restore(phases.get("rejects", rejects.save()))

    def read(self, sources: Sequence[Source]) -> None:
        """Read what is not read yet. Raises `UserError` naming file and line."""
        if self._phases.notes_of("read") is not None:
            return
        self._tables = {name: self._sorter.existing(name, **_TABLES[name]) for name in _TABLES}
        relations = Relations(self._filters, self._load_relations())
        reading, after = self._phases.get("reading", (0, 0))
        self._rejects.origins = {source.path: source.shown for source in sources}
        for source in sources[reading:]:
            try:
                self._read_one(source, relations, after if source.number == reading else 0)
            except UserError as error:
                why = str(error).replace(str(source.path), str(source.shown))
                raise type(error)(why) from None
        if all(source.kind != "triples" for source in sources):
            self._drop_strays(sources)
        self._rejects.close()
        self._phases.finish("read", {"relations": len(relations.listed)})

    def facts(self) -> dict[str, Any]:
        """Lines read, and how many were malformed or dropped by the filters."""
        return {**self._counts, "malformed": self._rejects.count}

    def _read_one(self, source: Source, relations: Relations, after: int) -> None:
        self._say(f"reading {source.shown}" + (f" from line {after + 1:,}" if after else ""))
        rejected, reported = self._rejects.count, time.monotonic()
        reader = self._reader(source, relations)
        line = after
        for block, rows in reader.blocks(after):
            self._store(rows, relations)
            self._note((source.number, block.last), block.last - line, reader)
            line = block.last
            if time.monotonic() - reported > _SAY_EVERY_S:
                reported = time.monotonic()
                self._say(_standing(source, block))
        if not after:
            check_read(reader, source, self._rejects.count - rejected)
        self._note((source.number + 1, 0), 0, reader)

    def _drop_strays(self, sources: Sequence[Source]) -> None:
        """Reject the relationships of property-graph files whose ends no record has as a node."""
        records = self._sorter.records
        stray = "(SELECT e.line FROM edge_property e WHERE NOT (h IN {0} AND t IN {0}))"
        stray = stray.format("(SELECT id FROM name)")
        if not self._phases.get("strays", False):
            for line, h, t, h_known in records(
                "SELECT DISTINCT line, h, t, h IN (SELECT id FROM name) FROM edge_property"
                f" WHERE line IN {stray} ORDER BY line LIMIT {self._rejects.limit + 1}"
            ):
                source, number = sources[int(line) >> LINE_BITS], int(line) % (1 << LINE_BITS)
                why = f"no record is the node {t if h_known else h}"
                self._rejects.add(source.path, number, why)
            self._phases.put(strays=True, rejects=self._rejects.save())
        self._sorter.run(
            "DELETE FROM fact WHERE NOT starts_with(t, '\"')"
            " AND NOT (h IN (SELECT id FROM name) AND t IN (SELECT id FROM name))"
        )
        self._sorter.run(f"DELETE FROM edge_property WHERE line IN {stray}")

    def _reader(self, source: Source, relations: Relations) -> BlockReader:
        given = source, self._filters, relations, self._rejects
        if self._workers > 1 and suits(source):
            return ParallelReader(*given, self._workers)
        return open_reader(*given)

    def _store(self, rows: IntakeRows, relations: Relations) -> None:
        known = self._stored_relations
        new = relations.listed[known:]
        self._tables["relation_number"].extend([new, list(range(known, len(relations.listed)))])
        self._stored_relations = len(relations.listed)
        self._tables["fact"].extend([rows.heads, rows.relations, rows.tails])
        listed_in = (("name", rows.names), ("type", rows.types), ("edge_property", rows.edges))
        for name, listed in listed_in:
            if listed:
                self._tables[name].extend(list(zip(*listed, strict=True)))

    def _note(self, reading: tuple[int, int], lines: int, reader: BlockReader) -> None:
        """Where to resume: the number of a source, and its last line that is stored."""
        self._counts["lines"] += lines
        self._counts["filtered"] += reader.dropped
        self._counts["divided"] += reader.divided
        reader.dropped = reader.divided = 0
        self._phases.put(reading=reading, counts=self._counts, rejects=self._rejects.save())

    def _load_relations(self) -> list[str]:
        listed = self._sorter.records("SELECT r FROM relation_number ORDER BY k")
        self._stored_relations = len(listed)
        return [relation for (relation,) in listed]


def _standing(source: Source, block: Block) -> str:
    share = 100 * block.position / max(1, block.size)
    return f"reading {source.shown}: {share:.0f} %, {block.last:,} lines"
