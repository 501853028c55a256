"""Files of property graphs: JSON lines as Neo4j exports them, CSV as it imports them."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from graphwalker.errors import UserError
from graphwalker.graphs.intake.blocks import is_csv, peek, plain_name
from graphwalker.graphs.intake.rows import FileReader, IntakeRows, ReaderInput
from graphwalker.graphs.intake.tables import CsvFile, header_of
from graphwalker.graphs.properties import NAME_KEYS, Value, facts_of, value_literal

_TRUE = {"true": True, "false": False}
_INTEGERS = {"int", "long", "short", "byte", "integer"}
_FLOATS = {"float", "double"}
_APOC = {
    "_id": ":ID", "_labels": ":LABEL", "_start": ":START_ID", "_end": ":END_ID", "_type": ":TYPE",
}  # fmt: skip


def property_reader(given: ReaderInput) -> FileReader:
    """Return the reader of a file. Raises `UserError` for one that is neither form."""
    path = given.source.path
    if is_csv(path):
        return CsvReader(given)
    if plain_name(path).endswith((".json", ".jsonl")) or peek(path, 1) == b"{":
        return JsonReader(given)
    raise UserError(f"{path}: a property graph is read from .json, .jsonl or .csv files")


class PropertyReader(FileReader):
    """What the two forms share: nodes and relationships become rows.

    A property becomes a triple to a literal, a label a type, a relationship a triple; what a
    relationship has of properties is kept beside it.
    """

    def _node(
        self,
        number: int,
        node: str,
        labels: Sequence[str],
        properties: Mapping[str, Any],
        rows: IntakeRows,
        named: bool = True,
    ) -> None:
        node = _node_id(node)
        facts = list(facts_of(properties))
        shown = next((str(properties[k]) for k in NAME_KEYS if properties.get(k)), node)
        rows.names.append((node, shown if named else "", 0, self._line_base + number))
        rows.types.extend((node, label) for label in labels if label)
        for key, value in facts:
            self._keep(rows, node, key, value_literal(value))
        self.kept += 1

    def _relationship(
        self,
        number: int,
        start: str,
        kind: str,
        end: str,
        properties: Mapping[str, Any],
        rows: IntakeRows,
    ) -> None:
        start, end = _node_id(start), _node_id(end)
        if not kind:
            raise UserError("a relationship without a type")
        if self._keep(rows, start, kind, end):
            text = json.dumps(properties, ensure_ascii=False, sort_keys=True)
            line = self._line_base + number
            rows.edges.append((start, self._relations[kind], end, text, line))

    def _keep(self, rows: IntakeRows, head: str, relation: str, tail: str) -> bool:
        number = self._relations[relation]
        kept = number >= 0
        if kept:
            rows.add(head, number, tail)
        self.kept += kept
        self.dropped += not kept
        return kept


class JsonReader(PropertyReader):
    """One JSON object a line: `{"type": "node", "id", "labels", "properties"}`, with `"named":
    false` for one that joins several facts, or
    `{"type": "relationship", "label", "start": {"id"}, "end": {"id"}, "properties"}`."""

    def read(self, first: int, lines: list[str], rows: IntakeRows) -> None:
        for number, line in enumerate(lines, start=first):
            if not line.strip():
                continue
            try:
                self._read_line(number, line, rows)
            except UserError as error:
                self._reject(number, str(error), line)

    def _read_line(self, number: int, line: str, rows: IntakeRows) -> None:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            raise UserError("not a JSON object on one line") from None
        if not isinstance(record, dict):
            raise UserError("not a JSON object on one line")
        fields = cast(dict[str, Any], record)
        properties = fields.get("properties", {})
        if not isinstance(properties, dict):
            raise UserError("properties are not a JSON object")
        known = cast(dict[str, Any], properties)
        if fields.get("type") == "node":
            labels = [str(label) for label in fields.get("labels") or ()]
            named = fields.get("named") is not False
            self._node(number, str(fields.get("id", "")), labels, known, rows, named)
        elif fields.get("type") == "relationship":
            start, end = (_end(fields.get(which)) for which in ("start", "end"))
            kind = str(fields.get("label") or "")
            self._relationship(number, start, kind, end, known, rows)
        else:
            raise UserError('"type" is neither "node" nor "relationship"')


class CsvReader(CsvFile, PropertyReader):
    """CSV whose header names `:ID` and `:LABEL`, or `:START_ID`, `:END_ID` and `:TYPE`; other
    columns are properties, `born:int` or `tags:string[]` with a type. In an export of APOC both
    stand in one file, as `_id`, `_labels`, `_start`, `_end` and `_type`."""

    def __init__(self, given: ReaderInput) -> None:
        super().__init__(given)
        self.columns = _header(self.path)

    def record(self, number: int, fields: list[str], rows: IntakeRows) -> None:
        roles: dict[str, str] = {}
        properties: dict[str, Any] = {}
        for column, text in zip(self.columns, fields, strict=True):
            role, group = _role(column)
            if role in ("ID", "START_ID", "END_ID"):
                roles[role] = f"{group}/{text}" if group and text else text
            elif role:
                roles[role] = text
            if (key := column.partition(":")[0]) and text and role in ("", "ID"):
                properties[key] = text if role else _parse_value(column, text)
        if roles.get("ID") or "START_ID" not in roles:
            labels = re.split("[;:]", roles.get("LABEL", ""))
            self._node(number, roles["ID"], labels, properties, rows)
        else:
            start, end = roles.get("START_ID", ""), roles.get("END_ID", "")
            self._relationship(number, start, roles.get("TYPE", ""), end, properties, rows)


def is_property_header(path: Path) -> bool:
    """True for CSV with the header of a property graph."""
    columns = [_APOC.get(column, column) for column in header_of(path)]
    return any(_role(column)[0] in ("ID", "START_ID", "END_ID") for column in columns)


def _header(path: Path) -> list[str]:
    """Return the columns of a CSV file. Raises `UserError` for one without such a header."""
    columns = [_APOC.get(column, column) for column in header_of(path)]
    if not any(_role(column)[0] in ("ID", "START_ID") for column in columns):
        raise UserError(f"{path}:1: the header has neither an :ID nor a :START_ID column")
    return columns


def _role(column: str) -> tuple[str, str]:
    """`id:ID(Person)` gives `("ID", "Person")`; a plain property gives `("", "")`."""
    _, _, kind = column.partition(":")
    role, _, group = kind.partition("(")
    found = role in ("ID", "START_ID", "END_ID", "LABEL", "TYPE")
    return (role, group.rstrip(")")) if found else ("", "")


def _parse_value(column: str, text: str) -> Any:
    kind = column.partition(":")[2].lower()
    if kind.endswith("[]"):
        return [_one(kind[:-2], item) for item in text.split(";")]
    return _one(kind, text)


def _one(kind: str, text: str) -> Value:
    parse: Callable[[str], Value] = str
    if kind in _INTEGERS:
        parse = int
    elif kind in _FLOATS:
        parse = float
    elif kind == "boolean":
        parse = _truth
    try:
        return parse(text)
    except (ValueError, KeyError):
        raise UserError(f"not a value of type {kind}: {text[:80]}") from None


def _truth(text: str) -> bool:
    return _TRUE[text.strip().lower()]


def _end(node: Any) -> str:
    return (
        str(cast(dict[str, Any], node).get("id", "")) if isinstance(node, dict) else str(node or "")
    )


def _node_id(node: str) -> str:
    if not node:
        raise UserError("a node without an id")
    if node.startswith('"'):
        raise UserError(f"an id cannot begin with a quotation mark: {node[:80]}")
    return node
