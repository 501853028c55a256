"""GRBench's `graph.json` as records of a property graph, node by node: the files are several GB.

The form is `{"paper_nodes": {ID: {"features": {...}, "neighbors": {"author": [ID, ...]}}}, ...}`:
`X_nodes` become nodes of type X, features their properties, neighbour types relationships. Both
directions of a relationship stand in the file where it has both, so none is inverted.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, cast

from graphwalker.errors import UserError
from graphwalker.graphs.intake.blocks import open_input

SUFFIX = "_nodes"
NAMES = ("name", "title", "case_name", "full_name", "short_name")
"""The first of these features that says something is what the node is called."""
_CHUNK = 1 << 20
_JSON = json.JSONDecoder()
_SPACE = " \t\r\n"


@dataclass(slots=True)
class GrbenchCounts:
    """What was read."""

    nodes: dict[str, int] = field(default_factory=dict[str, int])
    relationships: int = 0


def grbench_records(path: Path, counts: GrbenchCounts | None = None) -> Iterator[dict[str, Any]]:
    """Yield the records of `graph.json` (or .gz), as `graph build --property` reads them.

    Raises `UserError` naming the place for what is not of that form.
    """
    counts = counts or GrbenchCounts()
    with open_input(path) as file:
        reader = ObjectReader(path, file)
        for group in reader.fields():
            if not group.endswith(SUFFIX) or group == SUFFIX:
                raise UserError(f"{path}: field {group[:80]!r} is no X{SUFFIX}, as GRBench has")
            label = group.removesuffix(SUFFIX)
            for node_id in reader.fields():
                counts.nodes[label] = counts.nodes.get(label, 0) + 1
                where = f"{path}: {group}, node {node_id[:80]!r}"
                yield from _records(label, node_id, reader.value(where), where, counts)
        reader.end()


def _records(
    label: str, node_id: str, value: Any, where: str, counts: GrbenchCounts
) -> Iterator[dict[str, Any]]:
    node = as_mapping(value, where)
    features = as_mapping(node.get("features", {}), f"{where}, features")
    neighbors = as_mapping(node.get("neighbors", {}), f"{where}, neighbors")
    if not node_id:
        raise UserError(f"{where}: a node without an id")
    name = next((str(features[key]) for key in NAMES if features.get(key)), node_id)
    properties = {**features, "name": features.get("name") or name}
    yield {"type": "node", "id": node_id, "labels": [label], "properties": properties}
    for kind, ends in neighbors.items():
        if not isinstance(ends, list):
            raise UserError(f"{where}, neighbors {kind!r}: must be a list of ids")
        for end in dict.fromkeys(map(str, cast("list[Any]", ends))):
            counts.relationships += 1
            yield relationship(node_id, kind, end)


def relationship(head: str, label: str, tail: str) -> dict[str, Any]:
    """Return the record of an edge."""
    return {"type": "relationship", "label": label, "start": {"id": head}, "end": {"id": tail}}


def as_mapping(value: Any, where: str) -> dict[str, Any]:
    """Return a JSON object. Raises `UserError` for anything else."""
    if not isinstance(value, dict):
        raise UserError(f"{where}: must be a JSON object")
    return cast("dict[str, Any]", value)


class ObjectReader:
    """Objects of objects, read key by key: only the value at hand is in memory."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path, self._file = path, TextIOWrapper(file, "utf-8-sig")  # pyright: ignore
        self._buffer, self._at, self._read = "", 0, 0

    def fields(self) -> Iterator[str]:
        """Yield the keys of the object that begins here; each value is read before the next key."""
        self._expect("{")
        if self._next() == "}":
            self._at += 1
            return
        while True:
            if self._next() != '"':
                raise self._wrong("a key in double quotes")
            key = self.value(str(self._path))
            self._expect(":")
            yield str(key)
            letter = self._next()
            self._at += 1
            if letter == "}":
                return
            if letter != ",":
                self._at -= 1
                raise self._wrong('"," or "}"')

    def value(self, where: str) -> Any:
        """Return the JSON value that begins here."""
        self._next()
        size = _CHUNK
        while True:
            try:
                value, end = _JSON.raw_decode(self._buffer, self._at)
            except (ValueError, RecursionError) as error:
                # An incomplete value fails as a damaged one does: only more text tells. Each time
                # twice as much, so that a long one is not decoded again and again.
                whole = not isinstance(error, json.JSONDecodeError)
                if whole or not self._more(size):
                    raise UserError(f"{where}: not JSON (character {self._place():,})") from None
                size *= 2
                continue
            # A number at the end of the buffer may have further digits.
            if end == len(self._buffer) and self._more(size):
                continue
            self._at = end
            return value

    def end(self) -> None:
        """Nothing but white space may follow."""
        if self._next():
            raise self._wrong("the end of the file")

    def _expect(self, letter: str) -> None:
        if self._next() != letter:
            raise self._wrong(f'"{letter}"')
        self._at += 1

    def _next(self) -> str:
        """Move to the next letter that is no white space and return it, `""` at the end."""
        while True:
            while self._at < len(self._buffer):
                if self._buffer[self._at] not in _SPACE:
                    return self._buffer[self._at]
                self._at += 1
            if not self._more(_CHUNK):
                return ""

    def _more(self, size: int) -> bool:
        try:
            text = self._file.read(size)
        except (UnicodeDecodeError, EOFError, OSError) as error:
            raise UserError(f"{self._path}: cannot be read ({error})") from None
        self._read += self._at
        self._buffer, self._at = self._buffer[self._at :] + text, 0
        return bool(text)

    def _place(self) -> int:
        return self._read + self._at + 1

    def _wrong(self, expected: str) -> UserError:
        return UserError(f"{self._path}: character {self._place():,}: expected {expected}")
