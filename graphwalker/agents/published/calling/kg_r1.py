"""KG-R1: four tools that look one way, seven turns, calls in `<search>`."""

from collections.abc import Callable

from graphwalker.agents.preset import AgentSettings, Preset
from graphwalker.agents.react import react
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.oracle.speakers import OneWaySpeaker
from graphwalker.protocols.tags import TagProtocol
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker
from graphwalker.tools.base import ToolBox
from graphwalker.tools.listing import lister
from graphwalker.tools.published.one_way import EXAMPLES, OneWayTools


def _tools(
    graph: KnowledgeGraph, settings: AgentSettings, rank: Ranker
) -> Callable[[Question], ToolBox]:
    listed = lister(graph, settings)
    return lambda question: OneWayTools(graph, question, settings, listed)


def _protocol(settings: AgentSettings) -> TagProtocol:
    return TagProtocol(EXAMPLES, call_tag="search")


KG_R1 = Preset(
    name="kg-r1",
    version=3,
    source="KG-R1 (arXiv:2509.26383)",
    tools=_tools,
    protocol=_protocol,
    agent=react,
    # An observation has 512 tokens there; tokens depend on the model, four letters stand for one.
    defaults={"prompt": "kg-r1", "max_turns": 7, "max_observation_chars": 2048},
    calls=tuple(EXAMPLES),
    speaker=OneWaySpeaker(),
)
