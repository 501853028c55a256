"""The compiler of a graph: numbers the nodes, sorts the edges, writes the sections, by phases."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from graphwalker.graphs.base import Direction
from graphwalker.graphs.build.edges import write_side
from graphwalker.graphs.build.listings import write_listings
from graphwalker.graphs.build.nodes import Strings, write_nodes
from graphwalker.graphs.build.properties import write_properties
from graphwalker.graphs.format.layout import LayoutWriter, typecode
from graphwalker.graphs.format.offsets import StartsWriter, write_ints
from graphwalker.graphs.format.sides import Rows
from graphwalker.graphs.intake.phases import Phases
from graphwalker.graphs.intake.sorter import Sorter

MENTION_BYTES = 32
"""Memory for each mention of a node while the distinct ones are found, its id apart: a world of
131 M triples mentions nodes 285 M times, and takes eight parts under the default limit."""
SAMPLED = 256
"""Mentions looked at, of each column, to make a range of nodes."""
MARK_CHARACTERS = 1000
"""Of an id that marks the start of a range: enough to tell apart all but texts."""
SHORT_ID = 12
"""Bytes of an id that DuckDB keeps with the row; longer ones take memory of their own."""


class Compiler:
    """Takes the tables of `Intake`; each phase that is done is not done again."""

    def __init__(self, sorter: Sorter, phases: Phases, say: Callable[[str], None]) -> None:
        self._sorter, self._phases, self._say = sorter, phases, say
        self._folder = phases.folder / "sections"
        self._folder.mkdir(exist_ok=True)
        self._writer = LayoutWriter(self._folder)
        self._writer.adopt(phases.get("sections", {}))

    def write(self, path: Path, ids_are_names: bool, properties: bool = False) -> None:
        """Write the graph's file; with `properties` also what a property graph has besides."""
        self._phase("number-0", "sorting nodes", self._sort_nodes)
        for number, (what, statement) in enumerate(_NUMBERING, start=1):
            self._phase(f"number-{number}", what, lambda sql=statement: self._run(sql))
        nodes = self._phase("nodes", "writing names", lambda: self._write_nodes(ids_are_names))
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

    def _phase(
        self, name: str, what: str, work: Callable[[], dict[str, int] | None]
    ) -> dict[str, int]:
        found = self._phases.done(name)
        if found is not None:
            return found
        self._say(what)
        noted = work() or dict[str, int]()
        self._phases.put(sections=self._writer.close_sections())
        self._phases.finish(name, noted)
        return noted

    def _sort_nodes(self) -> None:
        """A node's number is its row in `node`, sorted by id; DuckDB compares UTF-8 bytes.

        DuckDB spills what it sorts, but not all of what it makes distinct: the nodes are taken in
        as many ranges of ids as memory asks for, one behind the other.
        """
        sorter = self._sorter
        ranges = 1 + self._mention_bytes() // sorter.memory
        sorter.run("CREATE OR REPLACE TABLE node (id VARCHAR)")
        sorter.run("CREATE OR REPLACE TABLE range_start (k BIGINT, id VARCHAR)")
        if ranges > 1:
            self._mark_ranges(ranges)
        for number in range(sorter.rows("range_start") + 1):
            start, end = (
                f"(SELECT id FROM range_start WHERE k = {k})" for k in (number, number + 1)
            )
            within = [f"id >= {start}"] if number else []
            within += [f"id < {end}"] if number < sorter.rows("range_start") else []
            where = f" WHERE {' AND '.join(within)}" if within else ""
            sorter.run(
                "INSERT INTO node SELECT DISTINCT id FROM (SELECT h AS id FROM fact UNION ALL"
                " SELECT t FROM fact UNION ALL SELECT id FROM name UNION ALL SELECT id FROM type)"
                f"{where} ORDER BY id"
            )
        sorter.run("DROP TABLE range_start")

    def _mark_ranges(self, ranges: int) -> None:
        """Table `range_start`: ids, or beginnings of them, between which there are about as many
        mentions; `k` numbers them from 1."""
        sampled = [
            f"SELECT {column} AS id FROM {table}"
            f" WHERE rowid % {1 + self._sorter.rows(table) // (SAMPLED * ranges)} = 0"
            for table, column in _MENTIONS
        ]
        self._sorter.run(
            "INSERT INTO range_start SELECT row_number() OVER (ORDER BY id), id FROM ("
            f"SELECT DISTINCT id FROM (SELECT id[:{MARK_CHARACTERS}] AS id,"
            f" row_number() OVER (ORDER BY id[:{MARK_CHARACTERS}]) AS n,"
            f" count(*) OVER () AS sampled FROM ({' UNION ALL '.join(sampled)}))"
            f" WHERE n % greatest(1, sampled // {ranges}) = 0)"
        )

    def _mention_bytes(self) -> int:
        """Memory for all mentions of nodes at once."""
        return sum(
            self._sorter.scalar(
                f"SELECT count(*) * {MENTION_BYTES} +"
                f" coalesce(sum(strlen({column})) FILTER (strlen({column}) > {SHORT_ID}), 0)"
                f" FROM {table}"
            )
            for table, column in _MENTIONS
        )

    def _run(self, statement: str) -> None:
        self._sorter.run(statement)

    def _write_nodes(self, ids_are_names: bool) -> dict[str, int]:
        ids_are_names = ids_are_names and not self._sorter.rows("name")
        nodes = write_nodes(self._sorter, self._writer, ids_are_names)
        return {
            "nodes": len(nodes.is_cvt),
            "named": nodes.named,
            "literals": nodes.literals,
            "first_literal": nodes.first_literal,
        }

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
        starts = StartsWriter(self._writer, "type_starts", nodes - rows.skipped, most)
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
        return {"edges": side.edges}

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
        return write_listings(self._writer, self._writer.written(), self._is_cvt(), relations)

    def _is_cvt(self) -> Any:
        return np.fromfile(self._folder / "is_cvt.section", dtype=bool)


def _rows(nodes: dict[str, int]) -> Rows:
    return Rows(nodes["first_literal"], nodes["first_literal"] + nodes["literals"])


_MENTIONS = (("fact", "h"), ("fact", "t"), ("name", "id"), ("type", "id"))
_NUMBERING = (
    (
        "sorting relations",
        "CREATE OR REPLACE TABLE relation AS SELECT r, k, (row_number() OVER (ORDER BY r) - 1)"
        "::UINTEGER n FROM relation_number WHERE k IN (SELECT DISTINCT r FROM fact)",
    ),
    (
        "numbering edges",
        "CREATE OR REPLACE TABLE edge AS SELECT h.rowid::UINTEGER h, relation.n r,"
        " t.rowid::UINTEGER t FROM fact JOIN node h ON fact.h = h.id"
        " JOIN relation ON fact.r = relation.k JOIN node t ON fact.t = t.id",
    ),
    ("making room", "DROP TABLE IF EXISTS fact"),
    (
        "numbering types",
        "CREATE OR REPLACE TABLE typed AS SELECT DISTINCT node.rowid::UINTEGER n, type FROM type"
        " JOIN node USING (id) WHERE id[1] <> '\"'",
    ),
    # The best name is the one of lowest rank: among equals the first line of a names file, the
    # least text of an RDF file, whose triples have no order that other backends could know.
    (
        "choosing names",
        "CREATE OR REPLACE TABLE label AS SELECT id, coalesce(best, '') AS name,"
        " coalesce(types, 0) AS types FROM (SELECT rowid::UINTEGER n, id FROM node)"
        " LEFT JOIN (SELECT id, min({'rank': rank, 'line': CASE WHEN rank = 0 THEN line ELSE 0 END,"
        " 'name': name}).name best FROM name GROUP BY id) USING (id)"
        " LEFT JOIN (SELECT n, count(*) types FROM typed GROUP BY n) USING (n) ORDER BY n",
    ),
)
