"""Rows: an answer that is a table, such as a Cypher query returns."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from graphwalker.files import dumps

MEASURES = ("em", "f1", "precision", "recall", "hits1", "hit_any")


def measures(found: int, given: int, wanted: int, first: bool) -> dict[str, float]:
    """Measure `given` entries, `found` of them `wanted`; `first`: the first one is.

    >>> measures(1, 2, 1, True)["precision"]
    0.5
    """
    precision = found / given if given else float(wanted == 0)
    recall = found / wanted if wanted else float(given == 0)
    total = precision + recall
    return {
        "em": float(found == given == wanted),
        "f1": 2 * precision * recall / total if total else 0.0,
        "precision": precision,
        "recall": recall,
        "hits1": float(first),
        "hit_any": float(found > 0),
    }


def nothing() -> dict[str, float]:
    """Return the measures where no answer was given."""
    return dict.fromkeys(MEASURES, 0.0)


RowCell = str | int | float | bool | None
AnswerRow = Mapping[str, RowCell]
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d{1,3})?")
"""As JSON writes them: a text such as "007" is none."""
_LONGEST_NUMBER = 40
"""A longer text is no number that anyone wrote as an answer; `int` refuses very long ones."""


@dataclass(frozen=True, slots=True)
class Rows:
    """`rows` are all wanted; of `ties`, any `pick` of them, as where the question wants one of
    several that are equally good. Their order says nothing.

    Rows are equal where they have the same columns and cells. A number equals another of the same
    value, written as a number or as a text; texts are equal letter by letter, but for space around.

    >>> gold = Rows(({"count": 3},))
    >>> gold.compare(['{"count": "3"}'])["em"], gold.compare(['{"count": 4}'])["em"]
    (1.0, 0.0)
    >>> Rows((), ({"key": "a"}, {"key": "b"}), 1).compare(['{"key": "b"}'])["em"]
    1.0
    """

    kind: ClassVar[str] = "rows"
    rows: tuple[AnswerRow, ...]
    ties: tuple[AnswerRow, ...] = ()
    pick: int = 0
    repeats: bool = False
    """Whether it counts how often a row stands there (a multiset), or only whether (a set)."""

    def __post_init__(self) -> None:
        if not 0 <= self.pick <= len(self.ties) or (self.ties and not self.pick):
            raise ValueError(f"pick is {self.pick}, of {len(self.ties)} ties")

    def texts(self) -> tuple[str, ...]:
        return tuple(map(row_text, (*self.rows, *self.ties[: self.pick])))

    def compare(self, given: Sequence[str] | None) -> dict[str, float]:
        """Compare as every kind does, and count `false_positives`: rows that the answer lacks."""
        if given is None:
            return {**nothing(), "false_positives": 0.0}
        rows = list(map(read_row, given))
        keys = list(map(_key, rows))
        answer, wanted, ties = Counter(keys), self._count_rows(), Counter(map(_key, self.ties))
        if not self.repeats:
            answer, ties = Counter(set(answer)), Counter(set(ties))
        sure = (answer & wanted).total()
        picked = min(self.pick, ((answer - wanted) & ties).total())
        size = wanted.total() + min(self.pick, ties.total())
        first = bool(keys) and (keys[0] in wanted or keys[0] in ties)
        found = sure + picked
        scores = measures(found, answer.total(), size, first)
        return {**scores, "false_positives": float(answer.total() - found)}

    def nearest(self, given: Sequence[str] | None) -> tuple[AnswerRow, ...]:
        """Return the gold rows as a metric without ties wants them: those ties that were given."""
        answer = {_key(read_row(text)) for text in given or ()}
        best = sorted(self.ties, key=lambda row: _key(row) not in answer)
        return (*self.rows, *best[: self.pick])

    def find_in(self, observations: Sequence[str]) -> tuple[bool, bool]:
        text = "\n".join(observations)
        sure = [_stands_in(row, text) for row in self.rows]
        ties = sum(_stands_in(row, text) for row in self.ties)
        return any(sure) or ties > 0, all(sure) and ties >= self.pick

    def is_grounded(self, given: Sequence[str] | None, observations: Sequence[str]) -> bool:
        text = "\n".join(observations)
        return bool(given) and all(_stands_in(read_row(row), text) for row in given)

    def to_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {"kind": self.kind, "rows": [dict(row) for row in self.rows]}
        if self.ties:
            record |= {"ties": [dict(row) for row in self.ties], "pick": self.pick}
        return {**record, "repeats": True} if self.repeats else record

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> "Rows":
        return cls(
            tuple(map(_row, record["rows"])),
            tuple(map(_row, record.get("ties", ()))),
            int(record.get("pick", 0)),
            bool(record.get("repeats", False)),
        )

    def _count_rows(self) -> Counter[frozenset[tuple[str, str]]]:
        keys = map(_key, self.rows)
        return Counter(keys) if self.repeats else Counter(set(keys))


def row_text(row: AnswerRow) -> str:
    """Return a row as an answer holds it: one JSON object."""
    return dumps(dict(row))


def read_row(text: str) -> AnswerRow:
    """Return a row of an answer; what is no JSON object is a row of one unnamed column."""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    return cast("dict[str, RowCell]", value) if isinstance(value, dict) else {"": text}


def row_texts(rows: Iterable[AnswerRow]) -> tuple[str, ...]:
    """Return rows as an answer holds them."""
    return tuple(map(row_text, rows))


def _key(row: AnswerRow) -> frozenset[tuple[str, str]]:
    return frozenset((column, _cell(value)) for column, value in row.items())


def _cell(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, int | float):
        return _number(str(value))
    if not isinstance(value, str):  # a model may nest what it likes
        return json.dumps(value, sort_keys=True)
    text = value.strip()
    short = len(text) <= _LONGEST_NUMBER
    return _number(text) if short and _NUMBER.fullmatch(text) else text


def _number(text: str) -> str:
    try:
        return str(int(text))
    except ValueError:
        return f"{float(text) + 0.0:.12g}"


def _stands_in(row: AnswerRow, text: str) -> bool:
    """Tell whether each text of the row stands there, as JSON; numbers may be counted, not read."""
    cells = [value for value in row.values() if isinstance(value, str)]
    return all(json.dumps(value, ensure_ascii=False) in text for value in cells)


def _row(value: object) -> AnswerRow:
    if not isinstance(value, dict):
        raise ValueError(f"rows are JSON objects, not {json.dumps(value)[:40]}")
    return cast("dict[str, RowCell]", value)
