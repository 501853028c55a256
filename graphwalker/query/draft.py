"""How a query is put into words: the question's text, the phrase of each hop, and its readings."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from graphwalker.query.constraint import Constraint
from graphwalker.query.query import Hop, Query, parse_hop


@dataclass(frozen=True, slots=True)
class Draft:
    """A question's text and its parts: `phrases[b][k]` is the phrase of hop k of branch b,
    `readings[b][k]` the hops that this phrase may mean, the true one first."""

    text: str
    phrases: tuple[tuple[str, ...], ...]
    tail_phrases: tuple[str, ...]
    readings: tuple[tuple[tuple[Hop, ...], ...], ...]
    tail_readings: tuple[tuple[Hop, ...], ...] = ()
    constraint: str = ""
    """The form in which the query's constraint is worded, `{b}` for its bound."""
    own_words: tuple[str, ...] = ()
    """Hops that a chat model worded in none of their known phrases: what else their words may mean
    is not known from `readings`."""

    def to_json(self) -> dict[str, Any]:
        """Return all but the text, which stands in the question's own field."""
        constraint = {"constraint": self.constraint} if self.constraint else {}
        own_words = {"own_words": list(self.own_words)} if self.own_words else {}
        return {
            "phrases": [list(branch) for branch in self.phrases],
            "tail_phrases": list(self.tail_phrases),
            "readings": [[list(map(str, r)) for r in branch] for branch in self.readings],
            "tail_readings": [list(map(str, r)) for r in self.tail_readings],
            **constraint,
            **own_words,
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
            own_words=tuple(record.get("own_words", ())),
        )


def fill_bound(form: str, constraint: Constraint) -> str:
    """Fill the form with its bound: a name, a year, or a number with commas; types have none."""
    bound = constraint.bound
    if constraint.than:
        bound = constraint.than.name
    elif constraint.kind == "number" and bound:
        whole, dot, rest = bound.partition(".")
        bound = f"{int(whole):,}{dot}{rest}"
    return form.replace("{b}", bound)


def plain_wording(query: Query, says: Callable[[Hop], str] = lambda hop: "") -> Draft:
    """Return the phrases of a query that comes without any, as `says` has them; `""` says nothing.

    >>> from graphwalker.graphs.base import Entity
    >>> from graphwalker.query.query import Branch
    >>> query = Query((Branch(Entity("m.a", "A"), (Hop("film.film.genre"),)),))
    >>> plain_wording(query, lambda hop: "the genre of {x}").phrases
    (('the genre of {x}',),)
    """
    return Draft(
        "",
        phrases=tuple(tuple(map(says, branch.hops)) for branch in query.branches),
        tail_phrases=tuple(map(says, query.tail)),
        readings=tuple(tuple((hop,) for hop in branch.hops) for branch in query.branches),
        tail_readings=tuple((hop,) for hop in query.tail),
        constraint=_constraint(query.constraint) if query.constraint else "",
    )


def _constraint(constraint: Constraint) -> str:
    if constraint.kind == "type":
        return f"is of the type {last_words(constraint.bound) or constraint.bound}"
    bound = "" if constraint.operator in ("highest", "lowest") else " {b}"
    return f"has the {_label(constraint.relation)} that is {constraint.operator}{bound}"


def _label(relation: str) -> str:
    return last_words(relation) or "relation"


def last_words(some_id: str) -> str:
    """Return the last words of an id of a relation or a type, whatever separates them.

    >>> last_words("location.us_county"), last_words("http://x.org/p#bornIn")
    ('us county', 'born in')
    """
    last = re.split(r"[./:#]", some_id.rstrip("./:#"))[-1]
    return " ".join(re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", last).lower()))
