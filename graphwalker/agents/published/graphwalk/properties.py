"""GraphWalk's four tools over a property graph (section 4.3, Appendix C)."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.properties import PropertyGraph, Schema, Value
from graphwalker.question import Question
from graphwalker.tools.base import Abilities, Call, ErrorKind, Observation, ShownTriple, mistake
from graphwalker.tools.functions import Function, Parameter, refusal_of, signatures_of
from graphwalker.tools.walker import fitting

FIND, AROUND, VALUES, THINK = (
    "get_node_by_property",
    "get_all_nearest_neighbors",
    "get_unique_property_values",
    "think",
)
_LABEL = Parameter("string", "A node label of the schema, letter by letter.", "Person")
_PROPERTY = Parameter("string", "A property that nodes of that label have.", "key")
_VALUE = Parameter(
    ("string", "number", "boolean"),
    "The property's exact value: a number as a number, a text with the same capital letters.",
    "ann",
)
_WHERE = {"label": _LABEL, "property_name": _PROPERTY, "property_value": _VALUE}
FUNCTIONS = (
    Function(FIND, "The nodes whose property has this value, with all their properties.", _WHERE),
    Function(
        AROUND,
        "Every node that a relationship joins to the nodes whose property has this value: each "
        "with its label and properties, and with the relationship's type, direction and "
        "properties; center says to which of the nodes that have the value it is joined.",
        _WHERE,
    ),
    Function(
        VALUES,
        "All different values of a property, among nodes or among relationships.",
        {
            "property_name": Parameter("string", "A property of the schema.", "born"),
            "entity_name": Parameter(
                "string", "The node label or the type of relationship that has it.", "Person"
            ),
            "entity_type": Parameter("string", "`node` or `relationship`.", "node"),
        },
    ),
    Function(
        THINK,
        "Writes down a thought, a plan or an intermediate result, and shows it again.",
        {"thought": Parameter("string", "What to write down.", "First I need the keys.")},
    ),
)


class PropertyTools:
    """The tool box of one episode. Every call but `think` gives JSON, always the same."""

    def __init__(self, graph: PropertyGraph, question: Question, max_chars: int = 0) -> None:
        """`max_chars`: longest result, cut at an entry with a mark; 0: never."""
        self.graph = graph
        self._max_chars = max_chars
        self._topics = tuple(topic.name or topic.id for topic in question.topic_entities)
        self._ids = {topic.name or topic.id: topic.id for topic in question.topic_entities}
        self._schema = graph.schema()
        kinds: dict[str, list[str]] = {}
        for one in self._schema.relationships:
            kinds[one.type] = [*dict.fromkeys([*kinds.get(one.type, []), *one.keys])]
        labels = {one.name: [*one.keys] for one in self._schema.labels}
        self._keys = {"node": labels, "relationship": kinds}
        """The properties of labels, and of types of relationships."""
        self._shown_values: dict[tuple[str, str], list[Value]] = {}
        self._made: list[Call] = []

    @property
    def abilities(self) -> Abilities:
        return Abilities(choices=self.choices)

    def call(self, call: Call) -> Observation:
        if refusal := refusal_of(call, FUNCTIONS):
            return refusal
        given = call.arguments
        self._made.append(call)
        if call.tool == THINK:
            return Observation(given["thought"])
        if call.tool == VALUES:
            return self._values(given["property_name"], given["entity_name"], given["entity_type"])
        return self._nodes(call.tool, *(given[name] for name in _WHERE))

    def choices(self, call: Call, argument: str) -> Sequence[Value] | None:
        """Labels, types and properties of the schema; the values of a property, where all of them
        were shown; and no call again."""
        given = call.arguments
        owners = self._owners(call)
        owner = str(given.get("label", given.get("entity_name")))
        found: Sequence[Value]
        match argument:
            case "label" | "entity_name":
                wanted = given.get("property_name")
                found = [name for name, keys in owners.items() if wanted in (None, *keys)]
            case "property_name":
                found = owners.get(owner) or [one for keys in owners.values() for one in keys]
            case "property_value":
                key = str(given.get("property_name"))
                found = self._shown_values.get((owner, key), [])
            case _:
                return None
        made = [one.arguments for one in self._made if one.tool == call.tool]
        return [one for one in dict.fromkeys(found) if {**given, argument: one} not in made]

    def _owners(self, call: Call) -> dict[str, list[str]]:
        """Return what a call may ask about, with properties: labels, or relationship types."""
        side = call.arguments.get("entity_type", "node" if call.tool != VALUES else "")
        if side in ("node", "relationship"):
            return self._keys[side]
        return {**self._keys["relationship"], **self._keys["node"]}

    def entity_id(self, name: str) -> str:
        return self._ids.get(name, "")

    def topic_names(self) -> tuple[str, ...]:
        return self._topics

    def signatures(self) -> str:
        return signatures_of(FUNCTIONS)

    def schema(self) -> str:
        return schema_table(self._schema)

    def _nodes(self, tool: str, label: str, key: str, value: Value) -> Observation:
        if refusal := self._unknown_schema("node", label, key):
            return refusal
        found = list(map(self._as_named, self._find_nodes(label, key, value)))
        if not found:
            what = f"no {label} node has {json.dumps(value, ensure_ascii=False)[:80]} as its {key}"
            return mistake("no_nodes", f"{what}; {VALUES} shows the values that there are")
        self._ids.update((entity.name, entity.id) for entity in found)
        if tool == FIND:
            return self._show_rows([self.graph.node_properties(one.id) for one in found], found)
        around = [one for centre in found for one in self._neighbours(centre)]
        triples = [triple for _, triple in around]
        self._ids.update((end.name, end.id) for t in triples for end in (t.head, t.tail))
        return self._show_rows([row for row, _ in around], found, triples)

    def _neighbours(self, here: Entity) -> Iterator[tuple[dict[str, Any], ShownTriple]]:
        for direction in Direction:
            out = direction is Direction.OUT
            for relation, _ in self.graph.relations(here.id, direction):
                for end in self.graph.neighbors(here.id, relation, direction):
                    if is_literal(end.id):
                        continue
                    there = self._as_named(end)
                    head, tail = (here, there) if out else (there, here)
                    about = {"type": relation, "direction": "outgoing" if out else "incoming"}
                    kinds = self.graph.relationship_properties(head.id, relation, tail.id)
                    for known in kinds or [{}]:
                        row = {
                            "center": here.name,
                            "relationship": {**about, "properties": known},
                            "label": only_label(self.graph, end.id),
                            "node": self.graph.node_properties(end.id),
                        }
                        yield row, ShownTriple(head, relation, tail)

    def _values(self, key: str, name: str, kind: str) -> Observation:
        side = kind.strip().lower()
        if side not in ("node", "relationship"):
            return mistake(ErrorKind.BAD_ARGUMENTS, 'entity_type is "node" or "relationship"')
        if refusal := self._unknown_schema(side, name, key):
            return refusal
        node = side == "node"
        found = self.graph.values if node else self.graph.relationship_values
        values = sorted((value for value, _ in found(name, key)), key=_order)
        observation = self._show_rows([{"values": value} for value in values])
        if node and not observation.hidden:
            self._shown_values[name, key] = values
        return observation

    def _unknown_schema(self, side: str, name: str, key: str) -> Observation | None:
        """Return the mistake of a call that names no label or type of relationship, or no property
        of it."""
        owners = self._keys[side]
        what, text, known = "label" if side == "node" else "type of relationship", name, [*owners]
        if name in owners:
            what, text, known = f"property of {name}", key, owners[name]
        if text in known:
            return None
        some = ", ".join(sorted(known)[:30]) or "none"
        text = json.dumps(text[:60], ensure_ascii=False)
        return mistake("unknown_schema", f"there is no {what} {text}; there are: {some}")

    def _find_nodes(self, label: str, key: str, value: Value) -> list[Entity]:
        """Find nodes by a value; numbers are equal by value, as in Cypher."""
        same: list[Value] = [value]
        if isinstance(value, float) and value.is_integer():
            same.append(int(value))
        elif isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 53:
            same.append(float(value))
        return [entity for one in same for entity in self.graph.find(label, key, one)]

    def _as_named(self, entity: Entity) -> Entity:
        """Return a node as results call it: by its `key` where it has one."""
        key = self.graph.node_properties(entity.id).get("key")
        return Entity(entity.id, str(key) if key is not None else entity.name or entity.id)

    def _show_rows(
        self,
        rows: list[dict[str, Any]],
        shown: Iterable[Entity] = (),
        triples: Iterable[ShownTriple] = (),
    ) -> Observation:
        texts = [json.dumps(row, ensure_ascii=False) for row in rows]
        kept = len(fitting(texts, self._max_chars))
        hidden = len(texts) - kept
        mark = f" ... ({hidden} more)" if hidden else ""
        return Observation(
            f"[{', '.join(texts[:kept])}]{mark}",
            shown=tuple(shown)[:kept] if hidden else tuple(shown),
            triples=tuple(triples)[:kept],
            hidden=hidden,
            graph_calls=1,
        )


def graph_of(graph: KnowledgeGraph, question: Question) -> PropertyGraph:
    """Return the property graph that the question is about. Raises `UserError` for none."""
    graph = graph.for_question(question)
    if isinstance(graph, PropertyGraph):
        return graph
    raise UserError(
        "this preset walks property graphs: build one with `graph build --property`, or make a "
        "set with `graph synthetic` or `graph mazes`"
    )


def schema_table(schema: Schema) -> str:
    """Return a row for each property of a label, and of a type of relationship between two labels;
    one without properties has a row alone."""
    rows: list[tuple[str, str, str, str]] = []
    for label in schema.labels:
        pattern = f"(:{label.name})"
        rows += [("Node", label.name, pattern, key) for key in sorted(label.keys) or [""]]
    for one in schema.relationships:
        pattern = f"(:{one.start})-[:{one.type}]->(:{one.end})"
        rows += [("Relationship", one.type, pattern, key) for key in sorted(one.keys) or [""]]
    head = "# | Entity type | Name | Cypher pattern | Property"
    return "\n".join([head, *(" | ".join((str(n), *row)) for n, row in enumerate(rows))])


def only_label(graph: PropertyGraph, node: str) -> str | Sequence[str]:
    """Return the label of a node, or its labels where it has several."""
    labels = graph.types(node)
    return labels[0] if len(labels) == 1 else labels


def _order(value: Value) -> tuple[bool, float, str]:
    number = isinstance(value, int | float)
    return (not number, float(value) if number else 0.0, str(value))
