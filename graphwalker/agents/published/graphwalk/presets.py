"""The presets `graphwalk` and `graphwalk-maze` (GraphWalk, arXiv:2604.01610)."""

from collections.abc import Callable

from graphwalker.agents.base import Agent
from graphwalker.agents.preset import AgentSettings, Preset
from graphwalker.agents.prompt import Prompt
from graphwalker.agents.published.graphwalk import prompts
from graphwalker.agents.published.graphwalk.agent import (
    GraphWalkAgent,
    WholeGraph,
    WholeGraphAgent,
    drawn_maze,
    whole_graph,
)
from graphwalker.agents.published.graphwalk.extraction import Extractor, ExtractorConfig
from graphwalker.agents.published.graphwalk.maze_oracle import MAZE_ORACLE
from graphwalker.agents.published.graphwalk.oracle import ORACLE
from graphwalker.config import Config, parse_config
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.protocols.base import ActionProtocol
from graphwalker.protocols.functions import FunctionProtocol
from graphwalker.protocols.tables import PathForm, RowsForm
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker
from graphwalker.tools import maze, properties
from graphwalker.tools.base import ToolBox
from graphwalker.tools.maze import MazeTools
from graphwalker.tools.properties import PropertyTools, graph_of
from graphwalker.trust import Text

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


def _options(settings: AgentSettings) -> GraphWalkOptions:
    return parse_config(GraphWalkOptions, settings.options, "environment.options")


def _maze_options(settings: AgentSettings) -> MazeOptions:
    return parse_config(MazeOptions, settings.options, "environment.options")


def _tools(
    graph: KnowledgeGraph, settings: AgentSettings, rank: Ranker
) -> Callable[[Question], ToolBox]:
    most = settings.max_observation_chars
    return lambda question: PropertyTools(graph_of(graph, question), question, most)


def _maze_tools(
    graph: KnowledgeGraph, settings: AgentSettings, rank: Ranker
) -> Callable[[Question], ToolBox]:
    return lambda question: MazeTools(graph_of(graph, question), question)


def _protocol(settings: AgentSettings) -> ActionProtocol:
    options = _options(settings)
    extract = Extractor(options.extractor) if options.extractor.chats else None
    functions = properties.FUNCTIONS if options.tools else ()
    return FunctionProtocol(functions, RowsForm(extract=extract), parallel=options.parallel)


def _maze_protocol(settings: AgentSettings) -> ActionProtocol:
    options = _maze_options(settings)
    functions = maze.FUNCTIONS if options.tools else ()
    return FunctionProtocol(functions, PathForm(), parallel=options.parallel)


def _agent(protocol: ActionProtocol, prompt: Prompt, settings: AgentSettings) -> Agent:
    options = _options(settings)
    if not options.tools:
        shown = _without_tools(settings, prompt, prompts.NO_TOOLS)
        return WholeGraphAgent(protocol, shown, whole_graph, options.system_time)
    return _walker(protocol, prompt, settings, options.system_time)


def _maze_agent(protocol: ActionProtocol, prompt: Prompt, settings: AgentSettings) -> Agent:
    if not _maze_options(settings).tools:
        draw: WholeGraph = drawn_maze
        shown = _without_tools(settings, prompt, prompts.MAZE_NO_TOOLS)
        return WholeGraphAgent(protocol, shown, draw)
    return _walker(protocol, prompt, settings, "")


def _without_tools(settings: AgentSettings, prompt: Prompt, text: str) -> Prompt:
    """The prompt of the baseline, unless the user gave one of their own."""
    own = settings.prompt not in (GRAPHWALK.name, GRAPHWALK_MAZE.name)
    return prompt if own else Prompt.read(text, settings.prompt)


def _walker(
    protocol: ActionProtocol, prompt: Prompt, settings: AgentSettings, time: str
) -> GraphWalkAgent:
    return GraphWalkAgent(
        protocol,
        prompt,
        settings.max_turns,
        settings.max_context_tokens,
        settings.max_malformed,
        settings.stop_repeats,
        settings.constrained,
        time=time,
    )


GRAPHWALK = Preset(
    name="graphwalk",
    version=4,
    source=SOURCE,
    tools=_tools,
    protocol=_protocol,
    agent=_agent,
    defaults={"max_turns": 30},
    prompts={"graphwalk": prompts.TOOLS},
    options=GraphWalkOptions,
    calls=tuple(function.name for function in properties.FUNCTIONS),
    graphs="property graphs: compiled, in Neo4j, or a set (`graph synthetic`)",
    oracle=ORACLE,
)
GRAPHWALK_MAZE = Preset(
    name="graphwalk-maze",
    version=3,
    source=f"{SOURCE}, section 3",
    tools=_maze_tools,
    protocol=_maze_protocol,
    agent=_maze_agent,
    # Of 100 cells half are open: each is entered once, and left once by those that go back.
    defaults={"max_turns": 100},
    prompts={"graphwalk-maze": prompts.MAZE},
    options=MazeOptions,
    calls=tuple(function.name for function in maze.FUNCTIONS),
    graphs="mazes (`graph mazes`)",
    oracle=MAZE_ORACLE,
)
