"""The presets `tog`, `rog` and `gog`."""

from collections.abc import Callable
from typing import TypeVar

from pydantic import Field

from graphwalker.agents.base import Agent
from graphwalker.agents.preset import AgentSettings, Preset
from graphwalker.agents.prompt import Prompt
from graphwalker.agents.published.dialogue import EpisodeBudget
from graphwalker.agents.published.pathwise import gog, rog, tog
from graphwalker.agents.published.pathwise.oracles import GOG_ORACLE, ROG_ORACLE, TOG_ORACLE
from graphwalker.agents.published.pathwise.tools import PathTools
from graphwalker.config import Config, parse_config
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.protocols.base import ActionProtocol
from graphwalker.protocols.forms import FormProtocol, JsonForm
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker
from graphwalker.tools.base import ToolBox
from graphwalker.tools.listing import lister

C = TypeVar("C", bound=Config)
_PROMPT = """You answer questions with the help of a knowledge graph. {role} Every message of \
yours is one JSON object as requested, names copied as shown.
---
Question: {{question}}
Entities: {{entities}}"""
TOG_PROMPT = _PROMPT.format(role="Paths are explored for you: you say which are worth following.")
ROG_PROMPT = _PROMPT.format(role="You plan paths of relations, then read what they lead to.")
GOG_PROMPT = (
    _PROMPT.format(role="The graph is incomplete: what it lacks you may generate yourself.")
    + "\n{tools}"
)


class PathOptions(Config):
    """What the look-ups of these agents show."""

    ends: int = Field(default=50, ge=1)
    """Most entities that one relation leads to."""


class TogOptions(PathOptions):
    """`environment.options` of ToG, with the paper's numbers."""

    width: int = Field(default=3, ge=1)
    """Paths that are kept."""
    depth: int = Field(default=3, ge=1)
    """Hops of the longest path."""


class RogOptions(PathOptions):
    """`environment.options` of RoG."""

    beams: int = Field(default=3, ge=1)
    """Relation paths that are planned."""
    relations: int = Field(default=50, ge=1)
    """Relations named in the planning prompt: an untrained planner must know the words."""
    paths: int = Field(default=100, ge=1)
    """Most retrieved paths that are read."""


class GogOptions(PathOptions):
    """`environment.options` of GoG."""

    relations: int = Field(default=10, ge=1)
    """Relations whose triples one search shows, the most relevant ones."""


def _tools(
    graph: KnowledgeGraph, settings: AgentSettings, rank: Ranker, kind: type[PathOptions]
) -> Callable[[Question], ToolBox]:
    listed = lister(graph, settings)
    limits = settings.top_relations, _options(settings, kind).ends
    return lambda question: PathTools(graph, question, listed, rank, limits)


def _options(settings: AgentSettings, kind: type[C]) -> C:
    return parse_config(kind, settings.options, "environment.options")


def _forms(forms: dict[str, JsonForm]) -> Callable[[AgentSettings], ActionProtocol]:
    return lambda settings: FormProtocol(forms)


def _tog(protocol: ActionProtocol, prompt: Prompt, settings: AgentSettings) -> Agent:
    options = _options(settings, TogOptions)
    budget = EpisodeBudget.of(settings)
    return tog.TogAgent(protocol, prompt, budget, options.width, options.depth)


def _rog(protocol: ActionProtocol, prompt: Prompt, settings: AgentSettings) -> Agent:
    options = _options(settings, RogOptions)
    budget = EpisodeBudget.of(settings)
    return rog.RogAgent(protocol, prompt, budget, options.beams, options.relations, options.paths)


def _gog(protocol: ActionProtocol, prompt: Prompt, settings: AgentSettings) -> Agent:
    options = _options(settings, GogOptions)
    return gog.GogAgent(protocol, prompt, EpisodeBudget.of(settings), options.relations)


TOG = Preset(
    name="tog",
    version=2,
    source="Think-on-Graph (Sun et al., 2024), width and depth 3",
    tools=lambda graph, settings, rank: _tools(graph, settings, rank, TogOptions),
    protocol=_forms(dict(tog.FORMS)),
    agent=_tog,
    # 2 N D + D + 1 completions (N = D = 3), and as many topics more at the first depth.
    defaults={"max_turns": 40, "top_relations": 50},
    prompts={"tog": TOG_PROMPT},
    options=TogOptions,
    oracle=TOG_ORACLE,
    calls=tuple(tog.FORMS),
)
ROG = Preset(
    name="rog",
    version=2,
    source="Reasoning on Graphs (Luo et al., 2024)",
    tools=lambda graph, settings, rank: _tools(graph, settings, rank, RogOptions),
    protocol=_forms(dict(rog.FORMS)),
    agent=_rog,
    defaults={"top_relations": 50},
    prompts={"rog": ROG_PROMPT},
    options=RogOptions,
    oracle=ROG_ORACLE,
    calls=tuple(rog.FORMS),
)
GOG = Preset(
    name="gog",
    version=2,
    source="Generate-on-Graph (Xu et al., 2024); hide triples with layers.hidden_share",
    tools=lambda graph, settings, rank: _tools(graph, settings, rank, GogOptions),
    protocol=_forms(dict(gog.FORMS)),
    agent=_gog,
    defaults={"max_turns": 20, "top_relations": 50},
    prompts={"gog": GOG_PROMPT},
    options=GogOptions,
    oracle=GOG_ORACLE,
    calls=tuple(gog.FORMS),
)
