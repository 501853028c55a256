"""GraphWalk (arXiv:2604.01610): the agent over property graphs, without tools, and its oracle."""

import json
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from graphwalker.agents.base import Agent
from graphwalker.agents.preset import AgentSettings, Preset
from graphwalker.agents.prompt import Prompt, fill_fields, read_texts
from graphwalker.agents.published.graphwalk.properties import (
    AROUND,
    FIND,
    FUNCTIONS,
    VALUES,
    PropertyTools,
    graph_of,
    only_label,
)
from graphwalker.agents.react import ReActAgent, SingleCompletionAgent
from graphwalker.answers.rows import row_texts
from graphwalker.config import Config
from graphwalker.errors import UserError
from graphwalker.files import cache_folder
from graphwalker.graphs.base import Direction, KnowledgeGraph
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.properties import PropertyGraph
from graphwalker.graphs.property.memory import Edge, MemoryPropertyGraph, Node
from graphwalker.oracle.plan import OwnOracle, Plan, PresetOracle
from graphwalker.policies.chat.client import Completions
from graphwalker.policies.chat.config import OptionalChatConfig
from graphwalker.protocols.answers import Extract, RowsForm
from graphwalker.protocols.base import ActionProtocol, Calls, FinalAnswer
from graphwalker.protocols.functions import MOST_CALLS, FunctionProtocol
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker
from graphwalker.synthetic.patterns import Pattern, Values
from graphwalker.synthetic.templates import TEMPLATES, Template
from graphwalker.tools.base import Call, ToolBox, unwrap_tools
from graphwalker.trajectory import Turn
from graphwalker.trust import Address, FilePath, Text

SOURCE = "GraphWalk (arXiv:2604.01610)"
TEXTS = read_texts(__file__)
SYSTEM_TIME = "2026-01-01 12:00:00"
"""The time that the prompt tells, always the same, so that runs can be repeated."""


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
    """Return a reader of rows out of words, where a server is named. It raises `PolicyError` where
    that fails."""
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
class WholeGraphAgent(SingleCompletionAgent):
    """The baseline without tools: the whole graph stands in the prompt, and one answer counts."""

    show: Callable[[Any, Question], str]
    """Writes the graph that the tools and the question are about."""
    time: str = ""

    def more_values(self, question: Question, tools: ToolBox) -> Mapping[str, str]:
        return {"schema": "", "graph": self.show(unwrap_tools(tools), question), "time": self.time}


class ToolOptions(Config):
    """What both kinds of GraphWalk have of `environment.options`."""

    tools: bool = True
    """false: the baseline without tools; the whole graph, or maze, stands in the prompt."""
    parallel: bool = True
    """A message may hold several calls. false: it ends at its first call, which formats with inline
    observations need (tiny models)."""


def agent_of(
    name: str,
    texts: Mapping[str, str],
    show: Callable[[Any, Question], str],
    time: Callable[[AgentSettings], str] = lambda settings: "",
) -> Callable[[ActionProtocol, Prompt, AgentSettings], Agent]:
    """Return the agent of the preset of that name, with tools or without."""

    def agent(protocol: ActionProtocol, prompt: Prompt, settings: AgentSettings) -> Agent:
        if settings.options.get("tools", True):
            return GraphWalkAgent(protocol, prompt, settings, time(settings))
        if settings.prompt == name:  # else it is the user's own
            prompt = Prompt.read(texts["prompt_without_tools"], settings.prompt)
        return WholeGraphAgent(protocol, prompt, settings, show, time(settings))

    return agent


def write_graph(tools: PropertyTools, question: Question) -> str:
    """Return every node and every relationship, as one JSON object. Raises `UserError` for a graph
    that cannot list its nodes."""
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


_BY_NAME = {template.name: template for template in TEMPLATES}
_ResultRows = list[dict[str, Any]]
_Steps = Generator[tuple[str, Call | Calls | FinalAnswer], Turn, None]


class GraphWalkOracle(PresetOracle):
    """Plays the template that a question was made of. What a limit of the tools hides it does not
    see: it then answers with what it has.

    Each episode is a copy, with the nodes seen by key and the relationships seen by their ends.
    """

    _full: PropertyGraph
    _values: Values
    _nodes: dict[str, Node]
    _edges: dict[tuple[str, str, str], Edge]
    _expanded: set[str]

    def plan(self, key: str, question: Question) -> Plan:
        own, template = copy(self), _BY_NAME[question.structure]
        if not self.settings.options.get("tools", True):
            rows = tuple(row.name for row in question.answers)
            one = template.wanted == "one"
            yield "The graph stands above.", FinalAnswer(rows[:1] if one else rows, "rows")
            return
        own._full, own._values = graph_of(self.graph, question), question.annotations["values"]
        own._nodes, own._edges, own._expanded = {}, {}, set()
        yield from own._look(template)  # pyright: ignore[reportReturnType]
        yield "That is all I need.", own._answer(template)

    def _look(self, template: Template) -> _Steps:
        source = self._text("source") if "source" in self._values else ""
        match template.name:
            case "node_by_property":
                calls = [self._call(FIND, source, self._text("property"), self._values["value"])]
                (rows,) = yield from self._call_all("One look is enough.", calls)
                for row in rows:
                    self._see_node(source, row)
            case "relationship_negation":
                yield from self._see_negation(source)
            case "path_from_node" | "remote_property":
                for step in range(int(self._values["hops"])):
                    yield from self._see_ring(source)
                    # Any remote property will do.
                    if step and template.name == "remote_property" and self._answer(template).names:
                        return
            case "relationship_count" | "relationship_by_property":
                kinds = self._full.schema().relationships
                starts = {r.start for r in kinds if r.type == self._values["relationship"]}
                yield from self._sweep(sorted(starts))
            case "path_finding":
                yield from self._sweep([source, self._text("middle")])
            case "variable_hop":
                yield from self._sweep(self._labels_within(source))
            case _:
                yield from self._sweep([source])

    def _answer(self, template: Template) -> FinalAnswer:
        seen = MemoryPropertyGraph(self._nodes.values(), self._edges.values())
        rows = template.execute(Pattern.of(seen), self._values)
        return FinalAnswer(row_texts(rows[:1] if template.wanted == "one" else rows), "rows")

    def _sweep(self, labels: Iterable[str]) -> _Steps:
        """See all nodes of the labels with all that they are joined to."""
        keys = {label: self._sweeping_property(label) for label in dict.fromkeys(labels)}
        lists = [
            Call(VALUES, {"property_name": key, "entity_name": label, "entity_type": "node"})
            for label, key in keys.items()
        ]
        why = "The values of a property lead to all of its nodes."
        listed = yield from self._call_all(why, lists)
        calls = [
            self._call(AROUND, label, key, row["values"])
            for (label, key), rows in zip(keys.items(), listed, strict=True)
            for row in rows
        ]
        yield from self._see_around("Now what these nodes are joined to.", calls)

    def _see_ring(self, source: str) -> _Steps:
        """See around every node on a way from the start that was not looked around yet."""
        start = self._text("key")
        behind = (edge.end for edge in self._edges.values() if edge.start in self._expanded)
        wanted = sorted({start, *behind} - self._expanded)
        known = {key: node.labels[0] for key, node in self._nodes.items()}
        calls = [self._call(AROUND, known.get(key, source), "key", key) for key in wanted]
        yield from self._see_around("From here one step further.", calls)
        self._expanded.update(wanted)

    def _see_negation(self, source: str) -> _Steps:
        key, value = self._text("property"), self._values["value"]
        calls = [self._call(AROUND, source, key, value)]
        (rows,) = yield from self._see_around("Their relationships say it.", calls)
        # Where a node was seen as another's neighbour, all its properties are known; here they are
        # what was asked for.
        for row in rows:
            known = {"key": row["center"], key: value}
            self._see_node(source, {**self._nodes[row["center"]].properties, **known})

    def _see_around(
        self, why: str, calls: Sequence[Call]
    ) -> Generator[Any, Turn, list[_ResultRows]]:
        """See the nodes and relationships that these calls show."""
        found = yield from self._call_all(why, calls)
        for call, rows in zip(calls, found, strict=True):
            for row in rows:
                self._see_node(row["label"], row["node"])
                here, there, kind = str(row["center"]), str(row["node"]["key"]), row["relationship"]
                own = Node(here, (call.arguments["label"],), {"key": here})
                self._nodes.setdefault(here, own)
                ends = (here, there) if kind["direction"] == "outgoing" else (there, here)
                edge = Edge(ends[0], kind["type"], ends[1], kind["properties"])
                self._edges[edge.start, edge.type, edge.end] = edge
        return found

    def _see_node(self, label: str, properties: dict[str, Any]) -> None:
        key = str(properties["key"])
        self._nodes[key] = Node(key, (label,), properties)

    def _call_all(self, why: str, calls: Sequence[Call]) -> Generator[Any, Turn, list[_ResultRows]]:
        """Results of the calls, as many in a message as it may hold; of one that failed, none."""
        found: list[_ResultRows] = []
        most = MOST_CALLS if self.settings.options.get("parallel", True) else 1
        for first in range(0, len(calls), most):
            some = tuple(calls[first : first + most])
            turn = yield why, some[0] if len(some) == 1 else Calls(some)
            found += map(_rows, turn.observation.split("\n\n"))
        return found

    def _text(self, name: str) -> str:
        return str(self._values[name])

    def _call(self, tool: str, label: str, key: str, value: object) -> Call:
        return Call(tool, {"label": label, "property_name": key, "property_value": value})

    def _sweeping_property(self, label: str) -> str:
        """Return the first property that all nodes of the label have, their key at last."""
        (known,) = (one for one in self._full.schema().labels if one.name == label)
        shared = [key for key, count in sorted(known.keys.items()) if count == known.nodes]
        return next((key for key in shared if key != "key"), "key")

    def _labels_within(self, label: str) -> list[str]:
        """Labels that relationships lead to from a label in `hops` steps, itself included."""
        found, ring = {label: None}, {label}
        for _ in range(int(self._values["hops"])):
            schema = self._full.schema().relationships
            ring = {r.end for r in schema if r.start in ring} - found.keys()
            found.update(dict.fromkeys(sorted(ring)))
        return list(found)


def _rows(text: str) -> _ResultRows:
    try:
        value = json.JSONDecoder().raw_decode(text)[0]
    except ValueError:
        return []
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]


class GraphWalkOptions(ToolOptions):
    """`environment.options` of `graphwalk`."""

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


GRAPHWALK = Preset(
    name="graphwalk",
    version=5,
    source=SOURCE,
    tools=_tools,
    protocol=_protocol,
    agent=agent_of("graphwalk", TEXTS, write_graph, lambda _: SYSTEM_TIME),
    defaults={"max_turns": 30, "max_observation_chars": 0},
    prompts={"graphwalk": TEXTS["prompt"]},
    options=GraphWalkOptions,
    calls=tuple(function.name for function in FUNCTIONS),
    graphs="property graphs: compiled, in Neo4j, or a set (`graph synthetic`)",
    oracle=OwnOracle(
        GraphWalkOracle,
        lambda question: question.structure in _BY_NAME and "values" in question.annotations,
        "one of GraphWalk's templates (`graph synthetic`)",
    ),
)
