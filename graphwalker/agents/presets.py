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
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.oracle.speakers import PagedSpeaker, WalkerSpeaker
from graphwalker.protocols.base import ActionProtocol
from graphwalker.protocols.tags import TagProtocol
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker
from graphwalker.tools.base import ToolBox
from graphwalker.tools.listing import lister
from graphwalker.tools.paged import PAGE, PagedTools
from graphwalker.tools.walker import EXAMPLES, WalkerTools


def walker_tools(
    graph: KnowledgeGraph, settings: AgentSettings, rank: Ranker
) -> Callable[[Question], ToolBox]:
    """GraphWalker's two tools; the episodes share what was listed."""
    listed = lister(graph, settings)
    return lambda question: WalkerTools(graph, question, settings, listed, rank)


def paged_tools(
    graph: KnowledgeGraph, settings: AgentSettings, rank: Ranker
) -> Callable[[Question], ToolBox]:
    """The same two tools with pages."""
    listed = lister(graph, settings)
    return lambda question: PagedTools(graph, question, settings, listed, rank)


def _single_completion(protocol: ActionProtocol, prompt: Prompt, settings: AgentSettings) -> Agent:
    return IOPromptAgent(protocol, prompt)


def _tags(settings: AgentSettings) -> ActionProtocol:
    return TagProtocol(EXAMPLES)


def _paged_tags(settings: AgentSettings) -> ActionProtocol:
    return TagProtocol(EXAMPLES, PAGE)


def _answers_alone(settings: AgentSettings) -> ActionProtocol:
    return TagProtocol({})


GRAPHWALKER = Preset(
    name="graphwalker",
    version=4,
    source="GraphWalker (arXiv:2603.28533)",
    tools=walker_tools,
    protocol=_tags,
    agent=react,
    calls=tuple(EXAMPLES),
    speaker=WalkerSpeaker(),
)
GRAPHWALKER_WIDE = Preset(
    name="graphwalker-wide",
    version=5,
    source="our own: GraphWalker's tools, with 20 triples, pages, and stems or a trained ranker",
    tools=paged_tools,
    protocol=_paged_tags,
    agent=react,
    defaults={"ranker": "stems", "triples_per_relation": 20, "max_turns": 15},
    calls=tuple(EXAMPLES),
    speaker=PagedSpeaker(),
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
    GRAPHWALKER_CODE,
    SEARCH_ON_GRAPH,
    GRAPHWALK,
    GRAPHWALK_MAZE,
    KG_R1,
    IO_PROMPT,
    CHAIN_OF_THOUGHT,
)
