"""A set of property graphs in one file: each question says in which of them it is asked."""

import json
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, cast

from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph
from graphwalker.graphs.property.mazes import Maze
from graphwalker.graphs.property.memory import Edge, MemoryPropertyGraph, Node

SET_FILE = "graphs.jsonl"
KEPT = 64
"""Graphs that stay in memory, the latest used."""


class PropertyGraphSet(KnowledgeGraph):
    """FOLDER/graphs.jsonl: a graph a line, read when it is asked for.

    A line is `{"name", "nodes": [[id, labels, properties]], "relationships": [[start, type, end,
    properties]]}`, or `{"name", "maze": [rows]}`. As a graph itself it is empty: entities of
    different members have nothing to do with one another. Raises `UserError` for another file.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / SET_FILE
        self.path = self._file
        self._places: dict[str, tuple[int, int]] = {}
        digest, at = blake2b(digest_size=16), 0
        with self._file.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                digest.update(line)
                if line.strip():
                    self._places.setdefault(self._name(line, number), (at, number))
                at += len(line)
        self.checksum = digest.hexdigest()
        self._member = lru_cache(KEPT)(self._read)

    def member(self, name: str) -> MemoryPropertyGraph:
        """The graph of that name. Raises `UserError`."""
        if name not in self._places:
            raise UserError(f"{self.path}: holds no graph {name!r}; the question's facet names it")
        return self._member(name)

    def names(self) -> list[str]:
        return list(self._places)

    def info(self) -> dict[str, int | str]:
        return {"graphs": len(self._places), "checksum": self.checksum}

    def resolve(self, name: str) -> list[Entity]:
        return []

    def name(self, entity_id: str) -> str:
        return ""

    def relations(self, entity_id: str, direction: Direction) -> list[tuple[str, int]]:
        return []

    def neighbors(
        self, entity_id: str, relation: str, direction: Direction, limit: int | None = None
    ) -> list[Entity]:
        return []

    def _name(self, line: bytes, number: int) -> str:
        name = self._record(line, number).get("name")
        if not isinstance(name, str) or not name or name in self._places:
            raise UserError(f"{self.path}:{number}: field 'name' must be a text of its own")
        return name

    def _record(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{self.path}:{number}: not JSON ({error})") from None
        if not isinstance(record, dict):
            raise UserError(f"{self.path}:{number}: a graph is a JSON object")
        return cast("dict[str, Any]", record)

    def _read(self, name: str) -> MemoryPropertyGraph:
        at, number = self._places[name]
        with self._file.open("rb") as file:
            file.seek(at)
            record = self._record(file.readline(), number)
        try:
            return parse_graph(record)
        except UserError as error:
            raise UserError(f"{self.path}:{number}: {error}") from None


def parse_graph(record: dict[str, Any]) -> MemoryPropertyGraph:
    """The graph of a line. Raises `UserError` naming the field."""
    try:
        if "maze" in record:
            return Maze.parse([str(row) for row in record["maze"]]).graph()
        nodes = [Node(str(i), tuple(labels), dict(known)) for i, labels, known in record["nodes"]]
        edges = [Edge(str(s), str(t), str(e), dict(p)) for s, t, e, p in record["relationships"]]
    except KeyError as error:
        raise UserError(f"field {error.args[0]!r} is missing") from None
    except (TypeError, ValueError) as error:
        raise UserError(f"a node or relationship cannot be read ({error})") from None
    return MemoryPropertyGraph(nodes, edges)


def graph_record(name: str, graph: MemoryPropertyGraph) -> dict[str, Any]:
    """What `parse_graph` reads."""
    return {
        "name": name,
        "nodes": [[n.id, list(n.labels), dict(n.properties)] for n in graph.nodes.values()],
        "relationships": [[e.start, e.type, e.end, dict(e.properties)] for e in graph.edges],
    }
