"""The maze's oracle: depth first, the nearest cell to the goal first, back where a way ends."""

import re

from graphwalker.oracle.own import OracleWorld, OwnOracle
from graphwalker.oracle.plan import Plan, PlannedPolicy
from graphwalker.policies.base import Policy
from graphwalker.protocols.base import FinalAnswer
from graphwalker.question import Question
from graphwalker.tools.base import Call
from graphwalker.tools.maze import NEXT, PATH

_CELL = re.compile(r"(\d+) \(euclidean_distance ([\d.]+), marked (true|false)")
_PATH = re.compile(r"visited cells: \[([\d, ]+)\]")


class MazeOracle(PlannedPolicy):
    """Knows no more than the tools show. Its thoughts carry what is left to visit, the best last
    found first, so that a choice depends on the turn before it alone."""

    name = "oracle"

    def plan(self, key: str, question: Question) -> Plan:
        here, goal = (topic.name for topic in question.topic_entities[:2])
        left: list[str] = []
        thought = "I begin at the start."
        while True:
            turn = yield thought, Call(NEXT, {"node_id": here})
            if here == goal:
                break
            fresh = _unmarked(turn.observation)
            left = [*fresh, *(cell for cell in left if cell not in fresh)]
            if not left:
                yield "Nothing is left: there is no way.", FinalAnswer((), "path")
                return
            here = left.pop(0)
            thought = f"Next {here}. Left: {', '.join(left) or 'none'}."
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
