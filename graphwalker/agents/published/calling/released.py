"""GraphWalker as its released client plays it: ten relations, its LIMITs, no early end."""

from collections.abc import Callable

from graphwalker.agents.preset import AgentSettings, Preset
from graphwalker.agents.react import react
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.oracle.speakers import ReleasedSpeaker
from graphwalker.protocols.tags import TagProtocol
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker
from graphwalker.tools.base import ToolBox
from graphwalker.tools.listing import lister
from graphwalker.tools.published.released import ReleasedTools
from graphwalker.tools.walker import EXAMPLES


def _tools(
    graph: KnowledgeGraph, settings: AgentSettings, rank: Ranker
) -> Callable[[Question], ToolBox]:
    flat = lister(graph, settings)
    return lambda question: ReleasedTools(graph, question, settings, flat, rank)


def _protocol(settings: AgentSettings) -> TagProtocol:
    return TagProtocol(EXAMPLES)


GRAPHWALKER_CODE = Preset(
    name="graphwalker-code",
    version=2,
    source="GraphWalker (arXiv:2603.28533), its released client; score with graphwalker_em",
    tools=_tools,
    protocol=_protocol,
    agent=react,
    defaults={"top_relations": 10, "ranker": "bm25-ids", "max_malformed": 0},
    calls=tuple(EXAMPLES),
    speaker=ReleasedSpeaker(),
)
