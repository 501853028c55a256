"""How a query was put into words: the question's text, the phrase of each hop, and its readings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphwalker.query.constraint import Constraint
from graphwalker.query.query import Hop, parse_hop


@dataclass(frozen=True, slots=True)
class Draft:
    """A question text and how it was said: `phrases[b][k]` is the phrase of hop k of branch b,
    `readings[b][k]` the hops that this phrase may mean, the true one first."""

    text: str
    phrases: tuple[tuple[str, ...], ...]
    tail_phrases: tuple[str, ...]
    readings: tuple[tuple[tuple[Hop, ...], ...], ...]
    tail_readings: tuple[tuple[Hop, ...], ...] = ()
    constraint: str = ""
    """The form in which the query's constraint is said, `{b}` for its bound."""

    def to_json(self) -> dict[str, Any]:
        """All but the text, which stands in the question's own field."""
        constraint = {"constraint": self.constraint} if self.constraint else {}
        return {
            "phrases": [list(branch) for branch in self.phrases],
            "tail_phrases": list(self.tail_phrases),
            "readings": [[list(map(str, r)) for r in branch] for branch in self.readings],
            "tail_readings": [list(map(str, r)) for r in self.tail_readings],
            **constraint,
        }

    @classmethod
    def from_json(cls, text: str, record: Mapping[str, Any]) -> "Draft":
        return cls(
            text=text,
            phrases=tuple(map(tuple, record["phrases"])),
            tail_phrases=tuple(record["tail_phrases"]),
            readings=tuple(
                tuple(tuple(map(parse_hop, r)) for r in branch) for branch in record["readings"]
            ),
            tail_readings=tuple(tuple(map(parse_hop, r)) for r in record["tail_readings"]),
            constraint=record.get("constraint", ""),
        )


def said(form: str, constraint: Constraint) -> str:
    """The form with its bound: a name, a year, or a number with commas."""
    bound = constraint.bound
    if constraint.than:
        bound = constraint.than.name
    elif constraint.kind == "number" and bound:
        whole, dot, rest = bound.partition(".")
        bound = f"{int(whole):,}{dot}{rest}"
    return form.replace("{b}", bound)
