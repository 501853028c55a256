"""GraphWalk's two tools in a maze (section 3.1, Appendix E). They mark cells, one episode long."""

from collections import deque
from collections.abc import Sequence

from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.properties import PropertyGraph
from graphwalker.graphs.property.mazes import ADJACENT, CELL
from graphwalker.question import Question
from graphwalker.tools.base import Abilities, Call, ErrorKind, Observation
from graphwalker.tools.functions import Function, Parameter, problem_of
from graphwalker.tools.properties import schema_table

NEXT, NEXT_TOO, PATH = (
    "get_possible_next_cells",
    "get_next_possible_cells",
    "get_connected_path",
)
"""The paper writes the first one in both ways."""
_CELL = Parameter(("string", "integer"), "The key of an open cell.", "45")
FUNCTIONS = (
    Function(
        NEXT,
        "Marks the cell as visited and shows the open cells beside it: above, below, left and "
        "right. A wall or an unknown cell gives an error.",
        {"node_id": _CELL},
    ),
    Function(
        PATH,
        "The shortest path from the first to the last visited cell that uses visited cells alone.",
    ),
)
_ACCEPTED = (*FUNCTIONS, Function(NEXT_TOO, "", {"node_id": _CELL}))


class MazeTools:
    """The tool box of one episode: what was marked, in order; the graph itself never changes.

    A call may name any open cell. Where it is not beside a marked one, `jumps` counts it.
    """

    def __init__(self, graph: PropertyGraph, question: Question) -> None:
        self.graph = graph
        self._topics = tuple(topic.name for topic in question.topic_entities)
        self.marks: list[int] = []
        self.jumps = 0
        self._shown = dict.fromkeys(self._topics)

    @property
    def abilities(self) -> Abilities:
        return Abilities(choices=self.choices)

    def call(self, call: Call) -> Observation:
        if problem := problem_of(call, _ACCEPTED):
            unknown = call.tool not in {function.name for function in _ACCEPTED}
            return _error(ErrorKind.UNKNOWN_TOOL if unknown else ErrorKind.BAD_ARGUMENTS, problem)
        if call.tool == PATH:
            return self._connected_path()
        return self._next(str(call.arguments["node_id"]).strip())

    def choices(self, call: Call, argument: str) -> Sequence[str] | None:
        """The start, the goal and the open cells that were shown."""
        return [*self._shown] if argument == "node_id" else None

    def entity_id(self, name: str) -> str:
        return next((cell.id for cell in self._cells(name)), "")

    def topic_names(self) -> tuple[str, ...]:
        return self._topics

    def signatures(self) -> str:
        return "\n".join(f"{function.form}: {function.description}" for function in FUNCTIONS)

    def schema(self) -> str:
        return schema_table(self.graph.schema())

    def _next(self, name: str) -> Observation:
        cells = self._cells(name)
        if not cells:
            return _error(
                "unknown_cell", f"there is no cell {name[:40]!r}: cells have whole numbers"
            )
        cell = int(name)
        if self._is_wall(cells[0]):
            return _error("wall", f"cell {cell} is a wall: choose a cell that was shown as open")
        beside = [other for other in self._beside(cells[0]) if not self._is_wall(other)]
        keys = sorted((self._key(other), other) for other in beside)
        if self.marks and cell not in self.marks and not {k for k, _ in keys} & set(self.marks):
            self.jumps += 1
        if cell not in self.marks:
            self.marks.append(cell)
        self._shown.update(dict.fromkeys([str(cell), *(str(key) for key, _ in keys)]))
        listed = ", ".join(self._describe_cell(key, other) for key, other in keys)
        return Observation(
            f"Open cells beside {cell}: {listed or 'none'}",
            shown=(_as_cell(cells[0], cell), *(_as_cell(other, key) for key, other in keys)),
            graph_calls=1,
        )

    def _describe_cell(self, key: int, cell: Entity) -> str:
        known = self.graph.node_properties(cell.id)
        order = self.marks.index(key) if key in self.marks else -1
        marked = str(order >= 0).lower()
        return (
            f"{key} (euclidean_distance {known['euclidean_distance']}, marked {marked}, "
            f"mark_order {order})"
        )

    def _connected_path(self) -> Observation:
        if not self.marks:
            return _error("no_path", f"no cell was visited yet: begin with {NEXT}")
        first, last = self.marks[0], self.marks[-1]
        before = {first: first}
        ring = deque([first])
        while ring:
            cell = ring.popleft()
            for other in sorted(map(self._key, self._beside(self._cells(str(cell))[0]))):
                if other in self.marks and other not in before:
                    before[other] = cell
                    ring.append(other)
        if last not in before:
            why = f"the visited cells do not join {first} and {last}"
            return _error("no_path", f"{why}: visit the cells between them")
        path = [last]
        while path[-1] != first:
            path.append(before[path[-1]])
        return Observation(
            f"Shortest path from cell {first} to cell {last} over visited cells: {path[::-1]}",
            graph_calls=len(before),
        )

    def _cells(self, name: str) -> list[Entity]:
        # A longer one is no cell, and Python refuses to read very long ones.
        whole = name.isascii() and name.isdigit() and len(name) < 12
        return self.graph.find(CELL, "key", int(name), 1) if whole else []

    def _beside(self, cell: Entity) -> list[Entity]:
        return [
            end
            for direction in Direction
            for end in self.graph.neighbors(cell.id, ADJACENT, direction)
        ]

    def _key(self, cell: Entity) -> int:
        return int(self.graph.node_properties(cell.id)["key"])

    def _is_wall(self, cell: Entity) -> bool:
        return float(self.graph.node_properties(cell.id)["euclidean_distance"]) < 0


def _as_cell(cell: Entity, key: int) -> Entity:
    return Entity(cell.id, str(key))


def _error(kind: str, text: str) -> Observation:
    return Observation(f"Error {kind}: {text}", kind)
