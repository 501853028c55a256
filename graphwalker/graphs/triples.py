"""What graphs are asked in and answer in: entities, triples, directions, steps."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeVar

from graphwalker.errors import UserError

V = TypeVar("V")

FLATTENED = ".."
"""Joins the two relations of a hop through a CVT node, as Freebase slices do: `a.b.c..d.e.f`."""


class Direction(StrEnum):
    """Which end of a relation the entity at hand stands on."""

    OUT = "out"
    IN = "in"

    __hash__ = str.__hash__  # Enum's own is a call in Python, and this is part of many keys

    @property
    def reverse(self) -> "Direction":
        return Direction.IN if self == Direction.OUT else Direction.OUT


@dataclass(frozen=True, slots=True, order=True)
class Entity:
    """A node: `id` is unique in its graph; `name` is `""` for a node without one (a CVT node).

    A literal (a date, a number) is a node too: its id is its N-Triples form, such as
    `"1961-08-04"^^<http://www.w3.org/2001/XMLSchema#date>`, and its name the lexical value.
    """

    id: str
    name: str = ""

    def __hash__(self) -> int:
        # By the id alone: entities of a graph differ by it, and sets of them are in every look-up.
        return hash(self.id)


@dataclass(frozen=True, slots=True, order=True)
class Triple:
    """One fact. `relation` may be flattened (two relations around a CVT node, joined by `..`)."""

    head: Entity
    relation: str
    tail: Entity


class AtLeast(int):
    """A count that was not finished: there are so many, or more."""

    def __sub__(self, other: int) -> "AtLeast":
        return AtLeast(int(self) - other)


class Side(NamedTuple):
    """One side of an entity: its outgoing or its incoming triples."""

    entity_id: str
    direction: Direction


class Step(NamedTuple):
    """A look from an entity along a relation, for the first `limit` entities (all when `None`)."""

    entity_id: str
    relation: str
    direction: Direction
    limit: int | None = None


def direction_of(value: str) -> Direction:
    """Return the direction that a text names. Raises `UserError` for any other: it must not be
    taken for one of the two in silence.

    >>> direction_of("out")
    <Direction.OUT: 'out'>
    """
    if isinstance(value, Direction):
        return value
    try:
        return Direction(value)
    except ValueError:
        raise UserError(f"direction {value!r}: give Direction.OUT or Direction.IN") from None


class ByDirection(dict[Direction, V]):
    """A value for each direction; a text that names neither is a `UserError`, not a `KeyError`."""

    def __missing__(self, key: str) -> V:
        return self[direction_of(key)]


def triple(here: Entity, relation: str, other: Entity, direction: Direction) -> Triple:
    """Return the triple of an entity and one that it has in that direction."""
    out = direction == Direction.OUT
    return Triple(here, relation, other) if out else Triple(other, relation, here)
