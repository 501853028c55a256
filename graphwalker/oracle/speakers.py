"""Speakers: how the oracle's moves are written as the calls of one preset's tools."""

from typing import Protocol, runtime_checkable

from graphwalker.graphs.base import Direction
from graphwalker.tools.base import Call


class Speaker(Protocol):
    """Turns an abstract move of an oracle into a call of the preset's own tools.

    `entity` is always the name under which the episode has shown the entity.
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


class PagedSpeaker(WalkerSpeaker):
    """Speaks to the same tools with pages."""

    def relations_page(self, entity: str, page: int) -> Call:
        return Call("get_relations", {"entity": entity, "page": page})

    def triples_page(self, entity: str, relation: str, page: int) -> Call:
        return Call("get_triples", {"entity": entity, "relations": [relation], "page": page})
