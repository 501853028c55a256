"""The presets `graph-cot`, `text-rag` and `graph-rag`."""

from collections.abc import Callable
from functools import cache

from pydantic import Field

from graphwalker.agents.base import Agent
from graphwalker.agents.preset import AgentSettings, Preset
from graphwalker.agents.prompt import Prompt
from graphwalker.agents.published.dialogue import EpisodeBudget
from graphwalker.agents.published.retrieval.graph_cot import (
    FORMS,
    GraphCotAgent,
    GraphCotTools,
)
from graphwalker.agents.published.retrieval.oracles import GRAPH_COT_ORACLE, RETRIEVAL_ORACLE
from graphwalker.agents.published.retrieval.rag import RagAgent, RagLimits, RagTools
from graphwalker.config import Config, parse_config
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.protocols.base import ActionProtocol
from graphwalker.protocols.forms import FormProtocol
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker
from graphwalker.ranking.nodes.index import NodeIndexName, open_node_index
from graphwalker.tools.base import ToolBox
from graphwalker.tools.listing import lister

GRAPH_COT_PROMPT = """You answer questions over a graph by calling functions on it, then reading \
what they return. Every message of yours is one JSON object.
{tools}
---
Question: {question}
Entities: {entities}"""
RAG_PROMPT = """You answer questions from what was retrieved for them. Your message is one JSON \
object.
---
Question: {question}"""


class GraphCotOptions(Config):
    """`environment.options` of Graph-CoT."""

    index: NodeIndexName = "bm25"
    """What finds nodes by a text: `bm25`, `tfidf`, or `embed:MODEL` (as in the paper)."""
    neighbors: int = Field(default=50, ge=1)
    """Most neighbours that one call shows."""


class TextRagOptions(Config):
    """`environment.options` of text RAG."""

    index: NodeIndexName = "bm25"
    """What finds nodes by the question: `bm25`, `tfidf`, or `embed:MODEL`."""
    nodes: int = Field(default=10, ge=1)
    """Nodes that are retrieved."""
    tokens: int = Field(default=2000, ge=50)
    """Tokens (of four characters) of retrieved text."""


class GraphRagOptions(TextRagOptions):
    """`environment.options` of graph RAG."""

    nodes: int = Field(default=5, ge=1)
    """Nodes that are retrieved, and around which the graph is read."""
    hops: int = Field(default=2, ge=1)
    """Hops around them (GraphRunner, section 4.1)."""
    each: int = Field(default=50, ge=1)
    """Most triples of one node and relation."""


def _graph_cot_tools(
    graph: KnowledgeGraph, settings: AgentSettings, rank: Ranker
) -> Callable[[Question], ToolBox]:
    options = parse_config(GraphCotOptions, settings.options, "environment.options")
    listed = lister(graph, settings)
    index = cache(lambda: open_node_index(graph, options.index))
    return lambda question: GraphCotTools(graph, question, listed, index, options.neighbors)


def _rag_tools(
    graph: KnowledgeGraph, settings: AgentSettings, around: bool
) -> Callable[[Question], ToolBox]:
    if around:
        given = parse_config(GraphRagOptions, settings.options, "environment.options")
        limits = RagLimits(given.nodes, given.hops, given.tokens, given.each)
    else:
        given = parse_config(TextRagOptions, settings.options, "environment.options")
        limits = RagLimits(given.nodes, 0, given.tokens, 50)
    index = cache(lambda: open_node_index(graph, given.index))
    return lambda question: RagTools(graph, question, index, limits)


def _protocol(settings: AgentSettings) -> ActionProtocol:
    return FormProtocol(FORMS)


def _answers_alone(settings: AgentSettings) -> ActionProtocol:
    return FormProtocol({})


def _graph_cot(protocol: ActionProtocol, prompt: Prompt, settings: AgentSettings) -> Agent:
    return GraphCotAgent(protocol, prompt, EpisodeBudget.of(settings))


def _rag(protocol: ActionProtocol, prompt: Prompt, settings: AgentSettings) -> Agent:
    return RagAgent(protocol, prompt, EpisodeBudget.of(settings))


GRAPH_COT = Preset(
    name="graph-cot",
    version=2,
    source="Graph-CoT (Jin et al., 2024), ten steps",
    tools=_graph_cot_tools,
    protocol=_protocol,
    agent=_graph_cot,
    prompts={"graph-cot": GRAPH_COT_PROMPT},
    options=GraphCotOptions,
    oracle=GRAPH_COT_ORACLE,
    calls=tuple(FORMS),
    graphs="graphs that list their nodes",
)
TEXT_RAG = Preset(
    name="text-rag",
    version=2,
    source="retrieval of single nodes (baseline of GraphRunner)",
    tools=lambda graph, settings, rank: _rag_tools(graph, settings, around=False),
    protocol=_answers_alone,
    agent=_rag,
    defaults={"max_turns": 3},
    prompts={"rag": RAG_PROMPT},
    options=TextRagOptions,
    oracle=RETRIEVAL_ORACLE,
    graphs="graphs that list their nodes",
)
GRAPH_RAG = Preset(
    name="graph-rag",
    version=2,
    source="retrieval of nodes with two hops around them (baseline of GraphRunner)",
    tools=lambda graph, settings, rank: _rag_tools(graph, settings, around=True),
    protocol=_answers_alone,
    agent=_rag,
    defaults={"max_turns": 3},
    prompts={"rag": RAG_PROMPT},
    options=GraphRagOptions,
    oracle=RETRIEVAL_ORACLE,
    graphs="graphs that list their nodes",
)
