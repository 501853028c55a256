"""A set of property graphs in one file: each question says in which of them it is asked."""

import json
from hashlib import blake2b
from pathlib import Path
from typing import Any, cast

from graphwalker.errors import UserError
from graphwalker.graphs.base import MemberQuestion
from graphwalker.graphs.property.mazes import Maze
from graphwalker.graphs.property.memory import Edge, MemoryPropertyGraph, Node
from graphwalker.graphs.views.sets import GraphSet

SET_FILE = "graphs.jsonl"


class PropertyGraphSet(GraphSet):
    """FOLDER/graphs.jsonl: a graph a line, read when it is asked for.

    A line is `{"name", "nodes": [[id, labels, properties]], "relationships": [[start, type, end,
    properties]]}`, or `{"name", "maze": [rows]}`. Raises `UserError` for another file.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
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

    def member_name(self, question: MemberQuestion) -> str:
        return question.facets.get("graph", "")

    def holds(self, name: str) -> bool:
        return name in self._places

    def names(self) -> list[str]:
        return list(self._places)

    def info(self) -> dict[str, int | str]:
        return {"graphs": len(self._places), "checksum": self.checksum}

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

    def read_member(self, name: str) -> MemoryPropertyGraph:
        if name not in self._places:
            raise UserError(f"{self.path}: holds no graph {name!r}; the question's facet names it")
        at, number = self._places[name]
        with self._file.open("rb") as file:
            file.seek(at)
            record = self._record(file.readline(), number)
        try:
            return parse_graph(record)
        except UserError as error:
            raise UserError(f"{self.path}:{number}: {error}") from None


def parse_graph(record: dict[str, Any]) -> MemoryPropertyGraph:
    """Return the graph of a line. Raises `UserError` naming the field."""
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
    """Return what `parse_graph` reads."""
    return {
        "name": name,
        "nodes": [[n.id, list(n.labels), dict(n.properties)] for n in graph.nodes.values()],
        "relationships": [[e.start, e.type, e.end, dict(e.properties)] for e in graph.edges],
    }
