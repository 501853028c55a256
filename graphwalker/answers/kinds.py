"""Kinds of answers: names, rows of a table, a path, a text; each compares a given answer with it.

A given answer is always a tuple of texts, one an entry, whatever its kind: names as they are, rows
as JSON objects, a path as its nodes in order, a text alone. Trajectories hold it so, every report
shows it so, and the question's gold says how it is read."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Protocol, cast

from graphwalker.answers.rows import Rows, measures, nothing
from graphwalker.answers.values import answer_key
from graphwalker.errors import UserError
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
        gold, found = set(map(answer_key, self.names)), dict.fromkeys(map(answer_key, given))
        first = next(iter(found), "")
        return measures(len(gold & found.keys()), len(found), len(gold), first in gold)

    def find_in(self, observations: Sequence[str]) -> tuple[bool, bool]:
        text = fold("\n".join(observations))
        found = [fold(name) in text for name in self.names]
        return any(found), bool(found) and all(found)

    def is_grounded(self, given: Sequence[str] | None, observations: Sequence[str]) -> bool:
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


@dataclass(frozen=True, slots=True)
class PathAnswer:
    """A path from its first node to its last one. Without `edges` only this one is right; with
    them every path whose steps all follow an edge, in either direction.

    >>> gold = PathAnswer(("a", "b"), (("a", "b"), ("a", "c"), ("c", "b")))
    >>> gold.compare(["a", "c", "b"])["em"], gold.compare(["a", "c", "b"])["path_ratio"]
    (1.0, 2.0)
    >>> gold.compare(["b", "a"])["em"]
    0.0
    """

    kind: ClassVar[str] = "path"
    nodes: tuple[str, ...]
    """A shortest one, where several are right."""
    edges: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not self.nodes:
            raise ValueError("a path has at least one node")

    def texts(self) -> tuple[str, ...]:
        return self.nodes

    def compare(self, given: Sequence[str] | None) -> dict[str, float]:
        """`em` says whether it is right, the other measures the same. `path_ratio`, of a right one
        only: its steps to those of the shortest."""
        if given is None or self.fault(given):
            return nothing()
        steps, shortest = len(given) - 1, len(self.nodes) - 1
        ratio = steps / shortest if shortest else 1.0
        return {**measures(1, 1, 1, True), "path_ratio": ratio}

    def fault(self, given: Sequence[str]) -> str:
        """Return why this is no right path, or `""`."""
        nodes = [node.strip() for node in given]
        if not self.edges:
            return "" if tuple(nodes) == self.nodes else "another path"
        if not nodes or nodes[0] != self.nodes[0]:
            return "does not begin at the start"
        if nodes[-1] != self.nodes[-1]:
            return "does not end at the goal"
        known = {*self.edges, *((b, a) for a, b in self.edges)}
        jump = next((step for step in pairwise(nodes) if step not in known), None)
        return "" if jump is None else f"there is no step from {jump[0]} to {jump[1]}"

    def find_in(self, observations: Sequence[str]) -> tuple[bool, bool]:
        words = _split_words(observations)
        found = [node in words for node in self.nodes]
        return any(found), all(found)

    def is_grounded(self, given: Sequence[str] | None, observations: Sequence[str]) -> bool:
        words = _split_words(observations) | {self.nodes[0]}
        return bool(given) and all(node.strip() in words for node in given)

    def to_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {"kind": self.kind, "nodes": list(self.nodes)}
        return {**record, "edges": [list(edge) for edge in self.edges]} if self.edges else record

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> "PathAnswer":
        edges = tuple((str(a), str(b)) for a, b in record.get("edges", ()))
        return cls(tuple(map(str, record["nodes"])), edges)


def _split_words(observations: Sequence[str]) -> set[str]:
    """Return what stands between signs and spaces."""
    text = "\n".join(observations)
    return set("".join(c if c.isalnum() or c in "_-" else " " for c in text).split())


@dataclass(frozen=True, slots=True)
class Text:
    """`em`: equal to one of the accepted texts, case and space aside; the other measures compare
    words with those of the accepted text that is nearest.

    >>> Text("in the north", ("the north",)).compare(["The  north"])["em"]
    1.0
    """

    kind: ClassVar[str] = "text"
    text: str
    others: tuple[str, ...] = ()

    def texts(self) -> tuple[str, ...]:
        return (self.text,)

    def compare(self, given: Sequence[str] | None) -> dict[str, float]:
        if given is None:
            return nothing()
        words = fold("\n".join(given))
        scores = [_compare_words(words, fold(text)) for text in (self.text, *self.others)]
        best = max(scores, key=lambda found: (found["em"], found["f1"]))
        return {**best, "hits1": best["em"]}

    def find_in(self, observations: Sequence[str]) -> tuple[bool, bool]:
        seen = fold("\n".join(observations))
        found = any(fold(text) in seen for text in (self.text, *self.others))
        return found, found

    def is_grounded(self, given: Sequence[str] | None, observations: Sequence[str]) -> bool:
        return bool(given) and fold("\n".join(given)) in fold("\n".join(observations))

    def to_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {"kind": self.kind, "text": self.text}
        return {**record, "others": list(self.others)} if self.others else record

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> "Text":
        return cls(str(record["text"]), tuple(map(str, record.get("others", ()))))


def _compare_words(words: str, gold: str) -> dict[str, float]:
    given, wanted = Counter(words.split()), Counter(gold.split())
    scores = measures((given & wanted).total(), given.total(), wanted.total(), False)
    return {**scores, "em": float(words == gold)}


@dataclass(frozen=True, slots=True)
class Absent:
    """The graph does not hold the answer: an empty answer is right, and nothing else is.

    >>> Absent().compare([])["em"], Absent().compare(["Oslo"])["em"], Absent().compare(None)["em"]
    (1.0, 0.0, 0.0)
    """

    kind: ClassVar[str] = "absent"

    def texts(self) -> tuple[str, ...]:
        return ()

    def compare(self, given: Sequence[str] | None) -> dict[str, float]:
        if given is None:
            return nothing()
        return {**measures(0, len(given), 0, not given), "hit_any": float(not given)}

    def find_in(self, observations: Sequence[str]) -> tuple[bool, bool]:
        """Return whether the graph was looked at: what it does not hold no observation can show."""
        return any(observations), any(observations)

    def is_grounded(self, given: Sequence[str] | None, observations: Sequence[str]) -> bool:
        text = fold("\n".join(observations))
        return given is not None and bool(text) and all(fold(name) in text for name in given)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> "Absent":
        return cls()


_Given = Sequence[str] | None


class GoldAnswer(Protocol):
    """What a question's answer is to be, where it is more than a set of names."""

    kind: ClassVar[str]
    """Its name in files, and that of the answers that are compared with it."""

    def texts(self) -> tuple[str, ...]:
        """Return the gold answer as an answer that is given would be written."""
        ...

    def compare(self, given: _Given) -> dict[str, float]:
        """`em`, `f1`, `precision`, `recall`, `hits1`, `hit_any` and what the kind has besides."""
        ...

    def find_in(self, observations: Sequence[str]) -> tuple[bool, bool]:
        """Return whether the observations showed some, and all, of what the answer is made of."""
        ...

    def is_grounded(self, given: _Given, observations: Sequence[str]) -> bool:
        """Return whether everything that a given answer names was shown."""
        ...

    def to_json(self) -> dict[str, Any]: ...


KINDS: Mapping[str, Any] = {kind.kind: kind for kind in (Names, Rows, PathAnswer, Text, Absent)}


def read_gold(record: object) -> GoldAnswer | None:
    """Get the gold of a question's record, `None` for none. Raises `UserError` naming the field."""
    if record is None:
        return None
    if not isinstance(record, dict):
        raise UserError("field 'gold' is no JSON object")
    fields = cast("dict[str, Any]", record)
    kind = str(fields.get("kind"))
    if kind not in KINDS:
        raise UserError(f"field 'gold.kind' is {kind!r}; known: {', '.join(KINDS)}")
    try:
        return KINDS[kind].from_json(fields)
    except KeyError as error:
        raise UserError(f"field 'gold' has no {error.args[0]!r}") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise UserError(f"field 'gold' is no {kind}: {error}") from None
