"""GraphWalk (arXiv:2604.01610): the agent over property graphs, with tools and without."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from graphwalker.agents.base import Agent, AgentRun, Log
from graphwalker.agents.preset import AgentSettings, Preset
from graphwalker.agents.prompt import Prompt, fill_fields, read_texts
from graphwalker.agents.published.graphwalk.oracle import GRAPHWALK_ORACLE
from graphwalker.agents.published.graphwalk.properties import (
    FUNCTIONS,
    PropertyTools,
    graph_of,
    only_label,
)
from graphwalker.agents.react import ReActAgent, single_completion
from graphwalker.config import Config
from graphwalker.errors import UserError
from graphwalker.files import cache_folder
from graphwalker.graphs.base import Direction, KnowledgeGraph
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.properties import PropertyGraph
from graphwalker.policies.chat.client import Completions
from graphwalker.policies.chat.config import OptionalChatConfig
from graphwalker.protocols.answers import Extract, RowsForm
from graphwalker.protocols.base import ActionProtocol
from graphwalker.protocols.functions import FunctionProtocol
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker
from graphwalker.tools.base import ToolBox, unwrap_tools
from graphwalker.trust import Address, FilePath, Text

SOURCE = "GraphWalk (arXiv:2604.01610)"
TEXTS = read_texts(__file__)


class ExtractorConfig(OptionalChatConfig):
    """An OpenAI-compatible server that reads rows out of an answer without JSON (the paper:
    gpt-4o-mini). Nothing is sent for an answer that holds JSON."""

    base_url: Address = ""
    """Address up to and without `/chat/completions`. Empty: no such reader."""
    model: Text = ""
    """The model's name on that server."""
    max_tokens: int = Field(default=2048, ge=16)
    """Completion tokens of one extraction; it is drawn at temperature 0."""
    cache_dir: FilePath = ""
    """Where extractions are kept: the same text is paid for once. Empty: `graphwalker/extractor`
    in the user's cache folder."""


def make_extractor(config: ExtractorConfig) -> Extract | None:
    """A reader of rows out of words, where a server is named. It raises `PolicyError` where that
    fails."""
    if not config.chats:
        return None
    folder = Path(config.cache_dir or cache_folder() / "extractor")
    completions = Completions(config, config.model, folder)

    def extract(text: str) -> str:
        return completions.complete(
            [{"role": "user", "content": fill_fields(TEXTS["extract"], {"text": text})}],
            temperature=0.0,
            max_tokens=config.max_tokens,
            seed=0,
            purpose="extract",
        ).text

    return extract


@dataclass(frozen=True, slots=True)
class GraphWalkAgent(ReActAgent):
    """Thinks, calls tools and reads, until a message without a call."""

    time: str = ""
    """The time that the prompt tells."""

    def _more_values(self, tools: ToolBox) -> Mapping[str, str]:
        own: Any = unwrap_tools(tools)
        return {"schema": own.schema(), "time": self.time, "entities": ""}


@dataclass(frozen=True, slots=True)
class WholeGraphAgent:
    """The baseline without tools: the whole graph stands in the prompt, and one answer counts."""

    protocol: ActionProtocol
    prompt: Prompt
    show: Callable[[Any, Question], str]
    """Writes the graph that the tools and the question are about."""
    time: str = ""

    def __call__(self, question: Question, tools: ToolBox, log: Log) -> AgentRun:
        empty = {"tools": "", "entities": "", "schema": ""}
        shown = {"graph": self.show(unwrap_tools(tools), question), "time": self.time}
        values = {"question": question.text, "max_turns": "1", **empty, **shown}
        return single_completion(self.prompt.messages(values), self.protocol, log)


def write_graph(tools: PropertyTools, question: Question) -> str:
    """Every node and every relationship, as one JSON object. Raises `UserError` for a graph that
    cannot list its nodes."""
    graph = tools.graph
    if not graph.size:
        raise UserError("options.tools=false: the graph cannot list its nodes, so none are shown")
    nodes = [graph.entity_at(place).id for place in range(graph.size)]
    known = {node: graph.node_properties(node) for node in nodes}
    keys = {node: values.get("key", node) for node, values in known.items()}
    shown = [{"label": only_label(graph, node), **known[node]} for node in nodes]
    edges = [
        {"start": keys[node], "type": kind, "end": keys.get(end, end), "properties": values}
        for node in nodes
        for kind, end, values in _leaving(graph, node)
    ]
    return json.dumps({"nodes": shown, "relationships": edges}, ensure_ascii=False)


def _leaving(graph: PropertyGraph, node: str) -> list[tuple[str, str, dict[str, object]]]:
    return [
        (kind, end.id, values)
        for kind, _ in graph.relations(node, Direction.OUT)
        for end in graph.neighbors(node, kind, Direction.OUT)
        if not is_literal(end.id)
        for values in graph.relationship_properties(node, kind, end.id) or [{}]
    ]


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


def _tools(
    graph: KnowledgeGraph, settings: AgentSettings, rank: Ranker
) -> Callable[[Question], ToolBox]:
    most = settings.max_observation_chars or 0
    return lambda question: PropertyTools(graph_of(graph, question), question, most)


def _protocol(settings: AgentSettings) -> ActionProtocol:
    options = settings.read_options(GraphWalkOptions)
    form = RowsForm(extract=make_extractor(options.extractor))
    functions = FUNCTIONS if options.tools else ()
    return FunctionProtocol(functions, form, parallel=options.parallel)


def _agent(protocol: ActionProtocol, prompt: Prompt, settings: AgentSettings) -> Agent:
    options = settings.read_options(GraphWalkOptions)
    if options.tools:
        return GraphWalkAgent(protocol, prompt, settings, options.system_time)
    if settings.prompt == GRAPHWALK.name:  # else it is the user's own
        prompt = Prompt.read(TEXTS["prompt_without_tools"], settings.prompt)
    return WholeGraphAgent(protocol, prompt, write_graph, options.system_time)


GRAPHWALK = Preset(
    name="graphwalk",
    version=5,
    source=SOURCE,
    tools=_tools,
    protocol=_protocol,
    agent=_agent,
    defaults={"max_turns": 30, "max_observation_chars": 0},
    prompts={"graphwalk": TEXTS["prompt"]},
    options=GraphWalkOptions,
    calls=tuple(function.name for function in FUNCTIONS),
    graphs="property graphs: compiled, in Neo4j, or a set (`graph synthetic`)",
    oracle=GRAPHWALK_ORACLE,
)
