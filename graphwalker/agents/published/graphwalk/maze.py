"""GraphWalk's maze (section 3.1, Appendix E): two tools that mark cells, the agent, the oracle."""

import re
from collections import deque
from collections.abc import Sequence

from graphwalker.agents.preset import AgentSettings, Preset
from graphwalker.agents.prompt import read_texts
from graphwalker.agents.published.graphwalk.agent import SOURCE, ToolOptions, agent_of
from graphwalker.agents.published.graphwalk.properties import graph_of, schema_table
from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.properties import PropertyGraph
from graphwalker.graphs.property.mazes import ADJACENT, CELL, Maze
from graphwalker.oracle.plan import OwnOracle, Plan, PresetOracle
from graphwalker.protocols.answers import PathForm
from graphwalker.protocols.base import ActionProtocol, FinalAnswer
from graphwalker.protocols.functions import FunctionProtocol
from graphwalker.question import Question
from graphwalker.tools.base import Abilities, Call, Observation, mistake
from graphwalker.tools.functions import Function, Parameter, refusal_of, signatures_of

TEXTS = read_texts(__file__)
NEXT, NEXT_TOO, PATH = ("get_possible_next_cells", "get_next_possible_cells", "get_connected_path")
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
    """The tool box of one episode: what was marked, in order; the graph itself never changes. A
    call may name any open cell."""

    def __init__(self, graph: PropertyGraph, question: Question) -> None:
        self.graph = graph
        self._topics = tuple(topic.name for topic in question.topic_entities)
        self.marks: list[int] = []
        self._shown = dict.fromkeys(self._topics)

    @property
    def abilities(self) -> Abilities:
        return Abilities(choices=self.choices)

    def call(self, call: Call) -> Observation:
        if refusal := refusal_of(call, _ACCEPTED):
            return refusal
        if call.tool == PATH:
            return self._connected_path()
        return self._next(str(call.arguments["node_id"]).strip())

    def choices(self, call: Call, argument: str) -> Sequence[str] | None:
        """Return the start, the goal and the open cells that were shown."""
        return [*self._shown] if argument == "node_id" else None

    def entity_id(self, name: str) -> str:
        return next((cell.id for cell in self._cells(name)), "")

    def topic_names(self) -> tuple[str, ...]:
        return self._topics

    def signatures(self) -> str:
        return signatures_of(FUNCTIONS)

    def schema(self) -> str:
        return schema_table(self.graph.schema())

    def _next(self, name: str) -> Observation:
        cells = self._cells(name)
        if not cells:
            return mistake(
                "unknown_cell", f"there is no cell {name[:40]!r}: cells have whole numbers"
            )
        cell = int(name)
        if self._is_wall(cells[0]):
            return mistake("wall", f"cell {cell} is a wall: choose a cell that was shown as open")
        beside = [other for other in self._beside(cells[0]) if not self._is_wall(other)]
        keys = sorted((self._key(other), other) for other in beside)
        if cell not in self.marks:
            self.marks.append(cell)
        self._shown.update(dict.fromkeys([str(cell), *(str(key) for key, _ in keys)]))
        listed = ", ".join(self._describe_cell(key, other) for key, other in keys)
        return Observation(
            f"Open cells beside {cell}: {listed or 'none'}",
            shown=(
                Entity(cells[0].id, str(cell)),
                *(Entity(other.id, str(key)) for key, other in keys),
            ),
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
            return mistake("no_path", f"no cell was visited yet: begin with {NEXT}")
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
            return mistake("no_path", f"{why}: visit the cells between them")
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


_SHOWN = re.compile(r"(\d+) \(euclidean_distance ([\d.]+), marked (true|false)")
_FOUND = re.compile(r"visited cells: \[([\d, ]+)\]")


class MazeOracle(PresetOracle):
    """Knows no more than the tools show. Each thought reads off the unvisited cells and says from
    which cell the next one is entered; it goes back by what it said then. So every choice is a look
    at the last message, or at the one place where a cell was entered: a small model can make it."""

    def plan(self, key: str, question: Question) -> Plan:
        if not self.settings.options.get("tools", True):
            cells = tuple(cell.name for cell in question.answers)
            yield "The maze stands above.", FinalAnswer(cells, "path")
            return
        here, goal = (topic.name for topic in question.topic_entities[:2])
        entered: dict[str, str] = {}
        thought = "I begin at the start."
        while True:
            turn = yield thought, Call(NEXT, {"node_id": here})
            if here == goal:
                break
            if fresh := _unmarked_cells(turn.observation):
                entered[fresh[0]], here = here, fresh[0]
                thought = f"Not visited: {' and '.join(fresh)}. Next is {here} from {entered[here]}"
                thought += ", the goal." if here == goal else "."
            elif here in entered:
                back = entered[here]
                thought = f"Not visited: none. I came to {here} from {back}, so back."
                here = back
            else:
                yield "Nothing is left: there is no way.", FinalAnswer((), "path")
                return
        turn = yield "The goal. Which of these cells make the path?", Call(PATH)
        cells = _FOUND.search(turn.observation)
        yield "That is the path.", FinalAnswer(tuple(cells[1].split(", ")) if cells else (), "path")


def _unmarked_cells(text: str) -> list[str]:
    """Return the open cells that were never visited, the nearest to the goal first."""
    found = [(float(far), cell) for cell, far, marked in _SHOWN.findall(text) if marked == "false"]
    return [cell for _, cell in sorted(found, key=lambda one: one[0])]


def draw_maze(tools: MazeTools, question: Question) -> str:
    """Draw the maze with borders, each open cell with its key. Raises `UserError` for none."""
    if "maze" not in question.annotations:
        raise UserError(f"{question.id}: no maze to draw; `graph mazes` makes questions with one")
    maze = Maze.parse(question.annotations["maze"])
    width = len(str(maze.size**2 - 1))
    marks = {maze.start: "S", maze.goal: "G", **dict.fromkeys(maze.walls, "#")}
    line = "+".join(["", *["-" * (width + 2)] * maze.size, ""])
    rows = [line]
    for first in range(0, maze.size**2, maze.size):
        cells = (marks.get(c, str(c)) for c in range(first, first + maze.size))
        rows += ["|".join(["", *(f" {cell:>{width}} " for cell in cells), ""]), line]
    return "\n".join(rows)


def _protocol(settings: AgentSettings) -> ActionProtocol:
    options = settings.read_options(ToolOptions)
    functions = FUNCTIONS if options.tools else ()
    return FunctionProtocol(functions, PathForm(), parallel=options.parallel)


GRAPHWALK_MAZE = Preset(
    name="graphwalk-maze",
    version=4,
    source=f"{SOURCE}, section 3",
    tools=lambda graph, settings, rank: lambda q: MazeTools(graph_of(graph, q), q),
    protocol=_protocol,
    agent=agent_of("graphwalk-maze", TEXTS, draw_maze),
    # Of 100 cells half are open: each is entered once, and left once by those that go back.
    defaults={"max_turns": 100, "max_observation_chars": 0},
    prompts={"graphwalk-maze": TEXTS["prompt"]},
    options=ToolOptions,
    calls=tuple(function.name for function in FUNCTIONS),
    graphs="mazes (`graph mazes`)",
    oracle=OwnOracle(
        MazeOracle,
        lambda question: question.structure == "maze" and len(question.topic_entities) == 2,
        "a start and a goal (`graph mazes`)",
    ),
)
