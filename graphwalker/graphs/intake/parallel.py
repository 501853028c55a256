"""Reading in parallel: one process unpacks and stores, others turn blocks of lines into rows."""

import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from graphwalker.graphs.intake.blocks import Block, read_blocks
from graphwalker.graphs.intake.filters import Filters
from graphwalker.graphs.intake.readers import open_reader
from graphwalker.graphs.intake.rejects import Rejects
from graphwalker.graphs.intake.rows import BlockReader, IntakeRows, Relations, Source
from graphwalker.workers import Pool, Processes

LEAST_BYTES = 64 << 20
"""Files of less, unpacked, are read before the processes would have started."""
UNPACKED = 8
"""Bytes for each of a compressed file, as dumps have them at least."""
MEMORY = 256 << 20
"""Of the build's limit for each process: its block as text, as fields, and as rows."""


@dataclass(slots=True)
class _Parsed:
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

        with Pool[Block, tuple[int, _Parsed]](backend, self._workers + 1) as pool:
            for last, parsed in pool.results(jobs()):
                block = under_way.pop(0)
                yield Read(block.first, "", block.position, block.size, (), last), self._own(parsed)

    def _own(self, parsed: _Parsed) -> IntakeRows:
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
class Read(Block):
    """A block whose lines were read elsewhere."""

    end: int = 0

    @property
    def last(self) -> int:
        return self.end


class _Noted(Rejects):
    """Rejected lines, for the process that counts them."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[tuple[int, str, str | bytes]] = []

    def add(self, path: Path, number: int, why: str, text: str | bytes = "") -> None:
        self.lines.append((number, why, text))


def suits(source: Source) -> bool:
    """Whether a file is worth several processes: lines of triples, and many of them."""
    table = source.path.name.removesuffix(".gz").endswith(".csv")
    if source.kind != "triples" or table or not source.path.is_file():
        return False
    times = UNPACKED if source.path.suffix == ".gz" else 1
    return source.path.stat().st_size * times >= LEAST_BYTES


def _parser(source: Source, filters: Filters) -> Callable[[Block], tuple[int, _Parsed]]:
    gc.disable()  # rows are many small objects, none of them in a cycle
    relations, noted = Relations(filters, []), _Noted()
    reader = open_reader(source, filters, relations, noted)

    def parse(block: Block) -> tuple[int, _Parsed]:
        reader.kept = reader.dropped = reader.divided = 0
        noted.lines = []
        rows: Any = reader.rows_of(block)
        used, places = np.unique(np.array(rows.relations, dtype=np.int64), return_inverse=True)
        rows.relations = places.astype(np.int32)
        names: list[str] = [relations.listed[int(number)] for number in used]
        counts = reader.kept, reader.dropped, reader.divided
        return block.last, _Parsed(rows, names, *counts, noted.lines)

    return parse
