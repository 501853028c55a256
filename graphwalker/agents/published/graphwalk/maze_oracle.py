"""The maze's oracle: depth first, the nearest cell to the goal first, back where a way ends."""

import re
from collections.abc import Mapping

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
    """Knows no more than the tools show; a choice depends on what was shown last and on which cells
    stand open from before."""

    name = "oracle"

    def plan(self, key: str, question: Question) -> Plan:
        start, goal = (topic.name for topic in question.topic_entities[:2])
        here, way = start, [start]
        beside: dict[str, list[str]] = {}
        why = "I begin at the start."
        while True:
            turn = yield why, Call(NEXT, {"node_id": here})
            if here == goal:
                break
            found = _CELL.findall(turn.observation)
            beside[here] = [cell for cell, *_ in sorted(found, key=lambda one: float(one[1]))]
            while way and not _unvisited(beside[way[-1]], beside):
                way.pop()
            if not way:
                yield "There is no way to the goal.", FinalAnswer((), "path")
                return
            back = way[-1] != here
            here = _unvisited(beside[way[-1]], beside)[0]
            way.append(here)
            why = f"No way on, so back to {way[-2]}." if back else "On, nearer to the goal."
        turn = yield "The goal. Which of these cells make the path?", Call(PATH)
        cells = _PATH.search(turn.observation)
        yield "That is the path.", FinalAnswer(tuple(cells[1].split(", ")) if cells else (), "path")


def _unvisited(cells: list[str], visited: Mapping[str, object]) -> list[str]:
    return [cell for cell in cells if cell not in visited]


def _make(world: OracleWorld) -> Policy:
    return MazeOracle(world.graph, world.protocol)


def _plays(question: Question) -> bool:
    return question.structure == "maze" and len(question.topic_entities) == 2


MAZE_ORACLE = OwnOracle(_make, _plays, "a start and a goal (`graph mazes`)")
