"""GraphWalk's agents: the ordinary loop that begins with a schema, and the one without tools."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from graphwalker.agents.base import AgentRun, Log
from graphwalker.agents.io_prompt import single_completion
from graphwalker.agents.prompt import Prompt
from graphwalker.agents.react import ReActAgent
from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.properties import PropertyGraph
from graphwalker.graphs.property.mazes import Maze
from graphwalker.protocols.base import ActionProtocol
from graphwalker.question import Question
from graphwalker.tokens.tool_calls import block_of_tools
from graphwalker.tools.abilities import abilities_of
from graphwalker.tools.base import ToolBox
from graphwalker.tools.maze import MazeTools
from graphwalker.tools.properties import PropertyTools
from graphwalker.trajectory import Message

WholeGraph = Callable[[PropertyTools | MazeTools, Question], str]


@dataclass(frozen=True, slots=True)
class GraphWalkAgent(ReActAgent):
    """Thinks, calls tools and reads, until a message without a call."""

    time: str = ""
    """The time that the prompt tells."""

    def _opening(self, question: Question, tools: ToolBox) -> tuple[Message, ...]:
        assert isinstance(tools, PropertyTools | MazeTools)
        schemas = abilities_of(self.protocol).schemas
        values = {"tools": block_of_tools(schemas), "schema": tools.schema(), "time": self.time}
        return self.prompt.messages(
            {"question": question.text, "max_turns": str(self.max_turns), "entities": "", **values}
        )


@dataclass(frozen=True, slots=True)
class WholeGraphAgent:
    """The baseline without tools: the whole graph stands in the prompt, and one answer counts."""

    protocol: ActionProtocol
    prompt: Prompt
    whole: WholeGraph
    time: str = ""

    def __call__(self, question: Question, tools: ToolBox, log: Log) -> AgentRun:
        assert isinstance(tools, PropertyTools | MazeTools)
        values = {"graph": self.whole(tools, question), "time": self.time, "max_turns": "1"}
        messages = self.prompt.messages(
            {"question": question.text, "tools": "", "entities": "", "schema": "", **values}
        )
        return single_completion(messages, self.protocol, log)


def whole_graph(tools: PropertyTools | MazeTools, question: Question) -> str:
    """Every node and every relationship, as one JSON object. Raises `UserError` for a graph that
    cannot list its nodes."""
    graph = tools.graph
    if not graph.size:
        raise UserError("options.tools=false: the graph cannot list its nodes, so none are shown")
    nodes = [graph.entity_at(place) for place in range(graph.size)]
    known = {node.id: graph.node_properties(node.id) for node in nodes}
    keys = {i: values.get("key", i) for i, values in known.items()}
    shown = [
        {"label": labels[0] if len(labels) == 1 else labels, **known[node.id]}
        for node in nodes
        for labels in [graph.types(node.id)]
    ]
    edges = [
        {"start": keys[node.id], "type": kind, "end": keys.get(end, end), "properties": values}
        for node in nodes
        for kind, end, values in _leaving(graph, node.id)
    ]
    return json.dumps({"nodes": shown, "relationships": edges}, ensure_ascii=False)


def drawn_maze(tools: PropertyTools | MazeTools, question: Question) -> str:
    """The maze with borders, each open cell with its key. Raises `UserError` without a drawing."""
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


def _leaving(graph: PropertyGraph, node: str) -> list[tuple[str, str, dict[str, object]]]:
    return [
        (kind, end.id, values)
        for kind, _ in graph.relations(node, Direction.OUT)
        for end in graph.neighbors(node, kind, Direction.OUT)
        if not is_literal(end.id)
        for values in graph.relationship_properties(node, kind, end.id) or [{}]
    ]
