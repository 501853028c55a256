"""GraphWalk's tools with results as numbered lines: what small models read, and point at by number.

A line holds the values of the JSON form, a relationship those of a row of an answer. Of a neighbour
its key and label are shown; what else it has, a look at that node tells. Whatever may be copied
from a line stands behind a mark with the number of that line (`8> "rome"`): many lines have the
same values, and a mark says which of them is meant.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from graphwalker.answers.rows import row_text
from graphwalker.graphs.properties import PropertyGraph, Schema
from graphwalker.protocols.tables import LINE_NUMBER
from graphwalker.question import Question
from graphwalker.tools.base import Call, ErrorKind, Observation
from graphwalker.tools.properties import AROUND, VALUES, PropertyTools

OUTGOING, INCOMING = "out", "in"
VALUE_MARK = "= "
"""Stands behind the number of a value."""
_LINE = re.compile(r"^(\d+)([.:]) ([\[{].*)$", re.MULTILINE)
_MARKED = re.compile(r'("(?:[^"\\]|\\.)*")|\d+(?:\++|[<>@]) ')
"""A text, or the mark of a value."""
_VALUE = re.compile(r"^\d+= (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class NeighbourLine:
    """A line that shows a neighbour: `8. ["KNOWS", "out", {"since":8+ 1998,"source_key":8< "a",
    "target_key":8> "b"}, 8@ "City"]`; a second property of the relationship has the mark `8++ `.
    """

    number: int
    kind: str
    side: str
    values: tuple[tuple[str, Any], ...]
    source: str
    target: str
    label: str

    @property
    def opened(self) -> str:
        """The line up to what the relationship has."""
        return f"{self.number}. {opening_text(self.kind, self.side)}"

    def valued(self, count: int) -> str:
        """The line up to so many of the relationship's values."""
        some = enumerate(self.values[:count], 1)
        texts = (f"{_text(k)}:{self.number}{'+' * n} {_text(value)}" for n, (k, value) in some)
        return f"{self.opened[:-1]}{','.join(texts)}"

    @property
    def ended(self) -> str:
        """The line up to the key at the relationship's end."""
        comma = "," if self.values else ""
        source = f'"source_key":{self.number}< {_text(self.source)}'
        target = f'"target_key":{self.number}> {_text(self.target)}'
        return f"{self.valued(len(self.values))}{comma}{source},{target}"

    @property
    def labelled(self) -> str:
        """The line up to the neighbour's label."""
        return f"{self.ended}}}, {self.number}@ {_text(self.label)}"

    @property
    def text(self) -> str:
        return f"{self.labelled}]"

    @property
    def row(self) -> dict[str, Any]:
        """As a row of an answer has it."""
        return {**dict(self.values), "source_key": self.source, "target_key": self.target}

    @property
    def center(self) -> str:
        return self.source if self.side == OUTGOING else self.target

    @property
    def key(self) -> str:
        """The neighbour's."""
        return self.target if self.side == OUTGOING else self.source


class LineTools(PropertyTools):
    """Lines are numbered on through an episode, so that a number means one line, and an answer may
    name the row of a neighbour's line by it (`18.`); values have numbers of their own."""

    def __init__(self, graph: PropertyGraph, question: Question, max_chars: int = 0) -> None:
        super().__init__(graph, question, max_chars)
        self._count, self._values_count = 0, 0
        self._tool, self._label = "", ""
        self._rows: dict[int, str] = {}

    def call(self, call: Call) -> Observation:
        self._tool, self._label = call.tool, str(call.arguments.get("label", ""))
        return super().call(call)

    def resolve(self, names: Sequence[str]) -> tuple[str, ...] | Observation:
        """The rows of an answer, those of the lines that it names by number among them."""
        meant: list[str] = []
        for name in names:
            if LINE_NUMBER.fullmatch(name) is None:
                meant.append(name)
            elif (row := self._rows.get(int(name[:-1]))) is not None:
                meant.append(row)
            else:
                kind, text = ErrorKind.UNKNOWN_REFERENCE, f"no line {name} shows a relationship"
                return Observation(f"Error {kind}: {text}; copy the number of one that does", kind)
        return tuple(meant)

    def schema(self) -> str:
        return schema_lines(self._schema)

    def _written(self, rows: list[dict[str, Any]]) -> list[str]:
        if self._tool == VALUES:
            first = self._values_count + 1
            return [f"{n}{VALUE_MARK}{_text(row['values'])}" for n, row in enumerate(rows, first)]
        first = self._count + 1
        if self._tool == AROUND:
            kinds = relationship_keys(self._schema)
            return [_neighbour(n, row, kinds).text for n, row in enumerate(rows, first)]
        (known,) = (one for one in self._schema.labels if one.name == self._label)
        keys = keys_in_order(known.keys)
        return [
            f"{n}: {node_text([(k, row.get(k)) for k in keys])}"
            for n, row in enumerate(rows, first)
        ]

    def _joined(self, texts: list[str]) -> str:
        if not texts:
            return "None."
        if self._tool == VALUES:
            first, self._values_count = self._values_count + 1, self._values_count + len(texts)
            title, last, mark = "Values", self._values_count, VALUE_MARK
        else:
            first, self._count = self._count + 1, self._count + len(texts)
            # Nodes and neighbours are told apart by it.
            title, last, mark = "Rows", self._count, ". " if self._tool == AROUND else ": "
        # Of these alone: a result may have been cut, and the next one takes the numbers of what is
        # not shown.
        shown = neighbours_shown("\n".join(texts))
        self._rows.update({line.number: row_text(line.row) for line in shown})
        return "\n".join([f"{title} {first}{mark}to {last}{mark}", *texts])


def opening_text(kind: str, side: str = OUTGOING) -> str:
    """How a line of such relationships begins."""
    return f'[{_text(kind)}, {_text(side)}, {{"'


def node_text(values: Sequence[tuple[str, Any]]) -> str:
    """A node's values by name: `{"key":"a","born":1998}`."""
    return f"{{{','.join(f'{_text(key)}:{_text(value)}' for key, value in values)}}}"


def neighbours_shown(text: str) -> list[NeighbourLine]:
    """The lines of a result that show neighbours."""
    found: list[NeighbourLine] = []
    for number, mark, line in _LINE.findall(text):
        if mark == ".":
            plain = _MARKED.sub(lambda one: one[1] or "", line)
            kind, side, pairs, label = json.loads(plain, object_pairs_hook=tuple)
            *values, (_, source), (_, target) = pairs
            found.append(
                NeighbourLine(int(number), kind, side, tuple(values), source, target, label)
            )
    return found


def nodes_shown(text: str) -> list[tuple[int, list[tuple[str, Any]]]]:
    """The lines of a result that show nodes: their numbers, and their values by name."""
    return [
        (int(number), list(json.loads(line).items()))
        for number, mark, line in _LINE.findall(text)
        if mark == ":"
    ]


def read_lines(text: str) -> list[dict[str, Any]]:
    """What a result of numbered lines shows, as the JSON form has it."""
    if values := _VALUE.findall(text):
        return [{"values": json.loads(value)} for value in values]
    if nodes := nodes_shown(text):
        return [_known(values) for _, values in nodes]
    return [
        {
            "center": line.center,
            "relationship": {
                "type": line.kind,
                "direction": "outgoing" if line.side == OUTGOING else "incoming",
                "properties": _known(line.values),
            },
            "label": line.label,
            "node": {"key": line.key},
        }
        for line in neighbours_shown(text)
    ]


def schema_lines(schema: Schema) -> str:
    """A line for each label with its properties in order, and for each type of relationship."""
    labels = [f"{_text(one.name)} {_text(keys_in_order(one.keys))}" for one in schema.labels]
    return "\n".join([*labels, *(type_line(schema, kind) for kind in relationship_keys(schema))])


def type_line(schema: Schema, kind: str) -> str:
    """`"KNOWS" from 3) "Person", 4) "City" ["since"]: "Person" to ["City", "Person"]; ...`."""
    ends: dict[str, dict[str, None]] = {}
    for one in schema.relationships:
        if one.type == kind:
            ends.setdefault(one.start, {})[one.end] = None
    pairs = [f"{_text(start)} to {_text([*some])}" for start, some in ends.items()]
    return f"{starts_line(schema, kind)}: {'; '.join(pairs)}"


def starts_line(schema: Schema, kind: str) -> str:
    """How the line of a type begins: `"KNOWS" from 3) "Person", 4) "City" ["since"]`. Where it
    starts stands first, as that is what a walk needs, and next to the type a small model finds
    it."""
    starts = (f"{number}) {_text(label)}" for number, label in starts_of(schema, kind))
    keys = _text(relationship_keys(schema)[kind])
    return f"{_text(kind)} from {', '.join(starts)} {keys}"


def starts_of(schema: Schema, kind: str) -> list[tuple[int, str]]:
    """The labels at which relationships of a type start, with numbers that count on from type to
    type."""
    before = 0
    for one in relationship_keys(schema):
        starts = dict.fromkeys(known.start for known in schema.relationships if known.type == one)
        if one == kind:
            return list(enumerate(starts, before + 1))
        before += len(starts)
    return []


def keys_in_order(keys: Any) -> list[str]:
    """The order of a node's values: `key` first."""
    return sorted(keys, key=lambda key: (key != "key", key))


def relationship_keys(schema: Schema) -> dict[str, list[str]]:
    """Properties of each type of relationship, in order."""
    found: dict[str, set[str]] = {}
    for one in schema.relationships:
        found.setdefault(one.type, set()).update(one.keys)
    return {kind: sorted(keys) for kind, keys in sorted(found.items())}


def _neighbour(number: int, row: dict[str, Any], kinds: dict[str, list[str]]) -> NeighbourLine:
    kind, ends = row["relationship"], (row["center"], row["node"].get("key"))
    outgoing = kind["direction"] == "outgoing"
    source, target = ends if outgoing else reversed(ends)
    values = tuple((key, kind["properties"].get(key)) for key in kinds[kind["type"]])
    side = OUTGOING if outgoing else INCOMING
    return NeighbourLine(number, kind["type"], side, values, source, target, row["label"])


def _known(values: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    return {key: value for key, value in values if value is not None}


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
