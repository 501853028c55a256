"""Names: the kind of answer that most questions have, a set without order."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from graphwalker.answers.measures import measures, nothing
from graphwalker.graphs.names import fold


@dataclass(frozen=True, slots=True)
class Names:
    """A set of names. Questions hold theirs as `answers`, with ids and aliases; this is the same
    where neither is known.

    >>> Names(("Oslo", "Rome")).compare(["oslo"])["recall"]
    0.5
    """

    kind: ClassVar[str] = "names"
    names: tuple[str, ...]

    def texts(self) -> tuple[str, ...]:
        return self.names

    def compare(self, given: Sequence[str] | None) -> dict[str, float]:
        if given is None:
            return nothing()
        gold, found = {fold(name) for name in self.names}, dict.fromkeys(map(fold, given))
        first = next(iter(found), "")
        return measures(len(gold & found.keys()), len(found), len(gold), first in gold)

    def shown(self, observations: Sequence[str]) -> tuple[bool, bool]:
        text = fold("\n".join(observations))
        found = [fold(name) in text for name in self.names]
        return any(found), bool(found) and all(found)

    def grounded(self, given: Sequence[str] | None, observations: Sequence[str]) -> bool:
        text = fold("\n".join(observations))
        return bool(given) and all(fold(name) in text for name in given)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "names": list(self.names)}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> "Names":
        return cls(tuple(map(_text, record["names"])))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"names are strings, not {json.dumps(value)[:40]}")
    return value
