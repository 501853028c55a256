"""The shipped presets: GraphWalker's agent, the same with wider tools, and the published ones."""

from collections.abc import Callable

from graphwalker.agents.base import Agent
from graphwalker.agents.io_prompt import ORACLE, IOPromptAgent
from graphwalker.agents.preset import AgentSettings, Preset
from graphwalker.agents.prompt import Prompt
from graphwalker.agents.published.calling.kg_r1 import KG_R1
from graphwalker.agents.published.calling.released import GRAPHWALKER_CODE
from graphwalker.agents.published.calling.search_on_graph import SEARCH_ON_GRAPH
from graphwalker.agents.published.graphwalk.presets import GRAPHWALK, GRAPHWALK_MAZE
from graphwalker.agents.react import react
from graphwalker.config import parse_config
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.oracle.speakers import (
    FrontierSpeaker,
    PointingSpeaker,
    ReferenceSpeaker,
    Speaker,
    TypedSpeaker,
    WalkerSpeaker,
)
from graphwalker.protocols.base import ActionProtocol
from graphwalker.protocols.tags import TagProtocol
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker
from graphwalker.tools.base import ToolBox
from graphwalker.tools.listing import lister, many_lister
from graphwalker.tools.walker import EXAMPLES, WalkerTools
from graphwalker.tools.wide.frontier import FrontierOptions, FrontierTools
from graphwalker.tools.wide.paged import PAGE
from graphwalker.tools.wide.references import ReferenceTools, WideOptions


def walker_tools(
    graph: KnowledgeGraph, settings: AgentSettings, rank: Ranker
) -> Callable[[Question], ToolBox]:
    """GraphWalker's two tools; the episodes share what was listed."""
    listed = lister(graph, settings)
    return lambda question: WalkerTools(graph, question, settings, listed, rank)


def reference_tools(
    graph: KnowledgeGraph, settings: AgentSettings, rank: Ranker
) -> Callable[[Question], ToolBox]:
    """The same two tools, with pages and with results that an answer may point at."""
    listed = lister(graph, settings)
    options = parse_config(WideOptions, settings.options, "environment.options")
    return lambda question: ReferenceTools(graph, question, settings, listed, rank, options)


def frontier_tools(
    graph: KnowledgeGraph, settings: AgentSettings, rank: Ranker
) -> Callable[[Question], ToolBox]:
    """The same, where a call may start at all entities of a result."""
    listed, list_many = lister(graph, settings), many_lister(graph, settings)
    options = parse_config(FrontierOptions, settings.options, "environment.options")
    return lambda question: FrontierTools(
        graph, question, settings, listed, rank, options, list_many
    )


def _single_completion(protocol: ActionProtocol, prompt: Prompt, settings: AgentSettings) -> Agent:
    return IOPromptAgent(protocol, prompt)


def _tags(settings: AgentSettings) -> ActionProtocol:
    return TagProtocol(EXAMPLES)


def _paged_tags(settings: AgentSettings) -> ActionProtocol:
    return TagProtocol(EXAMPLES, PAGE)


def _answers_alone(settings: AgentSettings) -> ActionProtocol:
    return TagProtocol({})


def _wide_speaker(settings: AgentSettings) -> Speaker:
    types = parse_config(WideOptions, settings.options, "environment.options").types
    return TypedSpeaker() if types else ReferenceSpeaker()


def _frontier_speaker(settings: AgentSettings) -> Speaker:
    points = parse_config(FrontierOptions, settings.options, "environment.options").pointing
    return PointingSpeaker() if points else FrontierSpeaker()


GRAPHWALKER = Preset(
    name="graphwalker",
    version=3,
    source="GraphWalker (arXiv:2603.28533)",
    tools=walker_tools,
    protocol=_tags,
    agent=react,
    calls=tuple(EXAMPLES),
    speaker=WalkerSpeaker(),
)
GRAPHWALKER_WIDE = Preset(
    name="graphwalker-wide",
    version=3,
    source="our own: GraphWalker's tools, with 20 triples, pages, answers that point at results "
    "and at what results share, and stems or a trained ranker",
    tools=reference_tools,
    protocol=_paged_tags,
    agent=react,
    defaults={"ranker": "stems", "triples_per_relation": 20, "max_turns": 15},
    calls=tuple(EXAMPLES),
    options=WideOptions,
    speaker=_wide_speaker,
)
GRAPHWALKER_FRONTIER = Preset(
    name="graphwalker-frontier",
    version=1,
    source="our own: as graphwalker-wide, and a call may start at all entities of a result",
    tools=frontier_tools,
    protocol=_paged_tags,
    agent=react,
    defaults=GRAPHWALKER_WIDE.defaults,
    options=FrontierOptions,
    calls=tuple(EXAMPLES),
    speaker=_frontier_speaker,
)
IO_PROMPT = Preset(
    name="io-prompt",
    version=3,
    source="GraphWalker (arXiv:2603.28533), Table 2",
    tools=walker_tools,
    protocol=_answers_alone,
    agent=_single_completion,
    defaults={"prompt": "io"},
    oracle=ORACLE,
    graphs="none: the graph only scores its answers",
)
CHAIN_OF_THOUGHT = Preset(
    name="chain-of-thought",
    version=1,
    source="chain of thought without a graph (GraphWalker Table 2); with samples=N also "
    "self-consistency",
    tools=walker_tools,
    protocol=_answers_alone,
    agent=_single_completion,
    defaults={"prompt": "chain-of-thought"},
    oracle=ORACLE,
    graphs="none: the graph only scores its answers",
)
SHIPPED = (
    GRAPHWALKER,
    GRAPHWALKER_WIDE,
    GRAPHWALKER_FRONTIER,
    GRAPHWALKER_CODE,
    SEARCH_ON_GRAPH,
    GRAPHWALK,
    GRAPHWALK_MAZE,
    KG_R1,
    IO_PROMPT,
    CHAIN_OF_THOUGHT,
)
