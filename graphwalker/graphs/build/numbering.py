"""Numbers for nodes, edges and types: at once where memory allows, else range by range of ids."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from graphwalker.graphs.intake.phases import MemoryLimitError
from graphwalker.graphs.intake.rows import UNWANTED_LANGUAGE
from graphwalker.graphs.intake.sorter import Sorter

MENTION_BYTES = 32
"""Memory for each mention of a node while the distinct ones are found, its id apart: a world of
131 M triples mentions nodes 285 M times, and takes a dozen ranges under the default limit."""
OWN_BYTES = 10 << 20
"""Of DuckDB's memory for the blocks of its operators, whatever the rows."""
RANGE_SHARE = 0.6
"""Of the rest for a range: distinct ids of 400 bytes are refused when they take 0.9 of the memory,
and not at 0.66 (38 MB, DuckDB 2.0)."""
LEAST_SHARE = 0.1
"""Of the memory for a range where there is very little of it."""
SAMPLED = 256
"""Mentions looked at, of each column, to make a range of nodes."""
MARK_CHARACTERS = 1000
"""Of an id that marks the start of a range: enough to tell apart all but texts."""
SHORT_ID = 12
"""Bytes of an id that DuckDB keeps with the row; longer ones take memory of their own."""


@dataclass(frozen=True, slots=True)
class IdRange:
    """The ids from `start` up to, but without, `end`, which are the nodes from `first` up to, but
    without, `last`. `None` is no bound."""

    start: str | None
    end: str | None
    first: int
    last: int

    def has(self, column: str) -> str:
        """The condition that an id is within."""
        starts = f"{column} >= $start" if self.start is not None else "TRUE"
        return f"{starts} AND {column} < $end" if self.end is not None else starts

    @property
    def bounds(self) -> dict[str, str]:
        """What the condition is about."""
        bounds = {"start": self.start, "end": self.end}
        return {name: bound for name, bound in bounds.items() if bound is not None}


class Numbering:
    """Makes the tables `node`, `relation`, `edge`, `typed` and `label` from those of the intake.

    DuckDB spills what it sorts, but not all of what it makes distinct or joins by text. So the ids
    are divided into ranges of so many bytes that one fits, and each such step takes one behind the
    other. One range is the usual case; the rows are the same however many there are.
    """

    def __init__(self, sorter: Sorter) -> None:
        self._sorter = sorter

    def steps(self) -> Sequence[tuple[str, Callable[[], dict[str, int] | None]]]:
        """What is done, in order, with its name; each can be done again from its beginning."""
        return (
            ("sorting nodes", self._sort_nodes),
            ("sorting relations", lambda: self._sorter.run(_RELATIONS)),
            ("numbering edges", self._number_edges),
            ("making room", lambda: self._sorter.run("DROP TABLE IF EXISTS fact")),
            ("numbering types", self._number_types),
            ("choosing names", self._choose_names),
        )

    def _sort_nodes(self) -> None:
        """A node's number is its row in `node`, sorted by id; DuckDB compares UTF-8 bytes."""
        run, rows = self._sorter.run, self._sorter.rows
        starts = [None, *self._range_starts()]
        run("CREATE OR REPLACE TABLE node (id VARCHAR)")
        run("CREATE OR REPLACE TABLE id_range (start VARCHAR, first BIGINT)")
        for start, end in zip(starts, [*starts[1:], None], strict=True):
            ids = IdRange(start, end, rows("node"), 0)
            run("INSERT INTO id_range VALUES ($start, $first)", start=start, first=ids.first)
            run(
                "INSERT INTO node SELECT DISTINCT id FROM (SELECT h AS id FROM fact UNION ALL"
                " SELECT t FROM fact UNION ALL SELECT id FROM name UNION ALL SELECT id FROM type)"
                f" WHERE {ids.has('id')} ORDER BY id",
                **ids.bounds,
            )

    def _range_starts(self) -> list[str]:
        """Ids, or beginnings of them, between which there are mentions of about as many bytes."""
        sorter = self._sorter
        needed = sum(
            sorter.scalar(f"SELECT sum({_bytes(column)}) FROM {table}")
            for table, column in _MENTIONS
        )
        if needed <= sorter.memory:
            return []
        room = max(RANGE_SHARE * (sorter.memory - OWN_BYTES), LEAST_SHARE * sorter.memory)
        ranges = 1 + int(needed / room)
        steps = [1 + sorter.rows(table) // (SAMPLED * ranges) for table, _ in _MENTIONS]
        sampled = " UNION ALL ".join(
            f"SELECT {column}[:{MARK_CHARACTERS}] AS id, {step} * {_bytes(column)} AS bytes"
            f" FROM {table} WHERE rowid % {step} = 0"
            for (table, column), step in zip(_MENTIONS, steps, strict=True)
        )
        return sorter.strings(
            "SELECT DISTINCT min(id) AS start FROM (SELECT id,"
            f" floor((until - bytes) * {ranges} / total) AS number FROM (SELECT id, bytes,"
            " sum(bytes) OVER () AS total,"
            f" sum(bytes) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) AS until FROM ({sampled})))"
            " WHERE number > 0 GROUP BY number ORDER BY start"
        )

    def _ranges(self) -> list[IdRange]:
        found = self._sorter.records(
            "SELECT start, first FROM id_range ORDER BY first, start NULLS FIRST"
        )
        after = [*found[1:], (None, self._sorter.rows("node"))]
        return [
            IdRange(start, end, first, last)
            for (start, first), (end, last) in zip(found, after, strict=True)
        ]

    def _number_edges(self) -> None:
        """At once where DuckDB can, which takes half the time; it is refused early if it cannot."""
        ranges = self._ranges()
        try:
            self._sorter.run(f"CREATE OR REPLACE TABLE edge AS {_EDGES}")
        except MemoryLimitError:
            if len(ranges) == 1:
                raise
            self._number_ends(ranges)

    def _number_ends(self, ranges: Sequence[IdRange]) -> None:
        """Table `edge` by way of `headed`, whose tails have no numbers yet."""
        sorter = self._sorter
        sorter.run("CREATE OR REPLACE TABLE headed (h UINTEGER, r UINTEGER, t VARCHAR)")
        sorter.run("CREATE OR REPLACE TABLE edge (h UINTEGER, r UINTEGER, t UINTEGER)")
        with sorter.joins_as_written():
            for ids in ranges:
                self._take(ids)
                sorter.run(
                    "INSERT INTO headed SELECT taken.n, relation.n, t FROM fact"
                    " JOIN relation ON fact.r = relation.k JOIN taken ON fact.h = taken.id"
                    f" WHERE {ids.has('fact.h')}",
                    **ids.bounds,
                )
            for ids in ranges:
                self._take(ids)
                sorter.run(
                    "INSERT INTO edge SELECT h, r, n FROM headed JOIN taken ON headed.t = taken.id"
                    f" WHERE {ids.has('headed.t')}",
                    **ids.bounds,
                )
        for done in ("headed", "taken"):
            sorter.run(f"DROP TABLE {done}")

    def _number_types(self) -> None:
        self._sorter.run("CREATE OR REPLACE TABLE typed (n UINTEGER, type VARCHAR)")
        for ids in self._ranges():
            self._sorter.run(
                f"INSERT INTO typed SELECT DISTINCT n, type FROM type JOIN ({_within(ids)})"
                f" USING (id) WHERE id[1] <> '\"' AND {ids.has('type.id')}",
                **ids.bounds,
            )

    def _choose_names(self) -> dict[str, int]:
        """The best name is the one of lowest rank: among equals the first line of a names file, the
        least text of an RDF file, whose triples have no order that other backends could know."""
        run, unwanted = self._sorter.run, 0
        run("CREATE OR REPLACE TABLE label (id VARCHAR, name VARCHAR, types BIGINT)")
        for ids in self._ranges():
            run(
                "INSERT INTO label SELECT id, coalesce(best, '') AS name,"
                f" coalesce(types, 0) AS types FROM ({_within(ids)}) LEFT JOIN (SELECT id,"
                " min({'rank': rank, 'line': CASE WHEN rank = 0 THEN line ELSE 0 END,"
                f" 'name': name}}).name best FROM name WHERE {ids.has('id')} GROUP BY id)"
                " USING (id) LEFT JOIN (SELECT n, count(*) types FROM typed"
                f" WHERE n >= {ids.first} AND n < {ids.last} GROUP BY n) USING (n) ORDER BY n",
                **ids.bounds,
            )
            unwanted += self._sorter.scalar(
                f"SELECT count(*) FROM (SELECT id FROM name WHERE {ids.has('id')} GROUP BY id"
                f" HAVING min(rank) >= {UNWANTED_LANGUAGE})",
                **ids.bounds,
            )
        return {"unwanted": unwanted}

    def _take(self, ids: IdRange) -> None:
        """Table `taken`: the nodes of a range, with their numbers."""
        self._sorter.run(f"CREATE OR REPLACE TABLE taken AS {_within(ids)}")


def _within(ids: IdRange) -> str:
    return (
        f"SELECT rowid::UINTEGER n, id FROM node WHERE rowid >= {ids.first} AND rowid < {ids.last}"
    )


def _bytes(column: str) -> str:
    """Memory for a mention of a node."""
    text = f"strlen({column})"
    return f"({MENTION_BYTES} + CASE WHEN {text} > {SHORT_ID} THEN {text} ELSE 0 END)"


_MENTIONS = (("fact", "h"), ("fact", "t"), ("name", "id"), ("type", "id"))
_RELATIONS = (
    "CREATE OR REPLACE TABLE relation AS SELECT r, k, (row_number() OVER (ORDER BY r) - 1)"
    "::UINTEGER n FROM relation_number WHERE k IN (SELECT DISTINCT r FROM fact)"
)
_EDGES = (
    "SELECT h.rowid::UINTEGER h, relation.n r, t.rowid::UINTEGER t FROM fact"
    " JOIN node h ON fact.h = h.id JOIN relation ON fact.r = relation.k"
    " JOIN node t ON fact.t = t.id"
)
