"""Search-on-Graph: one tool, `search`, ids in place of names, and a filter for busy entities."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field

from graphwalker.agents.base import Agent
from graphwalker.agents.preset import AgentSettings, Preset, listing_tools
from graphwalker.agents.prompt import Prompt
from graphwalker.agents.react import react
from graphwalker.config import Config
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, Side, Step
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.names import names_nothing
from graphwalker.oracle.speakers import SearchSpeaker
from graphwalker.protocols.base import ActionProtocol, FinalAnswer
from graphwalker.protocols.functions import FunctionProtocol
from graphwalker.query.query import Hop
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker
from graphwalker.tools.base import Abilities, Call, ErrorKind, Listed, Observation, ShownTriple
from graphwalker.tools.functions import Function, Parameter, refusal_of
from graphwalker.tools.listing import Lister, hidden_test
from graphwalker.tools.namebook import NamedTopics

SIDES = {"outgoing": Direction.OUT, "incoming": Direction.IN}
_WAYS = {side: way for way, side in SIDES.items()}
FILTER = "properties_to_filter_for"
PROPERTIES_NAMED = 20
"""Properties that an error names."""
ROWS = ("property", "propertyLabel", "value", "valueLabel")
PROPERTIES = ROWS[:2]
_QID = re.compile(r"[QPL][1-9][0-9]*")
_PROPERTY = re.compile(r"(wdt|p|ps|pq)\.(P[1-9][0-9]*)(?:\.(\w*))?")


class SearchOptions(Config):
    """What only Search-on-Graph has; the defaults are the paper's."""

    rows_without_filter: int = Field(default=50, ge=1)
    """More rows than these, and only their properties are shown (k of Algorithm 1)."""
    most_rows: int = Field(default=1000, ge=1)
    """Rows shown at most, the first in order of relation and id (p of Algorithm 1)."""
    property_view: bool = True
    """Show the properties alone where there are many rows. Off: `most_rows` rows are shown."""
    output: Literal["markdown", "json"] = "markdown"
    """A Markdown table, or the JSON that a SPARQL server answers with (Table 2 of the paper)."""
    flavour: Literal["auto", "freebase", "wikidata"] = "auto"
    """How ids are written: as the graph has them (`freebase`), or `wd:Q42` and `wdt:P19`. `auto` is
    `wikidata` where the layers show Wikidata."""
    exemplars: int = Field(default=5, ge=0, le=5)
    """Worked examples in the prompt (Figure 2 of the paper: 0, 1, 3, 5)."""
    exemplars_of: Literal["auto", "simpleqa", "webqsp", "cwq", "grailqa", "qald"] = "auto"
    """The dataset that the examples are like; `auto`: `qald` for Wikidata, else `webqsp`."""
    parallel: bool = False
    """A text may hold several calls. Off, a text ends at its first call, which formats with inline
    observations need; a server with `tool_calls` may make several in either case."""


@dataclass(frozen=True, slots=True)
class Flavour:
    """`freebase` shows the graph's own ids (`m.07_m2`, or whatever they are); `wikidata` puts the
    usual prefixes before those of the Wikidata layer.

    >>> wikidata = Flavour(True)
    >>> wikidata.show_id("Q42"), wikidata.entity_id("wd:Q42")
    ('wd:Q42', 'Q42')
    >>> wikidata.relation("wdt.P19.place_of_birth")
    ('wdt:P19', 'place of birth')
    """

    wikidata: bool

    @classmethod
    def of(cls, settings: AgentSettings) -> "Flavour":
        kind = _options(settings).flavour
        return cls(settings.layers.wikidata if kind == "auto" else kind == "wikidata")

    def show_id(self, entity_id: str) -> str:
        """Return the id as tables and calls write it."""
        return f"wd:{entity_id}" if self.wikidata and _QID.fullmatch(entity_id) else entity_id

    def entity_id(self, shown: str) -> str:
        """Return the graph's id of one that is written with its prefix or without."""
        return shown.removeprefix("wd:") if self.wikidata else shown

    def relation(self, relation: str) -> tuple[str, str]:
        """Return a relation as tables and filters write it, and the label that its id holds, if it
        does. The parts of a flattened one are written one by one."""
        found = [_PROPERTY.fullmatch(part) for part in relation.split("..")]
        if not self.wikidata or not all(found):
            return relation, ""
        parts = [f"{match[1]}:{match[2]}" for match in found if match]
        labels = [(match[3] or "").replace("_", " ") for match in found if match]
        return "..".join(parts), ", ".join(filter(None, labels))

    def function(self) -> Function:
        """Return the tool. Its examples are placeholders: models copy what looks like an id."""
        sides = "outgoing: triples that begin at the entity; incoming: those that end there."
        only = "Show rows of these properties only."
        return Function(
            "search",
            "Shows the triples on one side of an entity, as rows of property, value and labels. "
            "Where there are very many, only their properties: search again with a filter.",
            {
                "entity": Parameter("string", "The id of an entity, as shown.", "ID OF AN ENTITY"),
                "direction": Parameter("string", sides, "outgoing", tuple(SIDES)),
                FILTER: Parameter("array", only, ["PROPERTY"], required=False),
            },
        )


class TableCell(NamedTuple):
    """A value of a table; `kind` is `uri`, or `literal` for labels and values."""

    text: str
    kind: str = "literal"


def id_cell(shown: str) -> TableCell:
    """Return the cell of an id, or of a value, whose id is its N-Triples form."""
    return TableCell(shown, "literal" if is_literal(shown) else "uri")


def markdown(columns: Sequence[str], rows: Sequence[Sequence[TableCell]]) -> str:
    """Columns by `|`. A text that would break a row stands in JSON quotes, `|` as its escape.

    >>> print(markdown(PROPERTIES, [[TableCell("a.b"), TableCell('one|"two"')]]))
    property|propertyLabel
    --|--
    a.b|"one\\u007c\\"two\\""
    """
    lines = ["|".join(columns), "|".join(["--"] * len(columns))]
    return "\n".join([*lines, *("|".join(_bare(cell.text) for cell in row) for row in rows)])


def _bare(text: str) -> str:
    if not text or (text.isprintable() and text == text.strip() and not set('|"\\') & set(text)):
        return text
    return json.dumps(text, ensure_ascii=False).replace("|", "\\u007c")


def sparql_json(columns: Sequence[str], rows: Sequence[Sequence[TableCell]]) -> str:
    """Return the same as a SPARQL server's JSON; empty cells are left out, as servers do."""
    bindings = [
        {name: {"type": cell.kind, "value": cell.text} for name, cell in named if cell.text}
        for named in (zip(columns, row, strict=True) for row in rows)
    ]
    made: dict[str, Any] = {"head": {"vars": list(columns)}, "results": {"bindings": bindings}}
    return json.dumps(made, ensure_ascii=False)


def write_result(
    rows: Sequence[Sequence[TableCell]], options: SearchOptions, hidden: int = 0, too_many: int = 0
) -> str:
    """Get a table under its count: of rows, or (`too_many`) of the properties of so many rows."""
    write = markdown if options.output == "markdown" else sparql_json
    table, count = write(PROPERTIES if too_many else ROWS, rows), len(rows) + hidden
    if not too_many:
        return f"{count:,} {'row' if count == 1 else 'rows'}:{_more(hidden)}\n{table}"
    note = f"{too_many:,} rows are too many; search again with some of these in {FILTER}."
    what = "property" if count == 1 else "properties"
    return f"{note}\n{count:,} {what}:{_more(hidden)}\n{table}"


def _more(count: int) -> str:
    return f" (+{count:,} more)" if count > 0 else ""


class SearchTools(NamedTopics):
    """The tool box of one episode. CVT nodes are rows without a label, walked like any other."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        question: Question,
        settings: AgentSettings,
        list_relations: Lister,
        rank: Ranker,
    ) -> None:
        super().__init__(graph, question, settings.longest_name)
        self._options, self._flavour = _options(settings), Flavour.of(settings)
        self._hidden = hidden_test(settings.skip_relations)
        self._function = self._flavour.function()
        self._ids = {topic.id: None for topic in question.topic_entities if topic.id}
        self._listed: dict[tuple[str, str], list[str]] = {}

    @property
    def abilities(self) -> Abilities:
        return Abilities(self.topic_text, self.choices, self)

    def signatures(self) -> str:
        return self._function.form

    def topic_text(self) -> str:
        """Return the topic entities with their ids, for the prompt."""
        pairs = zip(self._topics, self._question.topic_entities, strict=True)
        return "{" + ", ".join(f"{n!r}: {self._flavour.show_id(t.id)!r}" for n, t in pairs) + "}"

    def entity_id(self, name: str) -> str:
        """Return the entity's id by the label shown, else by the id, for what has no label."""
        bare = self._flavour.entity_id(name)
        return super().entity_id(name) or (bare if bare in self._ids else "")

    def find_entity(self, text: str) -> Entity | Observation:
        found = self._flavour.entity_id(text)
        known = self._exists(found)
        return Entity(found, self._graph.name(found)) if known else self._unknown_id(text)

    def show_entity(self, entity: Entity) -> tuple[Entity, str]:
        shown = self._show(entity)
        return shown, f"{self._flavour.show_id(entity.id)} {_bare(shown.name)}"

    def shown_names(self) -> Sequence[str]:
        return [self._flavour.show_id(one) for one in self._ids if not is_literal(one)]

    def choices(self, call: Call, argument: str) -> Sequence[str] | None:
        """Return ids that were shown, and the properties of an entity's side, where they were."""
        if argument == "entity":
            return self.shown_names()
        if argument != FILTER:
            return None
        place = (str(call.arguments.get("entity")), str(call.arguments.get("direction")))
        return self._listed.get(place)

    def call(self, call: Call) -> Observation:
        self._graph_calls = 0
        if refusal := refusal_of(call, (self._function,)):
            return refusal
        given, side = str(call.arguments["entity"]), SIDES[str(call.arguments["direction"])]
        entity_id = self._flavour.entity_id(given)
        if is_literal(entity_id):
            return self._error(ErrorKind.NO_RELATIONS, f"{given[:200]} is a value; search an id")
        if not self._exists(entity_id):
            return self._unknown_id(given)
        return self._search(entity_id, side, [str(one) for one in call.arguments.get(FILTER) or ()])

    def _search(self, entity_id: str, side: Direction, wanted: Sequence[str]) -> Observation:
        self._graph_calls += 1
        found = self._graph.relations_many([Side(entity_id, side)])[0]
        counts = {r: n for r, n in found if n > 0 and not self._hidden(r)}
        here, way = self._flavour.show_id(entity_id), _WAYS[side]
        if not counts:
            (other,) = SIDES.keys() - {way}
            text = f"{here} has no {way} triples; try {other}"
            return self._error(ErrorKind.NO_TRIPLES, text)
        chosen = [r for r in counts if not wanted or {r, self._flavour.relation(r)[0]} & {*wanted}]
        if not chosen:
            return self._no_such_property(entity_id, side, counts, wanted)
        if wanted:
            return self._rows(entity_id, side, {r: counts[r] for r in chosen})
        shown, rows = chosen[: self._options.most_rows], sum(counts.values())
        self._listed[here, way] = [self._flavour.relation(relation)[0] for relation in shown]
        if rows <= self._options.rows_without_filter or not self._options.property_view:
            return self._rows(entity_id, side, counts)
        cells, hidden = list(map(self._property_cells, shown)), len(chosen) - len(shown)
        return Observation(
            write_result(cells, self._options, hidden, rows),
            listed=(Listed(entity_id, tuple(Hop(r, side) for r in shown)),),
            hidden=hidden,
            graph_calls=self._graph_calls,
        )

    def _rows(self, entity_id: str, side: Direction, counts: dict[str, int]) -> Observation:
        left, steps = self._options.most_rows, list[Step]()
        for relation, count in counts.items():
            if left > 0:
                steps.append(Step(entity_id, relation, side, min(count, left)))
                left -= count
        self._graph_calls += len(steps)
        ends = self._graph.neighbors_many(steps)
        here = self._show(Entity(entity_id, self._graph.name(entity_id)))
        rows: list[tuple[TableCell, ...]] = []
        triples: list[ShownTriple] = []
        for step, found in zip(steps, ends, strict=True):
            first = self._property_cells(step.relation)
            for end in found:
                there = self._show(end)
                rows.append((*first, *self._value_cells(end, there)))
                head, tail = (here, there) if side is Direction.OUT else (there, here)
                triples.append(ShownTriple(head, step.relation, tail))
        hidden = max(0, sum(counts.values()) - len(rows))
        return Observation(
            write_result(rows, self._options, hidden),
            listed=(Listed(entity_id, tuple(Hop(step.relation, side) for step in steps)),),
            triples=tuple(triples),
            hidden=hidden,
            graph_calls=self._graph_calls,
        )

    def _property_cells(self, relation: str) -> tuple[TableCell, TableCell]:
        shown, label = self._flavour.relation(relation)
        return id_cell(shown), TableCell(label or self._graph.name(relation))

    def _value_cells(self, end: Entity, shown: Entity) -> tuple[TableCell, TableCell]:
        if is_literal(end.id):
            return TableCell(shown.name), TableCell("")
        unnamed = names_nothing(end.name)
        return id_cell(self._flavour.show_id(end.id)), TableCell("" if unnamed else shown.name)

    def _show(self, entity: Entity) -> Entity:
        """Return the entity under the name that this episode shows."""
        self._ids[entity.id] = None
        return self._book.show_entity(entity)

    def _exists(self, entity_id: str) -> bool:
        """Return whether the graph has a node of that id that is named or stands in a triple."""
        if entity_id in self._ids or self._graph.name(entity_id):
            return True
        return any(self._graph.relations_many([Side(entity_id, side) for side in Direction]))

    def _unknown_id(self, given: str) -> Observation:
        known = [t for t in self._question.topic_entities if t.id]
        move = "no such id"
        if by_name := self._book.entity_id(given):
            move = f"that is a name; its id is {self._flavour.show_id(by_name)!r}"
        elif known:
            shown = f"{self._flavour.show_id(known[0].id)!r} ({known[0].name})"
            move = f"search an id that was shown, such as {shown}"
        return self._error(ErrorKind.UNKNOWN_ENTITY, f"no entity {given[:200]!r}: {move}")

    def _no_such_property(
        self, entity_id: str, side: Direction, counts: dict[str, int], wanted: Sequence[str]
    ) -> Observation:
        near = list(counts)[:PROPERTIES_NAMED]
        named = ", ".join(self._flavour.relation(relation)[0] for relation in near)
        what = ", ".join(text[:100] for text in wanted[:5])
        text = f"{self._flavour.show_id(entity_id)} has no {_WAYS[side]} {what}; it has {named}"
        listed = (Listed(entity_id, tuple(Hop(relation, side) for relation in near)),)
        text += _more(len(counts) - len(near))
        return self._error(ErrorKind.UNKNOWN_RELATION, text, listed)


def _options(settings: AgentSettings) -> SearchOptions:
    return settings.read_options(SearchOptions)


def _agent(protocol: ActionProtocol, prompt: Prompt, settings: AgentSettings) -> Agent:
    """Return the loop of every agent that calls tools, with the examples as it would write them."""
    if "{exemplars}" in prompt.system:
        examples = "\n\n".join(_write_exemplars(protocol, settings))
        shown = f"\nExamples:\n\n{examples}" if examples else ""
        prompt = replace(prompt, system=prompt.system.replace("{exemplars}", shown).strip())
    return react(protocol, prompt, settings)


def _write_exemplars(protocol: ActionProtocol, settings: AgentSettings) -> Iterator[str]:
    """Yield the worked examples that the settings ask for, in the protocol's own words."""
    options = _options(settings)
    usual = "qald" if Flavour.of(settings).wikidata else "webqsp"
    dataset = usual if options.exemplars_of == "auto" else options.exemplars_of
    for one in _read_exemplars()[dataset][: options.exemplars]:
        lines = [f"Question: {one['question']} {one['topics']}"]
        for step in one["steps"]:
            if "total" in step and not options.property_view:
                continue
            arguments = {"entity": step["entity"], "direction": step["direction"]}
            arguments |= {FILTER: step["filter"]} if "filter" in step else {}
            lines.append(protocol.render(step["think"], Call("search", arguments)))
            rows = [[id_cell(c) if k % 2 == 0 else TableCell(c)
                     for k, c in enumerate(row.split("|"))] for row in step["rows"]]  # fmt: skip
            too_many = step.get("total", 0)
            lines.append(protocol.observe(write_result(rows, options, too_many=too_many)))
        lines.append(protocol.render(one["think"], FinalAnswer(tuple(one["answer"]))))
        yield "\n".join(lines)


@cache
def _read_exemplars() -> Mapping[str, Sequence[Mapping[str, Any]]]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _speaker(settings: AgentSettings) -> SearchSpeaker:
    flavour = Flavour.of(settings)
    return SearchSpeaker(flavour.show_id, lambda relation: flavour.relation(relation)[0])


SEARCH_ON_GRAPH = Preset(
    name="search-on-graph",
    version=4,
    source="Search-on-Graph (arXiv:2510.08825)",
    tools=listing_tools(SearchTools),
    protocol=lambda settings: FunctionProtocol(
        [Flavour.of(settings).function()], parallel=_options(settings).parallel
    ),
    agent=_agent,
    defaults={"prompt": "search-on-graph", "max_turns": 30},
    options=SearchOptions,
    most_entries=lambda settings: _options(settings).most_rows,
    calls=("search",),
    graphs="any graph; ids as Freebase or Wikidata write them",
    speaker=_speaker,
)
