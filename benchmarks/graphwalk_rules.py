"""Rules that answer GraphWalk's questions without a model: what the first right call shows."""

import random
from typing import Any

from graphwalker.agents.published.graphwalk.lines import read_lines
from graphwalker.agents.published.graphwalk.oracle import GraphWalkOracle
from graphwalker.answers.rows import Rows, row_text
from graphwalker.oracle.own import OracleWorld
from graphwalker.oracle.plan import Plan
from graphwalker.protocols.base import FinalAnswer
from graphwalker.question import Question
from graphwalker.tools.base import Call
from graphwalker.tools.properties import AROUND, FIND

RULES = ("first of the list", "any of the list")


class OneOfTheList(GraphWalkOracle):
    """Makes the oracle's first look at nodes and answers with one line that it shows: the first
    one, or any, drawn by the question."""

    def __init__(self, world: OracleWorld, drawn: bool) -> None:
        super().__init__(world)
        self.name = RULES[drawn]
        self._drawn = drawn

    def plan(self, key: str, question: Question) -> Plan:
        steps = super().plan(key, question)
        _, call = next(steps)
        while True:
            assert isinstance(call, Call)
            turn = yield "", call
            if call.tool in (AROUND, FIND):
                break
            _, call = steps.send(turn)
        lines = read_lines(turn.observation)
        line = random.Random(key).choice(lines) if self._drawn and lines else (lines or [{}])[0]
        yield "", FinalAnswer((row_text(_row(question, line, len(lines))),), "rows")


def _row(question: Question, line: dict[str, Any], lines: int) -> dict[str, Any]:
    """The line as the row that the question wants."""
    assert isinstance(question.gold, Rows)
    columns = next(iter((*question.gold.rows, *question.gold.ties)))
    kind: dict[str, Any] = line.get("relationship", {})
    node: dict[str, Any] = line.get("node", line)
    here = str(line.get("center", node.get("key", "")))
    there = str(node.get("key", ""))
    known = {
        "node_key": here,
        "source_key": here,
        "source_node_key": here,
        "target_key": there,
        "target_node_key": there,
        "count": lines,
        "rel_count": lines,
        "value": there,
    }
    return {name: known.get(name, kind.get("properties", {}).get(name)) for name in columns}
