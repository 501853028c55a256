"""The knowledge graph as agents see it: entities, triples, and a read-only protocol."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

FLATTENED = ".."
"""Joins the two relations of a hop through a CVT node, as Freebase slices do: `a.b.c..d.e.f`."""


class Direction(StrEnum):
    """Which end of a relation the entity at hand stands on."""

    OUT = "out"
    IN = "in"

    __hash__ = str.__hash__  # Enum's own is a call in Python, and this is part of many keys

    @property
    def reverse(self) -> "Direction":
        return Direction.IN if self is Direction.OUT else Direction.OUT


@dataclass(frozen=True, slots=True, order=True)
class Entity:
    """A node: `id` is unique in its graph; `name` is `""` for a node without one (a CVT node).

    A literal (a date, a number) is a node too: its id is its N-Triples form, such as
    `"1961-08-04"^^<http://www.w3.org/2001/XMLSchema#date>`, and its name the lexical value.
    """

    id: str
    name: str = ""


@dataclass(frozen=True, slots=True, order=True)
class Triple:
    """One fact. `relation` may be flattened (two relations around a CVT node, joined by `..`)."""

    head: Entity
    relation: str
    tail: Entity


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


@runtime_checkable
class KnowledgeGraph(Protocol):
    """A read-only graph. Unknown entities and relations give empty results; an outage raises.

    Every list comes in one stable order, the same on every backend:
    relations by relation id, neighbors and triples by entity id (compared as UTF-8 bytes).
    Any call may raise `GraphError` when the backend fails; none returns an empty result instead.

    A backend of one's own inherits from this class and gives four methods: `resolve`, `name`,
    `relations` and `neighbors`. Everything else has a default that it may override: `size`,
    `entity_at` and `relation_ids` to make walks and questions from it, the others for speed.

    The batched forms (`..._many`) give exactly what the single ones give, one answer for each
    item asked, in the order asked. A class that inherits from this protocol has them for free;
    a backend whose calls are round trips overrides them so that one call is one round trip.
    """

    checksum: str = ""
    """What tells this graph from others in a run's provenance; `""` where nothing does."""
    path: Path | None = None
    """The file that holds it, where it is one."""
    size: int = 0
    """How many named entities `entity_at` gives; 0 for a graph that cannot list them."""

    @abstractmethod
    def resolve(self, name: str) -> list[Entity]:
        """All entities of that name, best first: exact before case-folded, most types, then id."""
        ...

    @abstractmethod
    def name(self, entity_id: str) -> str:
        """The display name, or `""`."""
        ...

    @abstractmethod
    def relations(self, entity_id: str, direction: Direction) -> list[tuple[str, int]]:
        """Distinct relations of the entity in that direction, each with its number of triples."""
        ...

    def count(self, entity_id: str, relation: str, direction: Direction) -> int:
        """How many triples the entity has with that relation in that direction."""
        return dict(self.relations(entity_id, direction)).get(relation, 0)

    @abstractmethod
    def neighbors(
        self, entity_id: str, relation: str, direction: Direction, limit: int | None = None
    ) -> list[Entity]:
        """The entities on the other end, the first `limit` of them (all when `None`)."""
        ...

    def triples(
        self,
        entity_id: str,
        relations: Sequence[str],
        direction: Direction,
        limit: int | None = None,
    ) -> list[Triple]:
        """Triples around the entity, at most `limit` per relation, in the order of `relations`."""
        here = Entity(entity_id, self.name(entity_id))
        return [
            Triple(here, r, other) if direction is Direction.OUT else Triple(other, r, here)
            for r in relations
            for other in self.neighbors(entity_id, r, direction, limit)
        ]

    def types(self, entity_id: str) -> list[str]:
        """Type ids such as `people.person`, sorted; empty when the graph has none."""
        return []

    def entity_at(self, index: int) -> Entity:
        """The named entity at that place in id order, `0 <= index < size`."""
        raise IndexError(index)

    def relation_ids(self) -> list[str]:
        """Every relation of the graph, sorted; empty for a graph that cannot list them."""
        return []

    def info(self) -> dict[str, int | str]:
        """Counts and other facts, for people and for provenance."""
        return {"entities": self.size, "checksum": self.checksum}

    def names_many(self, entity_ids: Sequence[str]) -> list[str]:
        """`name` of each."""
        return [self.name(entity_id) for entity_id in entity_ids]

    def relations_many(self, sides: Sequence[Side]) -> list[list[tuple[str, int]]]:
        """`relations` of each side."""
        return [self.relations(entity_id, direction) for entity_id, direction in sides]

    def neighbors_many(self, steps: Sequence[Step]) -> list[list[Entity]]:
        """`neighbors` of each step."""
        return [self.neighbors(*step) for step in steps]

    def triples_many(
        self,
        sides: Sequence[Side],
        relations: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[list[Triple]]:
        """`triples` of each side over `relations`; over all that a side has when `None`."""
        found: list[list[Triple]] = []
        for entity_id, direction in sides:
            wanted = relations
            if wanted is None:
                wanted = [relation for relation, _ in self.relations(entity_id, direction)]
            found.append(self.triples(entity_id, wanted, direction, limit))
        return found
