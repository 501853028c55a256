"""Search-on-Graph's one tool: `search`, which shows the triples on one side of an entity."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from graphwalker.agents.published.search_on_graph.tables import (
    PROPERTIES,
    ROWS,
    Flavour,
    TableCell,
    id_cell,
    markdown,
    sparql_json,
)
from graphwalker.config import Config
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, Side, Step
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.names import names_nothing
from graphwalker.query.query import Hop
from graphwalker.question import Question
from graphwalker.tools.base import Abilities, Call, ErrorKind, Listed, Observation, ShownTriple
from graphwalker.tools.functions import Function, Parameter, refusal_of
from graphwalker.tools.listing import HiddenTest
from graphwalker.tools.namebook import NamedTopics

SIDES = {"outgoing": Direction.OUT, "incoming": Direction.IN}
_WAYS = {side: way for way, side in SIDES.items()}
FILTER = "properties_to_filter_for"
PROPERTIES_NAMED = 20
"""Properties that an error names."""


class SearchOptions(Config):
    """How much a search shows, and as what; the defaults are the paper's."""

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


def search_function(flavour: Flavour) -> Function:
    """The tool, with examples of that flavour."""
    wikidata = flavour.kind == "wikidata"
    entity, relation = ("wd:Q585", "wdt:P17") if wikidata else ("m.05l64", "location.location.time")
    return Function(
        "search",
        "Shows the triples on one side of an entity, as rows of property, value and labels. Where "
        "there are very many, only their properties: search again with a filter.",
        {
            "entity": Parameter("string", "The id of an entity, as shown.", entity),
            "direction": Parameter(
                "string",
                "outgoing: triples that begin at the entity; incoming: those that end there.",
                "outgoing",
                tuple(SIDES),
            ),
            FILTER: Parameter(
                "array", "Show rows of these properties only.", [relation], required=False
            ),
        },
    )


class SearchTools(NamedTopics):
    """The tool box of one episode. CVT nodes are rows without a label, walked like any other."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        question: Question,
        longest: int,
        options: SearchOptions,
        flavour: Flavour,
        hidden: HiddenTest,
    ) -> None:
        super().__init__(graph, question, longest)
        self._options, self._flavour, self._hidden = options, flavour, hidden
        self._function = search_function(flavour)
        self._ids = {topic.id: None for topic in question.topic_entities if topic.id}
        self._listed: dict[tuple[str, str], list[str]] = {}

    @property
    def abilities(self) -> Abilities:
        return Abilities(self.topic_text, self.choices)

    def signatures(self) -> str:
        return self._function.form

    def topic_text(self) -> str:
        """The topic entities with their ids, for the prompt."""
        pairs = zip(self._topics, self._question.topic_entities, strict=True)
        return "{" + ", ".join(f"{n!r}: {self._flavour.show_id(t.id)!r}" for n, t in pairs) + "}"

    def entity_id(self, name: str) -> str:
        """By the label shown, else by the id: what has no label is answered so."""
        bare = self._flavour.entity_id(name)
        return super().entity_id(name) or (bare if bare in self._ids else "")

    def choices(self, call: Call, argument: str) -> Sequence[str] | None:
        """Ids that were shown, and the properties of an entity's side, where they were."""
        if argument == "entity":
            return [self._flavour.show_id(one) for one in self._ids if not is_literal(one)]
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
        wanted = [str(item) for item in call.arguments.get(FILTER) or ()]
        return self._search(entity_id, side, wanted)

    def _search(self, entity_id: str, side: Direction, wanted: Sequence[str]) -> Observation:
        self._graph_calls += 1
        found = self._graph.relations_many([Side(entity_id, side)])[0]
        counts = {r: n for r, n in found if n > 0 and not self._hidden(r)}
        if not counts:
            here = self._flavour.show_id(entity_id)
            (other,) = (way for way in SIDES if way != _WAYS[side])
            text = f"{here} has no {_WAYS[side]} triples; try {other}"
            return self._error(ErrorKind.NO_TRIPLES, text)
        chosen = [r for r in counts if not wanted or {r, self._flavour.relation(r)[0]} & {*wanted}]
        if not chosen:
            return self._no_such_property(entity_id, side, counts, wanted)
        if not wanted:
            place = self._flavour.show_id(entity_id), _WAYS[side]
            shown = chosen[: self._options.most_rows]
            self._listed[place] = [self._flavour.relation(relation)[0] for relation in shown]
        rows = sum(counts[relation] for relation in chosen)
        many = rows > self._options.rows_without_filter
        if many and not wanted and self._options.property_view:
            return self._properties(entity_id, side, chosen, rows)
        return self._rows(entity_id, side, {r: counts[r] for r in chosen})

    def _properties(
        self, entity_id: str, side: Direction, relations: Sequence[str], rows: int
    ) -> Observation:
        shown = relations[: self._options.most_rows]
        hidden = len(relations) - len(shown)
        cells = [self._property_cells(relation) for relation in shown]
        table = self._table(PROPERTIES, cells)
        return Observation(
            self.add_heading(rows, len(relations), hidden, table),
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
        total = sum(counts.values())
        hidden = max(0, total - len(rows))
        return Observation(
            self.add_heading(0, total, hidden, self._table(ROWS, rows)),
            listed=(Listed(entity_id, tuple(Hop(step.relation, side) for step in steps)),),
            triples=tuple(triples),
            hidden=hidden,
            graph_calls=self._graph_calls,
        )

    @staticmethod
    def add_heading(too_many: int, count: int, hidden: int, table: str) -> str:
        """A table under its count: of rows, or of the properties of so many rows."""
        if not too_many:
            return f"{count:,} {'row' if count == 1 else 'rows'}:{_more(hidden)}\n{table}"
        note = f"{too_many:,} rows are too many; search again with some of these in {FILTER}."
        what = "property" if count == 1 else "properties"
        return f"{note}\n{count:,} {what}:{_more(hidden)}\n{table}"

    def _table(self, columns: Sequence[str], rows: Sequence[Sequence[TableCell]]) -> str:
        write = markdown if self._options.output == "markdown" else sparql_json
        return write(columns, rows)

    def _property_cells(self, relation: str) -> tuple[TableCell, TableCell]:
        shown, label = self._flavour.relation(relation)
        return id_cell(shown), TableCell(label or self._graph.name(relation))

    def _value_cells(self, end: Entity, shown: Entity) -> tuple[TableCell, TableCell]:
        if is_literal(end.id):
            return TableCell(shown.name), TableCell("")
        unnamed = names_nothing(end.name)
        return id_cell(self._flavour.show_id(end.id)), TableCell("" if unnamed else shown.name)

    def _show(self, entity: Entity) -> Entity:
        """The entity under the name that this episode shows."""
        self._ids[entity.id] = None
        return self._book.show_entity(entity)

    def _exists(self, entity_id: str) -> bool:
        """Whether the graph has a node of that id that is named or stands in a triple."""
        if entity_id in self._ids or self._graph.name(entity_id):
            return True
        return any(self._graph.relations_many([Side(entity_id, side) for side in Direction]))

    def _unknown_id(self, given: str) -> Observation:
        by_name = self._book.entity_id(given)
        topics = self._question.topic_entities
        known = [f"{self._flavour.show_id(t.id)!r} ({t.name})" for t in topics if t.id]
        if by_name:
            move = f"that is a name; its id is {self._flavour.show_id(by_name)!r}"
        else:
            move = f"search an id that was shown, such as {known[0]}" if known else "no such id"
        return self._error(ErrorKind.UNKNOWN_ENTITY, f"no entity {given[:200]!r}: {move}")

    def _no_such_property(
        self, entity_id: str, side: Direction, counts: dict[str, int], wanted: Sequence[str]
    ) -> Observation:
        near = list(counts)[:PROPERTIES_NAMED]
        named = ", ".join(self._flavour.relation(relation)[0] for relation in near)
        what = ", ".join(text[:100] for text in wanted[:5])
        return self._error(
            ErrorKind.UNKNOWN_RELATION,
            f"{self._flavour.show_id(entity_id)} has no {_WAYS[side]} {what}; it has "
            f"{named}{_more(len(counts) - len(near))}",
            (Listed(entity_id, tuple(Hop(relation, side) for relation in near)),),
        )


def _more(count: int) -> str:
    return f" (+{count:,} more)" if count > 0 else ""
