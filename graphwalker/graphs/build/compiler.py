"""The compiler of a graph: numbers the nodes, sorts the edges, writes the sections, by phases."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from graphwalker.graphs.base import Direction
from graphwalker.graphs.build.edges import write_side
from graphwalker.graphs.build.listings import write_listings
from graphwalker.graphs.build.nodes import Strings, write_nodes
from graphwalker.graphs.build.numbering import Numbering
from graphwalker.graphs.build.properties import write_properties
from graphwalker.graphs.format.layout import LayoutWriter, typecode
from graphwalker.graphs.format.offsets import StartsWriter, write_ints
from graphwalker.graphs.format.sides import Rows
from graphwalker.graphs.intake.phases import Phases
from graphwalker.graphs.intake.sorter import Sorter
from graphwalker.graphs.names import local_name, names_nothing


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
    ) -> None:
        """Write the graph's file; with `properties` also what a property graph has besides."""
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
        if unwanted := numbered.get("unwanted"):
            self._say(f"{unwanted:,} entities have a name in another language only")

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


def itself(entity_id: str) -> str:
    """What an entity is called in a graph without names: its id, where that is no MID."""
    return "" if names_nothing(entity_id) else entity_id


def nothing(_: str) -> str:
    """What an entity without a name is called in a graph that has names."""
    return ""
