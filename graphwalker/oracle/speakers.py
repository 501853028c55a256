"""Speakers: how the oracle's moves are written as the calls of one preset's tools."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from graphwalker.graphs.base import FLATTENED, Direction, Entity
from graphwalker.query.query import Hop
from graphwalker.tools.base import Call, fits


class Speaker(Protocol):
    """Turns an abstract move of an oracle into a call of the preset's own tools.

    `entity` is the name under which the episode has shown the entity, or its id (`Directed`).
    """

    def relations(self, entity: str) -> Call:
        """The call that lists the relations of an entity."""
        ...

    def triples(self, entity: str, relation: str, direction: Direction | None = None) -> Call:
        """The call that shows the triples of an entity by one relation.

        `direction` is known where the move comes from a query; tools that show both do without it.
        """
        ...


@runtime_checkable
class Pages(Protocol):
    """What a speaker has besides, where the tools show long lists in pages from 1 on."""

    def relations_page(self, entity: str, page: int) -> Call:
        """A further page of `relations`."""
        ...

    def triples_page(self, entity: str, relation: str, page: int) -> Call:
        """A further page of `triples`."""
        ...


class WalkerSpeaker:
    """Speaks to GraphWalker's two tools."""

    def relations(self, entity: str) -> Call:
        return Call("get_relations", {"entity": entity})

    def triples(self, entity: str, relation: str, direction: Direction | None = None) -> Call:
        return Call("get_triples", {"entity": entity, "relations": [relation]})


class ReleasedSpeaker:
    """Speaks to the tools of GraphWalker's released client: a relation through CVT nodes is asked
    for by its half at the entity."""

    by_id = False
    walks_cvts = False

    def relations(self, entity: str) -> Call:
        return Call("get_relations", {"entity": entity})

    def look(self, entity: str, direction: Direction) -> Call:
        return self.relations(entity)

    def triples(self, entity: str, relation: str, direction: Direction | None = None) -> Call:
        half = self.listed_as(Hop(relation, direction or Direction.OUT)).relation
        return Call("get_triples", {"entity": entity, "relations": [half]})

    def named(self, relation: str) -> str:
        return relation

    def listed_as(self, hop: Hop) -> Hop:
        first, flat, second = hop.relation.partition(FLATTENED)
        if not flat:
            return hop
        return Hop(first if hop.direction is Direction.OUT else second, hop.direction)


class SearchSpeaker:
    """Speaks to Search-on-Graph's tool, by ids as its tables show them."""

    by_id = True
    walks_cvts = True

    def __init__(
        self, shown: Callable[[str], str] = str, relation: Callable[[str], str] = str
    ) -> None:
        """How an id of the graph is written, and a relation."""
        self._shown = shown
        self._relation = relation

    def relations(self, entity: str) -> Call:
        return self.look(entity, Direction.OUT)

    def look(self, entity: str, direction: Direction) -> Call:
        return Call("search", self._where(entity, direction))

    def triples(self, entity: str, relation: str, direction: Direction | None = None) -> Call:
        where = self._where(entity, direction or Direction.OUT)
        return Call("search", {**where, "properties_to_filter_for": [self._relation(relation)]})

    def listed_as(self, hop: Hop) -> Hop:
        return hop

    def named(self, relation: str) -> str:
        return self._relation(relation)

    def _where(self, entity: str, direction: Direction) -> dict[str, str]:
        way = "outgoing" if direction is Direction.OUT else "incoming"
        return {"entity": self._shown(entity), "direction": way}


class OneWaySpeaker:
    """Speaks to KG-R1's four tools, by names."""

    by_id = False
    walks_cvts = False

    def relations(self, entity: str) -> Call:
        return self.look(entity, Direction.OUT)

    def look(self, entity: str, direction: Direction) -> Call:
        side = "tail" if direction is Direction.OUT else "head"
        return Call(f"get_{side}_relations", {"entity": entity})

    def triples(self, entity: str, relation: str, direction: Direction | None = None) -> Call:
        side = "head" if direction is Direction.IN else "tail"
        return Call(f"get_{side}_entities", {"entity": entity, "relation": relation})

    def listed_as(self, hop: Hop) -> Hop:
        return hop

    def named(self, relation: str) -> str:
        return relation


class PagedSpeaker(WalkerSpeaker):
    """Speaks to the same tools with pages."""

    def relations_page(self, entity: str, page: int) -> Call:
        return Call("get_relations", {"entity": entity, "page": page})

    def triples_page(self, entity: str, relation: str, page: int) -> Call:
        return Call("get_triples", {"entity": entity, "relations": [relation], "page": page})


@runtime_checkable
class Directed(Protocol):
    """What a speaker has besides, where one call looks in one direction alone."""

    by_id: bool
    """Entities are called by their ids, not by the names shown."""
    walks_cvts: bool
    """CVT nodes are shown and walked: a flattened relation takes two steps."""

    def look(self, entity: str, direction: Direction) -> Call:
        """The call that shows what lies on one side of an entity: relations, or triples, too."""
        ...

    def listed_as(self, hop: Hop) -> Hop:
        """The hop that a look lists where this one is meant."""
        ...

    def named(self, relation: str) -> str:
        """The relation as the tools show it."""
        ...


def called(speaker: Speaker, entity: Entity) -> str:
    """What a call names the entity by: its shown name, or its id."""
    return entity.id if fits(speaker, Directed) and speaker.by_id else entity.name
