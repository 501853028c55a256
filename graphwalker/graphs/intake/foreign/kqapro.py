"""KQA Pro's `kb.json` as records of a property graph: its concepts, entities, values, relations.

A value or relation with qualifiers stands twice: plain, and as a node without a name that holds it
as `value` beside its qualifiers, so `spouse..start time` is a hop. Quantities keep their unit.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphwalker.errors import UserError
from graphwalker.files import write_jsonl
from graphwalker.graphs.intake.blocks import open_input
from graphwalker.graphs.intake.grbench import ObjectReader, as_mapping, relationship
from graphwalker.graphs.properties import Value

FORM = "KQA Pro's kb.json"
PARTS = {"concepts": "concept", "entities": "entity"}
PARENTS = {"instanceOf": "instance of", "subclassOf": "subclass of"}
KINDS = ("string", "quantity", "date", "year")
NO_UNIT = ("", "1")


def write_records(path: Path, form: str, out: Path) -> None:
    """Write the nodes and relationships, one a line. Raises `UserError` naming the place."""
    known = {key: str(_field(value, "name", str, where)) for where, _, key, value in _nodes(path)}
    write_jsonl(out, _Base(path, known).records())


@dataclass(slots=True)
class _Base:
    path: Path
    names: Mapping[str, str]
    _written: set[str] = field(default_factory=set[str])
    _statements: int = 0

    def records(self) -> Iterator[dict[str, Any]]:
        for where, part, key, value in _nodes(self.path):
            own: dict[str, list[Value]] = {}
            further: list[dict[str, Any]] = []
            for number, one in enumerate(_field(value, "attributes", list, where, [])):
                further += self._attribute(key, one, f"{where}, attributes[{number}]", own)
            for number, one in enumerate(_field(value, "relations", list, where, [])):
                further += self._relation(key, one, f"{where}, relations[{number}]")
            parents = [(label, end) for at, label in PARENTS.items() for end in value.get(at, ())]
            concepts = [self.names[self._known(end, where)] for _, end in parents]
            yield {
                "type": "node",
                "id": key,
                "labels": [PARTS[part], *(concepts if part == "entities" else ())],
                "properties": {**own, "name": self.names[key]},
            }
            yield from (relationship(key, label, str(end)) for label, end in parents)
            yield from further

    def _attribute(
        self, head: str, one: Any, where: str, own: dict[str, list[Value]]
    ) -> Iterator[dict[str, Any]]:
        label, value = (
            _field(one, "key", str, where),
            _value(_field(one, "value", dict, where), where),
        )
        own.setdefault(label, []).append(value)
        if qualifiers := _qualifiers(one, where):
            yield from self._statement(head, label, {"value": value, **qualifiers})

    def _relation(self, here: str, one: Any, where: str) -> Iterator[dict[str, Any]]:
        label = _field(one, "predicate", str, where)
        ends = here, self._known(_field(one, "object", str, where), where)
        match _field(one, "direction", str, where):
            case "forward":
                head, tail = ends
            case "backward":
                tail, head = ends
            case other:
                raise UserError(f"{where}: direction must be forward or backward, not {other!r}")
        qualifiers = _qualifiers(one, where)
        if self._is_new(head, label, tail):
            yield relationship(head, label, tail)
        if qualifiers and self._is_new(head, label, tail, qualifiers):
            yield from self._statement(head, label, qualifiers)
            yield relationship(f"statement/{self._statements}", "value", tail)

    def _statement(
        self, head: str, label: str, properties: Mapping[str, Any]
    ) -> Iterator[dict[str, Any]]:
        self._statements += 1
        node = f"statement/{self._statements}"
        yield {"type": "node", "id": node, "named": False, "properties": properties}
        yield relationship(head, label, node)

    def _is_new(self, *parts: Any) -> bool:
        """Return whether this is the first time: a relation stands at both of its ends."""
        text = json.dumps(parts, sort_keys=True)
        if text in self._written:
            return False
        self._written.add(text)
        return True

    def _known(self, node: Any, where: str) -> str:
        if node not in self.names:
            raise UserError(f"{where}: {str(node)[:80]!r} is no entity and no concept of the file")
        return str(node)


def _nodes(path: Path) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Yield place, part, id and value of each concept and entity."""
    with open_input(path) as file:
        reader = ObjectReader(path, file)
        for part in reader.fields():
            if part not in PARTS:
                raise UserError(f"{path}: field {part[:80]!r} is not in {FORM}")
            for key in reader.fields():
                where = f"{path}: {part}, {key[:80]!r}"
                yield where, part, key, as_mapping(reader.value(where), where)
        reader.end()


def _qualifiers(one: Mapping[str, Any], where: str) -> dict[str, list[Value]]:
    found = as_mapping(one.get("qualifiers") or {}, f"{where}, qualifiers")
    return {key: [_value(as_mapping(v, where), where) for v in found[key]] for key in found}


def _value(given: Mapping[str, Any], where: str) -> Value:
    """Return a quantity without a unit or a year as a number, any other value as a text.

    >>> _value({"type": "quantity", "value": 165.0, "unit": "centimetre"}, "")
    '165 centimetre'
    """
    kind, value = given.get("type"), given.get("value")
    if kind not in KINDS or not isinstance(value, str | int | float):
        raise UserError(f"{where}: a value has a type of {', '.join(KINDS)}, and a value")
    if kind == "date":
        return str(value).replace("/", "-")
    if kind == "string":
        return str(value)
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    unit = str(given.get("unit") or "")
    return number if unit in NO_UNIT else f"{number} {unit}"


def _field(value: Any, name: str, kind: type[Any], where: str, default: Any = None) -> Any:
    found = as_mapping(value, where).get(name, default)
    if not isinstance(found, kind):
        raise UserError(f"{where}: field {name!r} must be a {kind.__name__}, as in {FORM}")
    return found
