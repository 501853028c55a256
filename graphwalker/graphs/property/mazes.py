"""A maze: a grid of open cells and walls, and the property graph that it is."""

import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graphwalker.errors import UserError
from graphwalker.graphs.property.memory import Edge, MemoryPropertyGraph, Node

CELL, ADJACENT = "Cell", "ADJACENT"
WALL_DISTANCE = -1e9
"""What stands in the place of a wall's distance to the goal."""


@dataclass(frozen=True, slots=True)
class Maze:
    """Cells are numbered row by row from 0. Drawn as one text a row: `.` open, `#` wall, `S`
    start, `G` goal."""

    size: int
    walls: frozenset[int]
    start: int
    goal: int

    @classmethod
    def parse(cls, rows: Sequence[str]) -> "Maze":
        """Return the maze of a drawing. Raises `UserError` for what is none."""
        cells = "".join(rows)
        if not rows or any(len(row) != len(rows) for row in rows) or set(cells) - set(".#SG"):
            raise UserError("a maze is drawn as n texts of n letters: . # S G")
        if cells.count("S") != 1 or cells.count("G") != 1:
            raise UserError("a maze has one S and one G")
        walls = frozenset(i for i, cell in enumerate(cells) if cell == "#")
        return cls(len(rows), walls, cells.index("S"), cells.index("G"))

    def draw(self) -> list[str]:
        """Return what `parse` reads."""
        marks = {self.start: "S", self.goal: "G", **dict.fromkeys(self.walls, "#")}
        n = self.size
        return ["".join(marks.get(row * n + k, ".") for k in range(n)) for row in range(n)]

    def beside(self, cell: int) -> Iterator[int]:
        """Get the cells above, left, right and below, walls too, in the order of their numbers."""
        row, column = divmod(cell, self.size)
        if row > 0:
            yield cell - self.size
        if column > 0:
            yield cell - 1
        if column < self.size - 1:
            yield cell + 1
        if row < self.size - 1:
            yield cell + self.size

    def open_beside(self, cell: int) -> list[int]:
        return [other for other in self.beside(cell) if other not in self.walls]

    def distance(self, cell: int) -> float:
        """Return the distance to the goal as the crow flies."""
        if cell in self.walls:
            return WALL_DISTANCE
        (row, column), (to_row, to_column) = divmod(cell, self.size), divmod(self.goal, self.size)
        return round(math.hypot(row - to_row, column - to_column), 2)

    def steps_from(self, start: int) -> dict[int, int]:
        """Return, for each reachable cell by distance, the cell before it."""
        before = {start: start}
        ring = deque([start])
        while ring:
            cell = ring.popleft()
            for other in self.open_beside(cell):
                if other not in before:
                    before[other] = cell
                    ring.append(other)
        return before

    def shortest(self) -> list[int]:
        """Return a shortest path from start to goal, both included; empty where there is none."""
        before = self.steps_from(self.start)
        if self.goal not in before:
            return []
        path = [self.goal]
        while path[-1] != self.start:
            path.append(before[path[-1]])
        return path[::-1]

    def edges(self) -> list[tuple[int, int]]:
        """Open cells that share a side, the lower number first."""
        cells = (cell for cell in range(self.size**2) if cell not in self.walls)
        return [(a, b) for a in cells for b in self.open_beside(a) if a < b]

    def graph(self) -> MemoryPropertyGraph:
        """Return the maze as GraphWalk's tools see it (section 3): walls are nodes, too."""
        nodes = [Node(str(cell), (CELL,), self._properties(cell)) for cell in range(self.size**2)]
        pairs = ((a, b) for a in range(self.size**2) for b in self.beside(a) if a < b)
        return MemoryPropertyGraph(nodes, (Edge(str(a), ADJACENT, str(b)) for a, b in pairs))

    def _properties(self, cell: int) -> dict[str, int | float | bool]:
        about: dict[str, int | float | bool] = {
            "key": cell,
            "euclidean_distance": self.distance(cell),
        }
        return about if cell in self.walls else {**about, "marked": False, "mark_order": -1}
