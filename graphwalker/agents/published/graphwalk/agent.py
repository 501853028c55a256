"""GraphWalk (arXiv:2604.01610): agents with tools and without, over property graphs and mazes."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from graphwalker.agents.base import Agent, AgentRun, Log
from graphwalker.agents.preset import AgentSettings, Preset
from graphwalker.agents.prompt import Prompt
from graphwalker.agents.published.graphwalk.oracle import GRAPHWALK_ORACLE, MAZE_ORACLE
from graphwalker.agents.react import ReActAgent, single_completion
from graphwalker.config import Config
from graphwalker.errors import UserError
from graphwalker.files import cache_folder
from graphwalker.graphs.base import Direction, KnowledgeGraph
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.properties import PropertyGraph
from graphwalker.graphs.property.mazes import Maze
from graphwalker.policies.chat.client import Completions
from graphwalker.policies.chat.config import OptionalChatConfig
from graphwalker.protocols.answers import PathForm, RowsForm
from graphwalker.protocols.base import ActionProtocol
from graphwalker.protocols.functions import FunctionProtocol
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker
from graphwalker.tools import maze, properties
from graphwalker.tools.base import ToolBox, unwrap_tools
from graphwalker.tools.maze import MazeTools
from graphwalker.tools.properties import PropertyTools, graph_of
from graphwalker.trust import Address, FilePath, Text

TOOLS_PROMPT = """\
You answer questions about a property graph. It is stored in a database that you reach \
through tools alone: each tool runs one fixed Cypher query, and you cannot write queries.

{tools}

This is the schema of the graph, a line for each property:
<schema>
{schema}
</schema>

The time is {time}.

How to work:
- Go step by step. An answer may take a look at every node.
- Copy labels, types of relationships, property names and values exactly as they are shown.
- A result that ends in "..." is not complete.
- The tools always give the same result for the same call, so never repeat one.
- The question says in which form it wants its answer. Keep to it.
- As soon as you know the answer, write it in a message without any call. That ends your work.
---
{question}
"""

NO_TOOLS_PROMPT = """\
You answer questions about a property graph. This is all of it, as JSON: its \
nodes by key, with label and properties, and its relationships from start to end, with type and \
properties.
<graph>
{graph}
</graph>

The time is {time}.

The question says in which form it wants its answer. Keep to it.
---
{question}
"""

MAZE_PROMPT = """\
You look for the way through a maze. It is a property graph: every cell is a node, and \
ADJACENT relationships join the cells that share a side. You reach it through tools alone.

{tools}

This is the schema of the graph, a line for each property:
<schema>
{schema}
</schema>

How to work:
- Go step by step, from the start on. You see the open cells beside a cell when you ask for them.
- euclidean_distance tells how far a cell is from the goal as the crow flies; there may be walls \
between.
- marked tells whether you visited a cell, mark_order when: -1 stands for never.
- Where a way ends, go back to a visited cell that has open cells which you have not visited.
- At the goal, leave out the cells that were detours.
- End with a message without any call that holds the keys of the path's cells as a JSON list, from \
the start to the goal, each beside the one before it, such as [0, 1, 11].
---
{question}
"""

MAZE_NO_TOOLS_PROMPT = """\
You look for the way through a maze. This is all of it. Each cell shows its \
key; S and G stand on the start and the goal, # on a wall. Keys count from 0, row by row. The \
lines between the cells are there to look at only, they are no walls.

{graph}

A path goes from cell to cell up, down, left or right, never through a wall. Answer with the keys \
of its cells as a JSON list, from the start to the goal, such as [0, 1, 11].
---
{question}
"""


_ASK = """A question about a graph was answered in words. Write the rows of that answer as a JSON \
list of objects, with the columns that the question asks for. Copy what the answer says; add \
nothing and judge nothing. Where it holds no answer, write NONE.

The answer:
{text}"""


class ExtractorConfig(OptionalChatConfig):
    """An OpenAI-compatible server that reads rows out of an answer without JSON (the paper:
    gpt-4o-mini). Nothing is sent for an answer that holds JSON."""

    base_url: Address = ""
    """Address up to and without `/chat/completions`. Empty: no such reader."""
    model: Text = ""
    """The model's name on that server."""
    max_tokens: int = Field(default=2048, ge=16)
    """Completion tokens of one extraction; it is drawn at temperature 0."""
    cache_dir: FilePath = ""
    """Where extractions are kept: the same text is paid for once. Empty: `graphwalker/extractor`
    in the user's cache folder."""


class Extractor:
    """Reads rows out of words. Raises `PolicyError` where the server fails."""

    def __init__(self, config: ExtractorConfig) -> None:
        self._config = config
        folder = config.cache_dir or cache_folder() / "extractor"
        self._completions = Completions(config, config.model, Path(folder))

    def __call__(self, text: str) -> str:
        return self._completions.complete(
            [{"role": "user", "content": _ASK.replace("{text}", text)}],
            temperature=0.0,
            max_tokens=self._config.max_tokens,
            seed=0,
            purpose="extract",
        ).text


WholeGraph = Callable[[PropertyTools | MazeTools, Question], str]


@dataclass(frozen=True, slots=True)
class GraphWalkAgent(ReActAgent):
    """Thinks, calls tools and reads, until a message without a call."""

    time: str = ""
    """The time that the prompt tells."""

    def _more_values(self, tools: ToolBox) -> Mapping[str, str]:
        tools = unwrap_tools(tools)
        assert isinstance(tools, PropertyTools | MazeTools)
        return {"schema": tools.schema(), "time": self.time, "entities": ""}


@dataclass(frozen=True, slots=True)
class WholeGraphAgent:
    """The baseline without tools: the whole graph stands in the prompt, and one answer counts."""

    protocol: ActionProtocol
    prompt: Prompt
    whole: WholeGraph
    time: str = ""

    def __call__(self, question: Question, tools: ToolBox, log: Log) -> AgentRun:
        tools = unwrap_tools(tools)
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


SOURCE = "GraphWalk (arXiv:2604.01610)"


class MazeOptions(Config):
    """`environment.options` of `graphwalk-maze`."""

    tools: bool = True
    """false: the baseline without tools; the whole maze stands in the prompt."""
    parallel: bool = True
    """A message may hold several calls. false: it ends at its first call, which formats with inline
    observations need (tiny models)."""


class GraphWalkOptions(Config):
    """`environment.options` of `graphwalk`."""

    tools: bool = True
    """false: the baseline without tools; the whole graph stands in the prompt."""
    parallel: bool = True
    """A message may hold several calls. false: it ends at its first call, which formats with inline
    observations need (tiny models)."""
    system_time: Text = "2026-01-01 12:00:00"
    """The time that the prompt tells, always the same, so that runs can be repeated."""
    extractor: ExtractorConfig = ExtractorConfig()
    """A chat model that reads the rows of an answer without JSON. Without one such an answer is
    malformed, and the agent is told so."""


def _tools(
    graph: KnowledgeGraph, settings: AgentSettings, rank: Ranker
) -> Callable[[Question], ToolBox]:
    most = settings.max_observation_chars or 0
    return lambda question: PropertyTools(graph_of(graph, question), question, most)


def _maze_tools(
    graph: KnowledgeGraph, settings: AgentSettings, rank: Ranker
) -> Callable[[Question], ToolBox]:
    return lambda question: MazeTools(graph_of(graph, question), question)


def _protocol(settings: AgentSettings) -> ActionProtocol:
    options = settings.read_options(GraphWalkOptions)
    extract = Extractor(options.extractor) if options.extractor.chats else None
    functions = properties.FUNCTIONS if options.tools else ()
    return FunctionProtocol(functions, RowsForm(extract=extract), parallel=options.parallel)


def _maze_protocol(settings: AgentSettings) -> ActionProtocol:
    options = settings.read_options(MazeOptions)
    functions = maze.FUNCTIONS if options.tools else ()
    return FunctionProtocol(functions, PathForm(), parallel=options.parallel)


def _agent(protocol: ActionProtocol, prompt: Prompt, settings: AgentSettings) -> Agent:
    options = settings.read_options(GraphWalkOptions)
    if not options.tools:
        shown = _without_tools(settings, prompt, NO_TOOLS_PROMPT)
        return WholeGraphAgent(protocol, shown, whole_graph, options.system_time)
    return GraphWalkAgent(protocol, prompt, settings, options.system_time)


def _maze_agent(protocol: ActionProtocol, prompt: Prompt, settings: AgentSettings) -> Agent:
    if not settings.read_options(MazeOptions).tools:
        draw: WholeGraph = drawn_maze
        shown = _without_tools(settings, prompt, MAZE_NO_TOOLS_PROMPT)
        return WholeGraphAgent(protocol, shown, draw)
    return GraphWalkAgent(protocol, prompt, settings)


def _without_tools(settings: AgentSettings, prompt: Prompt, text: str) -> Prompt:
    """The prompt of the baseline, unless the user gave one of their own."""
    own = settings.prompt not in (GRAPHWALK.name, GRAPHWALK_MAZE.name)
    return prompt if own else Prompt.read(text, settings.prompt)


GRAPHWALK = Preset(
    name="graphwalk",
    version=5,
    source=SOURCE,
    tools=_tools,
    protocol=_protocol,
    agent=_agent,
    defaults={"max_turns": 30, "max_observation_chars": 0},
    prompts={"graphwalk": TOOLS_PROMPT},
    options=GraphWalkOptions,
    calls=tuple(function.name for function in properties.FUNCTIONS),
    graphs="property graphs: compiled, in Neo4j, or a set (`graph synthetic`)",
    oracle=GRAPHWALK_ORACLE,
)
GRAPHWALK_MAZE = Preset(
    name="graphwalk-maze",
    version=4,
    source=f"{SOURCE}, section 3",
    tools=_maze_tools,
    protocol=_maze_protocol,
    agent=_maze_agent,
    # Of 100 cells half are open: each is entered once, and left once by those that go back.
    defaults={"max_turns": 100, "max_observation_chars": 0},
    prompts={"graphwalk-maze": MAZE_PROMPT},
    options=MazeOptions,
    calls=tuple(function.name for function in maze.FUNCTIONS),
    graphs="mazes (`graph mazes`)",
    oracle=MAZE_ORACLE,
)
