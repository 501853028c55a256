"""Numbers for nodes, edges, types and names: sorted by id, counted, and sorted back."""

from collections.abc import Callable, Sequence
from itertools import pairwise

from graphwalker.graphs.intake.rows import OWN_NAME, UNWANTED_LANGUAGE
from graphwalker.graphs.intake.sorter import Sorter

KIND = 40
"""The place of a mention: the number of its column, and behind it as many bits for its row."""
MENTION_BYTES = 64
"""Memory for a mention of a node while it is sorted, its id apart, which is there twice."""
SHORT_ID = 12
"""Bytes of an id that DuckDB keeps with the row; longer ones take memory of their own."""
OWN_BYTES = 10 << 20
"""Of DuckDB's memory for the blocks of its operators, whatever the rows."""
RANGE_SHARE, LEAST_SHARE = 0.6, 0.1
"""Of the rest for one range of ids, and of all memory where there is very little of it."""
SAMPLED = 256
"""Mentions looked at, of each column, to make a range of ids."""
MARK_CHARACTERS = 1000
"""Of an id that marks the start of a range: enough to tell apart all but texts."""


class Numbering:
    """Makes the tables `node`, `relation`, `edge`, `type_number`,
    `typed` and `named` from those of the intake.

    A node's number is its place among all ids, which are compared as UTF-8 bytes. DuckDB spills
    what it sorts, but not all of what it joins by text: so every mention of a node is sorted by
    its id and gets its number in passing, and sorted back it stands where the text stood. DuckDB
    sorts 240 MB of ids in 80 MB of memory, but not 480 MB: ids that take more than the memory are
    sorted range by range. The rows are the same however many there are.
    """

    def __init__(self, sorter: Sorter) -> None:
        self._sorter = sorter

    def steps(self) -> Sequence[tuple[str, Callable[[], None]]]:
        """Return what is done, in order, with its name."""
        return (
            ("sorting nodes", self._number_nodes),
            ("numbering edges", self._number_edges),
            ("numbering types", self._number_types),
            ("choosing names", self._choose_names),
        )

    def count_unwanted(self) -> int:
        """Nodes whose only names are in a language that was not asked for."""
        unwanted = f"rank >= {UNWANTED_LANGUAGE} AND rank < {OWN_NAME}"
        return self._sorter.scalar(f"SELECT count(*) FROM named WHERE {unwanted}")

    def _number_nodes(self) -> None:
        mentions = " UNION ALL ".join(
            f"SELECT {column} id, {kind << KIND} + rowid AS place FROM {table}"
            for kind, (table, column) in enumerate(_MENTIONS)
        )
        run, starts = self._sorter.run, self._range_starts()
        run("CREATE TABLE mention (id VARCHAR, place BIGINT)")
        for start, end in pairwise([None, *starts, None]):
            bounds = {"start": start, "end": end}
            within = "($start IS NULL OR id >= $start) AND ($end IS NULL OR id < $end)"
            run(
                f"INSERT INTO mention SELECT * FROM ({mentions}) WHERE {within} ORDER BY id",
                **bounds,
            )
        for table, column in _MENTIONS:
            run(f"ALTER TABLE {table} DROP COLUMN {column}")
        new = "SELECT *, id IS DISTINCT FROM lag(id) OVER () AS new FROM mention"
        run(f"CREATE TABLE node AS SELECT id FROM ({new}) WHERE new")
        run(
            "CREATE TABLE number AS SELECT place, (sum(new::INT) OVER (ROWS UNBOUNDED PRECEDING)"
            f" - 1)::UINTEGER n FROM ({new}) ORDER BY place"
        )
        run("DROP TABLE mention")

    def _range_starts(self) -> list[str]:
        """Return ids, or beginnings of them, between which about as many bytes are mentioned."""
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

    def _number_edges(self) -> None:
        run = self._sorter.run
        run(
            "CREATE TABLE relation AS SELECT r, k, (row_number() OVER (ORDER BY r) - 1)::UINTEGER n"
            " FROM relation_number WHERE k IN (SELECT DISTINCT r FROM fact)"
        )
        run(
            "CREATE TABLE edge AS SELECT h, n r, t FROM (SELECT head.n h, r k, tail.n t"
            f" FROM fact POSITIONAL JOIN {numbers('fact', 'h', 'head')} POSITIONAL JOIN"
            f" {numbers('fact', 't', 'tail')}) JOIN relation USING (k)"
        )
        run("DROP TABLE fact")

    def _number_types(self) -> None:
        run = self._sorter.run
        run(
            "CREATE TABLE type_number AS SELECT type, (row_number() OVER (ORDER BY type) - 1)"
            "::UINTEGER k FROM (SELECT DISTINCT type FROM type)"
        )
        run(
            "CREATE TABLE typed AS SELECT DISTINCT n, k FROM (SELECT n, type FROM type POSITIONAL"
            f" JOIN {numbers('type', 'id', 'one')}) JOIN type_number USING (type) ORDER BY n, k"
        )
        run("DROP TABLE type")

    def _choose_names(self) -> None:
        """Choose the name of lowest rank: among equals the first line of a names file, the
        least text of an RDF file, whose triples have no order that other backends could know."""
        self._sorter.run(
            "CREATE TABLE candidate AS SELECT n, name, rank FROM name POSITIONAL JOIN"
            f" {numbers('name', 'id', 'one')}"
            " ORDER BY n, rank, CASE rank WHEN 0 THEN line ELSE 0 END, name"
        )
        self._sorter.run(
            "CREATE TABLE named AS SELECT n, name, rank FROM (SELECT *,"
            " n IS DISTINCT FROM lag(n) OVER () AS best FROM candidate) WHERE best"
        )


def _bytes(column: str) -> str:
    """Memory for a mention of a node."""
    text = f"strlen({column})"
    return f"({MENTION_BYTES} + CASE WHEN {text} > {SHORT_ID} THEN 2 * {text} ELSE 0 END)"


def numbers(table: str, column: str, alias: str) -> str:
    """Return the numbers of the nodes in a column, row by row."""
    kind = _MENTIONS.index((table, column))
    within = f"place >= {kind << KIND} AND place < {kind + 1 << KIND}"
    return f"(SELECT n FROM number WHERE {within}) {alias}"


_MENTIONS = (
    ("fact", "h"), ("fact", "t"), ("name", "id"), ("type", "id"),
    ("edge_property", "h"), ("edge_property", "t"),
)  # fmt: skip
