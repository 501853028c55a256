"""GraphWalk (arXiv:2604.01610): the agent over property graphs, without tools, and its oracle."""

import json
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field

from graphwalker.agents.base import Agent, AgentRun, Log
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
from graphwalker.agents.react import ReActAgent, single_completion
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


_BY_NAME = {template.name: template for template in TEMPLATES}
_Move = tuple[str, Call | Calls | FinalAnswer]
_ResultRows = list[dict[str, Any]]
_Steps = Generator[_Move, Turn, None]


class GraphWalkOracle(PresetOracle):
    """Plays the template that a question was made of. What a limit of the tools hides it does not
    see: it then answers with what it has."""

    def plan(self, key: str, question: Question) -> Plan:
        template = _BY_NAME[question.structure]
        graph = graph_of(self.graph, question)
        most = MOST_CALLS if self.settings.options.get("parallel", True) else 1
        view = _View(graph, question.annotations["values"], most)
        yield from _LOOKS[template.name](view)  # pyright: ignore[reportReturnType]
        yield "That is all I need.", _answer(template, view)


@dataclass(slots=True)
class _View:
    """What an episode has seen: nodes by key, relationships by their ends and type."""

    graph: PropertyGraph
    values: Values
    most_calls: int = MOST_CALLS
    """Calls of one message."""
    nodes: dict[str, Node] = field(default_factory=dict[str, Node])
    edges: dict[tuple[str, str, str], Edge] = field(
        default_factory=dict[tuple[str, str, str], Edge]
    )
    expanded: set[str] = field(default_factory=set[str])

    def text(self, name: str) -> str:
        return str(self.values[name])

    def see_node(self, label: str, properties: dict[str, Any]) -> None:
        key = str(properties["key"])
        self.nodes[key] = Node(key, (label,), properties)

    def see_around(self, label: str, rows: Iterable[dict[str, Any]]) -> None:
        for row in rows:
            self.see_node(row["label"], row["node"])
            here, there, kind = str(row["center"]), str(row["node"]["key"]), row["relationship"]
            self.nodes.setdefault(here, Node(here, (label,), {"key": here}))
            ends = (here, there) if kind["direction"] == "outgoing" else (there, here)
            edge = Edge(ends[0], kind["type"], ends[1], kind["properties"])
            self.edges[edge.start, edge.type, edge.end] = edge

    def starts(self) -> list[str]:
        """The labels from which relationships of the type start."""
        found = self.graph.schema().relationships
        return sorted({r.start for r in found if r.type == self.values["relationship"]})

    def sweeping_property(self, label: str) -> str:
        """The first property that all nodes of the label have, their key at last."""
        (known,) = (one for one in self.graph.schema().labels if one.name == label)
        shared = [key for key, count in sorted(known.keys.items()) if count == known.nodes]
        return next((key for key in shared if key != "key"), "key")

    @property
    def hops(self) -> int:
        return int(self.values["hops"])

    def labels_within(self, label: str) -> list[str]:
        """Labels that relationships lead to from a label in `hops` steps, itself included."""
        found, ring = {label: None}, {label}
        for _ in range(self.hops):
            schema = self.graph.schema().relationships
            ring = {r.end for r in schema if r.start in ring} - found.keys()
            found.update(dict.fromkeys(sorted(ring)))
        return list(found)


def _answer(template: Template, view: _View) -> FinalAnswer:
    seen = MemoryPropertyGraph(view.nodes.values(), view.edges.values())
    rows = template.execute(Pattern.of(seen), view.values)
    return FinalAnswer(row_texts(rows[:1] if template.wanted == "one" else rows), "rows")


def _call_all(
    view: _View, why: str, calls: Sequence[Call]
) -> Generator[_Move, Turn, list[_ResultRows]]:
    """Results of the calls, as many in a message as it may hold; of a call that failed, none."""
    found: list[_ResultRows] = []
    for first in range(0, len(calls), view.most_calls):
        some = tuple(calls[first : first + view.most_calls])
        turn = yield why, some[0] if len(some) == 1 else Calls(some)
        shown = turn.observation.split("\n\n")
        found += map(_rows, shown)
    return found


def _rows(text: str) -> _ResultRows:
    try:
        value = json.JSONDecoder().raw_decode(text)[0]
    except ValueError:
        return []
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]


def _around(label: str, key: str, value: object) -> Call:
    return Call(AROUND, {"label": label, "property_name": key, "property_value": value})


def _sweep(view: _View, labels: Iterable[str]) -> _Steps:
    """See all nodes of the labels with all that they are joined to."""
    wanted = list(dict.fromkeys(labels))
    keys = {label: view.sweeping_property(label) for label in wanted}
    lists = [
        Call(VALUES, {"property_name": key, "entity_name": label, "entity_type": "node"})
        for label, key in keys.items()
    ]
    listed = yield from _call_all(view, "The values of a property lead to all of its nodes.", lists)
    calls = [
        _around(label, keys[label], row["values"])
        for label, rows in zip(wanted, listed, strict=True)
        for row in rows
    ]
    found = yield from _call_all(view, "Now what these nodes are joined to.", calls)
    for call, rows in zip(calls, found, strict=True):
        view.see_around(call.arguments["label"], rows)


def _find(view: _View) -> _Steps:
    about = {"property_name": view.text("property"), "property_value": view.values["value"]}
    call = Call(FIND, {"label": view.text("source"), **about})
    (rows,) = yield from _call_all(view, "One look is enough.", [call])
    for row in rows:
        view.see_node(view.text("source"), row)


def _ring(view: _View) -> _Steps:
    """See around every node on a way from the start that was not looked around yet."""
    start = view.text("key")
    ends = {start, *(edge.end for edge in view.edges.values() if edge.start in view.expanded)}
    wanted = sorted(ends - view.expanded)
    labels = {key: view.nodes[key].labels[0] if key in view.nodes else view.text("source")
              for key in wanted}  # fmt: skip
    calls = [_around(labels[key], "key", key) for key in wanted]
    found = yield from _call_all(view, "From here one step further.", calls)
    for key, rows in zip(wanted, found, strict=True):
        view.see_around(labels[key], rows)
    view.expanded.update(wanted)


def _from_node(view: _View) -> _Steps:
    for _ in range(view.hops):
        yield from _ring(view)


def _remote(view: _View) -> _Steps:
    """Ring after ring, until a node is found that will do."""
    for step in range(view.hops):
        yield from _ring(view)
        if step and _answer(_BY_NAME["remote_property"], view).names:
            return


def _relationship_negation(view: _View) -> _Steps:
    call = _around(view.text("source"), view.text("property"), view.values["value"])
    (rows,) = yield from _call_all(view, "Their relationships say it.", [call])
    view.see_around(view.text("source"), rows)
    # Where a node was seen as another's neighbour, all its properties are known; here they are
    # what was asked for.
    for row in rows:
        known = {"key": row["center"], view.text("property"): view.values["value"]}
        view.see_node(view.text("source"), {**view.nodes[row["center"]].properties, **known})


_LOOKS: Mapping[str, Callable[[_View], _Steps]] = {
    **dict.fromkeys(
        ("node_count", "most_relationships", "intersection", "negation"),
        lambda view: _sweep(view, [view.text("source")]),
    ),
    **dict.fromkeys(
        ("relationship_count", "relationship_by_property"),
        lambda view: _sweep(view, view.starts()),
    ),
    "node_by_property": _find,
    "path_finding": lambda view: _sweep(view, [view.text("source"), view.text("middle")]),
    "variable_hop": lambda view: _sweep(view, view.labels_within(view.text("source"))),
    "path_from_node": _from_node,
    "remote_property": _remote,
    "relationship_negation": _relationship_negation,
}


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
    oracle=OwnOracle(
        GraphWalkOracle,
        lambda question: question.structure in _BY_NAME and "values" in question.annotations,
        "one of GraphWalk's templates (`graph synthetic`)",
    ),
)
