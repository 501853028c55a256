"""Search-on-Graph: one tool, `search`, ids in place of names, and a filter for busy entities."""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from graphwalker.agents.base import Agent
from graphwalker.agents.preset import AgentSettings, Preset
from graphwalker.agents.prompt import Prompt
from graphwalker.agents.published.search_on_graph.tables import (
    PROPERTIES,
    ROWS,
    Flavour,
    TableCell,
    id_cell,
    markdown,
    sparql_json,
)
from graphwalker.agents.published.search_on_graph.tools import (
    FILTER,
    SearchOptions,
    SearchTools,
    search_function,
)
from graphwalker.agents.react import react
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.oracle.speakers import SearchSpeaker
from graphwalker.protocols.base import ActionProtocol, FinalAnswer
from graphwalker.protocols.functions import FunctionProtocol
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker
from graphwalker.tools.base import Call, ToolBox
from graphwalker.tools.listing import hidden_test

ExemplarSet = Literal["simpleqa", "webqsp", "cwq", "grailqa", "qald"]
EXEMPLARS = Path(__file__).with_name("exemplars.toml")


class SearchOnGraphOptions(SearchOptions):
    """What only Search-on-Graph has; the defaults are the paper's."""

    exemplars: int = Field(default=5, ge=0, le=5)
    """Worked examples in the prompt (Figure 2 of the paper: 0, 1, 3, 5)."""
    exemplars_of: Literal["auto", ExemplarSet] = "auto"
    """The dataset that the examples are like: `simpleqa`, `webqsp`, `cwq`, `grailqa`, `qald`.
    `auto`: `qald` for Wikidata, else `webqsp`."""
    parallel: bool = False
    """A text may hold several calls. Off, a text ends at its first call, which formats with inline
    observations need; a server with `tool_calls` may make several in either case."""


def _options(settings: AgentSettings) -> SearchOnGraphOptions:
    return settings.read_options(SearchOnGraphOptions)


def _flavour(settings: AgentSettings) -> Flavour:
    kind = _options(settings).flavour
    if kind == "auto":
        kind = "wikidata" if settings.layers.wikidata else "freebase"
    return Flavour(kind)


def _tools(
    graph: KnowledgeGraph, settings: AgentSettings, rank: Ranker
) -> Callable[[Question], ToolBox]:
    options, flavour = _options(settings), _flavour(settings)
    hidden, longest = hidden_test(settings.skip_relations), settings.longest_name
    return lambda question: SearchTools(graph, question, longest, options, flavour, hidden)


def _protocol(settings: AgentSettings) -> FunctionProtocol:
    parallel = _options(settings).parallel
    return FunctionProtocol([search_function(_flavour(settings))], parallel=parallel)


def _agent(protocol: ActionProtocol, prompt: Prompt, settings: AgentSettings) -> Agent:
    """The loop of every agent that calls tools; the examples are written as it would write them."""
    if "{exemplars}" in prompt.system:
        examples = "\n\n".join(exemplars(protocol, settings))
        shown = f"\nExamples:\n\n{examples}" if examples else ""
        prompt = replace(prompt, system=prompt.system.replace("{exemplars}", shown).strip())
    return react(protocol, prompt, settings)


def exemplars(protocol: ActionProtocol, settings: AgentSettings) -> Iterator[str]:
    """The worked examples that the settings ask for, in the protocol's own words."""
    options = _options(settings)
    dataset = options.exemplars_of
    if dataset == "auto":
        dataset = "qald" if _flavour(settings).kind == "wikidata" else "webqsp"
    for one in _read()[dataset][: options.exemplars]:
        lines = [f"Question: {one['question']} {one['topics']}"]
        for step in one["steps"]:
            if "total" in step and not options.property_view:
                continue
            arguments = {"entity": step["entity"], "direction": step["direction"]}
            arguments |= {FILTER: step["filter"]} if "filter" in step else {}
            lines.append(protocol.render(step["think"], Call("search", arguments)))
            lines.append(protocol.observe(_tool_output(step, options)))
        lines.append(protocol.render(one["think"], FinalAnswer(tuple(one["answer"]))))
        yield "\n".join(lines)


def _tool_output(step: Mapping[str, Any], options: SearchOptions) -> str:
    """What the tool would show: its own words, and its own table."""
    rows = [[id_cell(c) if k % 2 == 0 else TableCell(c) for k, c in enumerate(row.split("|"))]
            for row in step["rows"]]  # fmt: skip
    columns = PROPERTIES if "total" in step else ROWS
    write = markdown if options.output == "markdown" else sparql_json
    return SearchTools.add_heading(step.get("total", 0), len(rows), 0, write(columns, rows))


@cache
def _read() -> Mapping[str, Sequence[Mapping[str, Any]]]:
    return tomllib.loads(EXEMPLARS.read_text(encoding="utf-8"))


def _speaker(settings: AgentSettings) -> SearchSpeaker:
    flavour = _flavour(settings)
    return SearchSpeaker(flavour.show_id, lambda relation: flavour.relation(relation)[0])


SEARCH_ON_GRAPH = Preset(
    name="search-on-graph",
    version=3,
    source="Search-on-Graph (arXiv:2510.08825)",
    tools=_tools,
    protocol=_protocol,
    agent=_agent,
    defaults={"prompt": "search-on-graph", "max_turns": 30},
    options=SearchOnGraphOptions,
    most_entries=lambda settings: _options(settings).most_rows,
    calls=("search",),
    graphs="any graph; ids as Freebase or Wikidata write them",
    speaker=_speaker,
)
