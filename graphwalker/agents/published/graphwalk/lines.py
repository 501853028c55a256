"""GraphWalk's tools with results as numbered lines: what small models read, and point at by number.

The values are those of the JSON form, their names left out: the schema tells their order. Of a
neighbour its key and label are shown; what else it has, a look at that node tells.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from graphwalker.graphs.properties import Schema
from graphwalker.tools.base import Call, Observation
from graphwalker.tools.properties import AROUND, VALUES, PropertyTools

OUTGOING, INCOMING = "out", "in"
VALUE_MARK = "= "
"""Stands behind the number of a value."""
_LINE = re.compile(r"^\d+[.:] (\[.*\])$", re.MULTILINE)
_MARKED = re.compile(r'("(?:[^"\\]|\\.)*")|, \d+\+ ')
"""A text, or what stands between two values of a relationship."""
_VALUE = re.compile(r"^\d+= (.*)$", re.MULTILINE)
_NEIGHBOUR = 6
"""Values of a line that shows a neighbour."""


class LineTools(PropertyTools):
    """Lines are numbered on through an episode, so that a number means one line; values have
    numbers of their own."""

    _count: int = 0
    _values_count: int = 0
    _tool: str = ""
    _label: str = ""

    def call(self, call: Call) -> Observation:
        self._tool, self._label = call.tool, str(call.arguments.get("label", ""))
        return super().call(call)

    def schema(self) -> str:
        return schema_lines(self._schema)

    def _written(self, rows: list[dict[str, Any]]) -> list[str]:
        if self._tool == VALUES:
            first = self._values_count + 1
            return [f"{n}{VALUE_MARK}{_text(row['values'])}" for n, row in enumerate(rows, first)]
        node = {one.name: keys_in_order(one.keys) for one in self._schema.labels}
        kinds = relationship_keys(self._schema)
        lists: list[str] = []
        for place, row in enumerate(rows, 1):
            if "relationship" not in row:
                lists.append(_text([row.get(key) for key in node[self._label]]))
                continue
            kind, known = row["relationship"], row["node"]
            side = OUTGOING if kind["direction"] == "outgoing" else INCOMING
            about = [kind["properties"].get(key) for key in kinds[kind["type"]]]
            end = _text([row["center"], known.get("key"), row["label"]])[1:]
            listed = values_text(self._count + place, about)
            lists.append(f"{_text([kind['type'], side])[:-1]}, {listed}, {end}")
        mark = _marks(self._tool)
        return [f"{self._count + place}{mark}{one}" for place, one in enumerate(lists, 1)]

    def _joined(self, texts: list[str]) -> str:
        if not texts:
            return "None."
        if self._tool == VALUES:
            first, self._values_count = self._values_count + 1, self._values_count + len(texts)
            title, last, mark = "Values", self._values_count, VALUE_MARK
        else:
            first, self._count = self._count + 1, self._count + len(texts)
            title, last, mark = "Rows", self._count, _marks(self._tool)
        return "\n".join([f"{title} {first}{mark}to {last}{mark}", *texts])


def values_text(number: int, values: Sequence[Any]) -> str:
    """A relationship's values in a line: `["x", 3+ 1.5]`. Each but the first one stands behind the
    line's number as the first one does, so that a small model finds it by that."""
    return f"[{f', {number}+ '.join(map(_text, values))}]"


def line_values(text: str) -> list[Any]:
    """What a line holds behind its number, as JSON has it."""
    return json.loads(_MARKED.sub(lambda found: found[1] or ", ", text))


def read_lines(text: str, schema: Schema, label: str) -> list[dict[str, Any]]:
    """What a result of numbered lines shows, as the JSON form has it; `label`: of the nodes that
    were asked for."""
    if values := _VALUE.findall(text):
        return [{"values": json.loads(value)} for value in values]
    node = {one.name: keys_in_order(one.keys) for one in schema.labels}
    kinds = relationship_keys(schema)
    found: list[dict[str, Any]] = []
    for values in map(line_values, _LINE.findall(text)):
        if len(values) != _NEIGHBOUR or not isinstance(values[2], list):
            found.append(_named(node[label], values))
            continue
        kind, side, about, center, key, its_label = values
        direction = "outgoing" if side == OUTGOING else "incoming"
        relationship = {
            "type": kind,
            "direction": direction,
            "properties": _named(kinds[kind], about),
        }
        known = {"key": key}
        row = {"center": center, "relationship": relationship, "label": its_label, "node": known}
        found.append(row)
    return found


def schema_lines(schema: Schema) -> str:
    """A line for each label with its properties in order, and for each type of relationship."""
    labels = [label_line(schema, one.name) for one in schema.labels]
    return "\n".join([*labels, *(type_line(schema, kind) for kind in relationship_keys(schema))])


def label_line(schema: Schema, name: str) -> str:
    """`"Person" ["key", "born"]`."""
    (keys,) = (one.keys for one in schema.labels if one.name == name)
    return f"{_text(name)} {_text(keys_in_order(keys))}"


def type_line(schema: Schema, kind: str) -> str:
    """`"KNOWS" from "Person" and "City" ["since"]: "Person" to ["City", "Person"]; ...`."""
    ends: dict[str, dict[str, None]] = {}
    for one in schema.relationships:
        if one.type == kind:
            ends.setdefault(one.start, {})[one.end] = None
    pairs = [f"{_text(start)} to {_text([*some])}" for start, some in ends.items()]
    return f"{starts_line(schema, kind)}: {'; '.join(pairs)}"


def starts_line(schema: Schema, kind: str) -> str:
    """How the line of a type begins: `"KNOWS" from "Person" and "City" ["since"]`. Where it starts
    stands first, as that is what a walk needs, and next to the type a small model finds it."""
    starts = dict.fromkeys(one.start for one in schema.relationships if one.type == kind)
    keys = _text(relationship_keys(schema)[kind])
    return f"{_text(kind)} from {' and '.join(map(_text, starts))} {keys}"


def keys_in_order(keys: Any) -> list[str]:
    """The order of a node's values: `key` first."""
    return sorted(keys, key=lambda key: (key != "key", key))


def relationship_keys(schema: Schema) -> dict[str, list[str]]:
    """Properties of each type of relationship, in order."""
    found: dict[str, set[str]] = {}
    for one in schema.relationships:
        found.setdefault(one.type, set()).update(one.keys)
    return {kind: sorted(keys) for kind, keys in sorted(found.items())}


def _marks(tool: str) -> str:
    """What stands behind the number of a line: nodes and neighbours are told apart by it."""
    return ". " if tool == AROUND else ": "


def _named(keys: list[str], values: list[Any]) -> dict[str, Any]:
    return {key: one for key, one in zip(keys, values, strict=True) if one is not None}


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
