"""Numbers for nodes, edges, types and names: sorted by id, counted, and sorted back."""

from collections.abc import Callable, Sequence

from graphwalker.graphs.intake.rows import UNWANTED_LANGUAGE
from graphwalker.graphs.intake.sorter import Sorter

KIND = 40
"""The place of a mention: the number of its column, and behind it as many bits for its row."""


class Numbering:
    """Makes the tables `node`, `relation`, `edge`, `type_number`,
    `typed` and `named` from those of the intake.

    A node's number is its place among all ids, which are compared as UTF-8 bytes. DuckDB spills
    what it sorts, but not all of what it joins by text: so every mention of a node is sorted by
    its id and gets its number in passing, and sorted back it stands where the text stood.
    """

    def __init__(self, sorter: Sorter) -> None:
        self._sorter = sorter

    def steps(self) -> Sequence[tuple[str, Callable[[], None]]]:
        """What is done, in order, with its name."""
        return (
            ("sorting nodes", self._number_nodes),
            ("numbering edges", self._number_edges),
            ("numbering types", self._number_types),
            ("choosing names", self._choose_names),
        )

    def unwanted(self) -> int:
        """Nodes whose only names are in a language that was not asked for."""
        return self._sorter.scalar(f"SELECT count(*) FROM named WHERE rank >= {UNWANTED_LANGUAGE}")

    def _number_nodes(self) -> None:
        mentions = " UNION ALL ".join(
            f"SELECT {column} id, {kind << KIND} + rowid AS place FROM {table}"
            for kind, (table, column) in enumerate(_MENTIONS)
        )
        self._sorter.run(f"CREATE TABLE mention AS FROM ({mentions}) ORDER BY id")
        for table, column in _MENTIONS:
            self._sorter.run(f"ALTER TABLE {table} DROP COLUMN {column}")
        new = "SELECT *, id IS DISTINCT FROM lag(id) OVER () AS new FROM mention"
        self._sorter.run(f"CREATE TABLE node AS SELECT id FROM ({new}) WHERE new")
        self._sorter.run(
            "CREATE TABLE number AS SELECT place, (sum(new::INT) OVER (ROWS UNBOUNDED PRECEDING)"
            f" - 1)::UINTEGER n FROM ({new}) ORDER BY place"
        )
        self._sorter.run("DROP TABLE mention")

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
        """The best name is the one of lowest rank: among equals the first line of a names file, the
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


def numbers(table: str, column: str, alias: str) -> str:
    """The numbers of the nodes in a column, row by row."""
    kind = _MENTIONS.index((table, column))
    within = f"place >= {kind << KIND} AND place < {kind + 1 << KIND}"
    return f"(SELECT n FROM number WHERE {within}) {alias}"


_MENTIONS = (
    ("fact", "h"), ("fact", "t"), ("name", "id"), ("type", "id"),
    ("edge_property", "h"), ("edge_property", "t"),
)  # fmt: skip
