"""The presets `ark-v1` and `ark-v1-code`: they differ in how attempts are counted."""

import logging
from collections.abc import Callable
from functools import cache, partial

from pydantic import Field

from graphwalker.agents.base import Agent
from graphwalker.agents.preset import AgentSettings, Preset
from graphwalker.agents.prompt import Prompt
from graphwalker.agents.published.ark.agent import ArkAgent
from graphwalker.agents.published.ark.oracle import ORACLE
from graphwalker.agents.published.ark.prompts import FORMS
from graphwalker.agents.published.ark.tools import ArkTools, Nearest
from graphwalker.agents.published.dialogue import EpisodeBudget
from graphwalker.config import Config, parse_config
from graphwalker.graphs.base import Entity, KnowledgeGraph
from graphwalker.protocols.base import ActionProtocol
from graphwalker.protocols.forms import FormProtocol
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker
from graphwalker.ranking.nodes.index import NodeIndexName, open_node_index
from graphwalker.tools.base import ToolBox
from graphwalker.tools.listing import lister

log = logging.getLogger(__name__)

PROMPT = """You answer questions with the help of a knowledge graph of triples (head, relation, \
tail). You explore it in reasoning steps: you choose an entity, one of its outgoing relations, \
then the triples that matter, and say what follows from them. After each step you sum up, and only \
the summary is kept. Answer from the triples found together with common sense. Every message of \
yours is one JSON object as requested, names copied as shown.
---
Question: {question}
Entities: {entities}"""


class ArkOptions(Config):
    """`environment.options` of ARK-V1."""

    attempts: int = Field(default=5, ge=1)
    """C_max: attempts at an anchor, a relation, or a reasoning (the released code's number)."""
    steps: int = Field(default=8, ge=1)
    """K_max: reasoning steps (the released code's number)."""
    relations: int = Field(default=200, ge=1)
    """Most relations of an anchor that are listed."""
    triples: int = Field(default=50, ge=1)
    """Most triples of a relation that are shown."""
    nearest: NodeIndexName = "tfidf"
    """What proposes entities after a wrong name: a node index (`bm25`, `tfidf`, `embed:MODEL`;
    the paper's code takes `embed:sentence-transformers/all-MiniLM-L6-v2`), or `none`."""
    nearest_nodes: int = Field(default=1_000_000, ge=0)
    """Graphs of more nodes are not indexed for that; then only names seen so far are proposed."""


def _options(settings: AgentSettings) -> ArkOptions:
    return parse_config(ArkOptions, settings.options, "environment.options")


def _tools(
    graph: KnowledgeGraph, settings: AgentSettings, rank: Ranker
) -> Callable[[Question], ToolBox]:
    options, listed = _options(settings), lister(graph, settings)
    limits = options.relations, options.triples
    nearest = _nearest(graph, options)
    return lambda question: ArkTools(graph, question, listed, nearest, limits)


def _nearest(graph: KnowledgeGraph, options: ArkOptions) -> Nearest:
    """The index is opened at the first wrong name."""
    if options.nearest == "none" or not 0 < graph.size <= options.nearest_nodes:
        return lambda name, limit: []
    opened = cache(lambda: open_node_index(graph, options.nearest))

    def find(name: str, limit: int) -> list[Entity]:
        return [hit.entity for hit in opened().search(name[:200], limit=limit)]

    return find


def _protocol(settings: AgentSettings) -> ActionProtocol:
    return FormProtocol(FORMS)


def _agent(
    protocol: ActionProtocol, prompt: Prompt, settings: AgentSettings, code: bool = False
) -> Agent:
    options = _options(settings)
    budget = EpisodeBudget.of(settings)
    return ArkAgent(protocol, prompt, budget, options.attempts, options.steps, code)


ARK = Preset(
    name="ark-v1",
    version=2,
    source="ARK-V1 (Klein and Ohnemus, 2025); the fifth of five attempts may succeed",
    tools=_tools,
    protocol=_protocol,
    agent=_agent,
    # Eight steps of four completions, and room for wrong attempts; K_max ends it before.
    defaults={"max_turns": 60, "max_malformed": 5},
    prompts={"ark-v1": PROMPT},
    options=ArkOptions,
    oracle=ORACLE,
    calls=tuple(FORMS),
    graphs="any graph with names; it walks outgoing relations alone",
)
ARK_CODE = Preset(
    name="ark-v1-code",
    version=2,
    source="ARK-V1 as its equations and its released code count attempts: of five, four can win",
    tools=_tools,
    protocol=_protocol,
    agent=partial(_agent, code=True),
    defaults=ARK.defaults,
    prompts=ARK.prompts,
    options=ArkOptions,
    oracle=ORACLE,
    calls=tuple(FORMS),
    graphs="any graph with names; it walks outgoing relations alone",
)
