"""The preset `graphrunner`."""

from collections.abc import Callable
from functools import cache

from pydantic import Field

from graphwalker.agents.base import Agent
from graphwalker.agents.preset import AgentSettings, Preset
from graphwalker.agents.prompt import Prompt
from graphwalker.agents.published.dialogue import EpisodeBudget
from graphwalker.agents.published.graphrunner.agent import FORMS, GraphRunnerAgent
from graphwalker.agents.published.graphrunner.oracle import ORACLE
from graphwalker.agents.published.graphrunner.schema import traversal_schema
from graphwalker.agents.published.graphrunner.tools import RunnerLimits, RunnerTools
from graphwalker.config import Config, parse_config
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.protocols.base import ActionProtocol
from graphwalker.protocols.forms import FormProtocol
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker
from graphwalker.ranking.nodes.index import NodeIndexName, open_node_index
from graphwalker.tools.base import ToolBox
from graphwalker.trust import Text

PROMPT = """You answer questions over a graph. You write a plan of traversal steps that is checked \
and executed for you, then you answer from the nodes that it found. Every message of yours is one \
JSON object as requested.
---
Question: {question}
Entities: {entities}
{tools}"""


class RunnerOptions(Config):
    """`environment.options` of GraphRunner."""

    index: NodeIndexName = "bm25"
    """What finds nodes by a hint: `bm25`, `tfidf`, or `embed:MODEL` (sentence-transformers, as in
    the paper)."""
    theta: float = Field(default=0.8, ge=0, le=1)
    """A node is found whose similarity is at least this share of the best one's."""
    hits: int = Field(default=5, ge=1)
    """Most nodes that one hint finds."""
    nodes: int = Field(default=1000, ge=1)
    """Most nodes that a step keeps."""
    answer_tokens: int = Field(default=2000, ge=50)
    """Tokens (of four characters) of retrieved nodes that the answer is written from."""
    replans: int = Field(default=3, ge=0)
    """Further plans after one that verification rejects."""
    schema_edges: int = Field(default=200, ge=1)
    """Edge types in the prompt; of more, those that fit the question best."""
    examples: Text = ""
    """Plans for questions of the domain, as text, put before the actions."""


def _options(settings: AgentSettings) -> RunnerOptions:
    return parse_config(RunnerOptions, settings.options, "environment.options")


def _tools(
    graph: KnowledgeGraph, settings: AgentSettings, rank: Ranker
) -> Callable[[Question], ToolBox]:
    options = _options(settings)
    limits = RunnerLimits(
        options.hits, options.theta, options.nodes, options.answer_tokens, options.schema_edges
    )
    # Made for the first episode: a graph that is only described or compared needs neither.
    shared = cache(lambda: (traversal_schema(graph), open_node_index(graph, options.index)))

    def tools(question: Question) -> ToolBox:
        return RunnerTools(graph, question, *shared(), limits)

    return tools


def _protocol(settings: AgentSettings) -> ActionProtocol:
    return FormProtocol(FORMS)


def _agent(protocol: ActionProtocol, prompt: Prompt, settings: AgentSettings) -> Agent:
    options = _options(settings)
    budget = EpisodeBudget.of(settings)
    return GraphRunnerAgent(protocol, prompt, budget, options.examples, options.replans)


GRAPHRUNNER = Preset(
    name="graphrunner",
    version=2,
    source="GraphRunner (Kashmira et al., 2025)",
    tools=_tools,
    protocol=_protocol,
    agent=_agent,
    prompts={"graphrunner": PROMPT},
    options=RunnerOptions,
    oracle=ORACLE,
    calls=tuple(FORMS),
    graphs="property graphs, and others of at most 200,000 named nodes",
)
