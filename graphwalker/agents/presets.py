"""The registry of presets: the shipped ones by name, the user's own by `module:NAME`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from graphwalker.agents.preset import Preset, listing_tools
from graphwalker.agents.published.ark import ARK, ARK_CODE
from graphwalker.agents.published.gog import GOG
from graphwalker.agents.published.graph_cot import GRAPH_COT
from graphwalker.agents.published.graphrunner.agent import GRAPHRUNNER
from graphwalker.agents.published.graphwalk.agent import GRAPHWALK
from graphwalker.agents.published.graphwalk.maze import GRAPHWALK_MAZE
from graphwalker.agents.published.kg_r1 import KG_R1
from graphwalker.agents.published.rag import GRAPH_RAG, TEXT_RAG
from graphwalker.agents.published.released import GRAPHWALKER_CODE
from graphwalker.agents.published.rog import ROG
from graphwalker.agents.published.search_on_graph import SEARCH_ON_GRAPH
from graphwalker.agents.published.tog import TOG
from graphwalker.agents.react import ANSWERS_ORACLE, REASONING_ORACLE, IOPromptAgent, react
from graphwalker.errors import UserError
from graphwalker.oracle.speakers import PagedSpeaker, WalkerSpeaker
from graphwalker.protocols.tags import TagProtocol
from graphwalker.settings.named import find
from graphwalker.tools.paged import PAGE, PagedTools
from graphwalker.tools.walker import EXAMPLES, WalkerTools

GRAPHWALKER = Preset(
    name="graphwalker",
    version=5,
    source="GraphWalker (arXiv:2603.28533)",
    tools=listing_tools(WalkerTools),
    protocol=lambda settings: TagProtocol(EXAMPLES, lenient=settings.is_lenient),
    agent=react,
    calls=tuple(EXAMPLES),
    speaker=WalkerSpeaker(),
)
GRAPHWALKER_WIDE = Preset(
    name="graphwalker-wide",
    version=7,
    source="our own: GraphWalker's tools, with 20 triples, pages, and stems or a trained ranker",
    tools=listing_tools(PagedTools),
    protocol=lambda settings: TagProtocol(EXAMPLES, PAGE, lenient=settings.is_lenient),
    agent=react,
    defaults={"ranker": "stems", "triples_per_relation": 20, "max_turns": 15},
    calls=tuple(EXAMPLES),
    speaker=PagedSpeaker(),
)
IO_PROMPT = Preset(
    name="io-prompt",
    version=3,
    source="GraphWalker (arXiv:2603.28533), Table 2",
    tools=listing_tools(WalkerTools),
    protocol=lambda settings: TagProtocol({}, lenient=settings.is_lenient),
    agent=IOPromptAgent,
    defaults={"prompt": "io"},
    oracle=ANSWERS_ORACLE,
    graphs="none: the graph only scores its answers",
)
CHAIN_OF_THOUGHT = replace(
    IO_PROMPT,
    name="chain-of-thought",
    version=1,
    source="chain of thought without a graph (GraphWalker Table 2); with samples=N also "
    "self-consistency, with environment.exemplars=N few-shot",
    defaults={"prompt": "chain-of-thought"},
    oracle=REASONING_ORACLE,
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
PUBLISHED = (ARK, ARK_CODE, GRAPHRUNNER, TOG, ROG, GOG, GRAPH_COT, TEXT_RAG, GRAPH_RAG)


def presets() -> Mapping[str, Preset]:
    """Return the shipped presets by name."""
    return {preset.name: preset for preset in (*SHIPPED, *PUBLISHED)}


def find_preset(name: str) -> Preset:
    """Return the preset of that name, or the user's own by `module:NAME`. Raises `UserError`."""
    found: Any = find(presets(), name, "preset")
    if not isinstance(found, Preset):
        raise UserError(f"preset {name}: a {type(found).__name__} is no Preset")
    return found
