"""Speakers: how the oracle's moves are written as the calls of one preset's tools."""

from collections.abc import Callable
from typing import Protocol

from graphwalker.graphs.base import FLATTENED, Direction, Entity
from graphwalker.query.query import Hop
from graphwalker.tools.base import Abilities, Call, Directed, abilities_of


class Speaker(Protocol):
    """Turns an abstract move of an oracle into a call of the preset's own tools.

    `entity` is the name under which the episode has shown the entity, or its id (`Directed`).
    `abilities` may state more (`graphwalker.tools.base`).
    """

    def relations(self, entity: str) -> Call:
        """Return the call that lists the relations of an entity."""
        ...

    def triples(self, entity: str, relation: str, direction: Direction | None = None) -> Call:
        """Return the call that shows the triples of an entity by one relation.

        `direction` is known where the move comes from a query; tools that show both do without it.
        """
        ...


class WalkerSpeaker:
    """Speaks to GraphWalker's two tools."""

    def relations(self, entity: str) -> Call:
        return Call("get_relations", {"entity": entity})

    def triples(self, entity: str, relation: str, direction: Direction | None = None) -> Call:
        return Call("get_triples", {"entity": entity, "relations": [relation]})


class ReleasedSpeaker(Directed):
    """Speaks to the tools of GraphWalker's released client: a relation through CVT nodes is asked
    for by its half at the entity."""

    def look(self, entity: str, direction: Direction) -> Call:
        return Call("get_relations", {"entity": entity})

    def triples(self, entity: str, relation: str, direction: Direction | None = None) -> Call:
        half = self.listed_as(Hop(relation, direction or Direction.OUT)).relation
        return Call("get_triples", {"entity": entity, "relations": [half]})

    def listed_as(self, hop: Hop) -> Hop:
        first, flat, second = hop.relation.partition(FLATTENED)
        if not flat:
            return hop
        return Hop(first if hop.direction is Direction.OUT else second, hop.direction)


class SearchSpeaker(Directed):
    """Speaks to Search-on-Graph's tool, by ids as its tables show them."""

    by_id = True
    walks_cvts = True

    def __init__(
        self, shown: Callable[[str], str] = str, relation: Callable[[str], str] = str
    ) -> None:
        """Take how an id of the graph is written, and a relation."""
        self._shown = shown
        self._relation = relation

    def look(self, entity: str, direction: Direction) -> Call:
        return Call("search", self._where(entity, direction))

    def triples(self, entity: str, relation: str, direction: Direction | None = None) -> Call:
        where = self._where(entity, direction or Direction.OUT)
        return Call("search", {**where, "properties_to_filter_for": [self._relation(relation)]})

    def relation_name(self, relation: str) -> str:
        return self._relation(relation)

    def _where(self, entity: str, direction: Direction) -> dict[str, str]:
        way = "outgoing" if direction is Direction.OUT else "incoming"
        return {"entity": self._shown(entity), "direction": way}


class OneWaySpeaker(Directed):
    """Speaks to KG-R1's four tools, by names."""

    def look(self, entity: str, direction: Direction) -> Call:
        side = "tail" if direction is Direction.OUT else "head"
        return Call(f"get_{side}_relations", {"entity": entity})

    def triples(self, entity: str, relation: str, direction: Direction | None = None) -> Call:
        side = "head" if direction is Direction.IN else "tail"
        return Call(f"get_{side}_entities", {"entity": entity, "relation": relation})


class PagedSpeaker(WalkerSpeaker):
    """Speaks to the same tools with pages."""

    @property
    def abilities(self) -> Abilities:
        return Abilities(pages=self)

    def relations_page(self, entity: str, page: int) -> Call:
        return Call("get_relations", {"entity": entity, "page": page})

    def triples_page(self, entity: str, relation: str, page: int) -> Call:
        return Call("get_triples", {"entity": entity, "relations": [relation], "page": page})


def call_name(speaker: Speaker, entity: Entity) -> str:
    """Return what a call names the entity by: its shown name, or its id."""
    directed = abilities_of(speaker).directed
    return entity.id if directed and directed.by_id else entity.name
