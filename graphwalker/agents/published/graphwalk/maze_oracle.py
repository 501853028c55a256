"""The maze's oracle: depth first, the nearest cell to the goal first, back step by step where a way
ends."""

import re

from graphwalker.oracle.plan import OracleWorld, OwnOracle, Plan, PlannedPolicy
from graphwalker.policies.base import Policy
from graphwalker.protocols.base import FinalAnswer
from graphwalker.question import Question
from graphwalker.tools.base import Call
from graphwalker.tools.maze import NEXT, PATH

_CELL = re.compile(r"(\d+) \(euclidean_distance ([\d.]+), marked (true|false)")
_PATH = re.compile(r"visited cells: \[([\d, ]+)\]")


class MazeOracle(PlannedPolicy):
    """Knows no more than the tools show. Each thought reads off the unvisited cells and says from
    which cell the next one is entered; it goes back by what it said then. So every choice is a look
    at the last message, or at the one place where a cell was entered: a small model can make it."""

    name = "oracle"

    def plan(self, key: str, question: Question) -> Plan:
        here, goal = (topic.name for topic in question.topic_entities[:2])
        entered: dict[str, str] = {}
        thought = "I begin at the start."
        while True:
            turn = yield thought, Call(NEXT, {"node_id": here})
            if here == goal:
                break
            if fresh := _unmarked(turn.observation):
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
        cells = _PATH.search(turn.observation)
        yield "That is the path.", FinalAnswer(tuple(cells[1].split(", ")) if cells else (), "path")


def _unmarked(text: str) -> list[str]:
    """The open cells that were never visited, the nearest to the goal first."""
    found = [(float(far), cell) for cell, far, marked in _CELL.findall(text) if marked == "false"]
    return [cell for _, cell in sorted(found, key=lambda one: one[0])]


def _make(world: OracleWorld) -> Policy:
    return MazeOracle(world.graph, world.protocol)


def _plays(question: Question) -> bool:
    return question.structure == "maze" and len(question.topic_entities) == 2


MAZE_ORACLE = OwnOracle(_make, _plays, "a start and a goal (`graph mazes`)")
