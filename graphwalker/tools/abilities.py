"""Abilities: what a tool box, a protocol or a speaker can do beyond its interface."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from graphwalker.graphs.base import Direction
from graphwalker.query.query import Hop
from graphwalker.tools.base import Call, Choices


class Pages(Protocol):
    """The `pages` ability: the tools show long lists in pages from 1 on."""

    def relations_page(self, entity: str, page: int) -> Call:
        """A further page of `relations`."""
        ...

    def triples_page(self, entity: str, relation: str, page: int) -> Call:
        """A further page of `triples`."""
        ...


@dataclass(frozen=True, slots=True)
class Abilities:
    """What an object states in its attribute `abilities`; by default it has none.

    >>> class Tools:
    ...     abilities = Abilities(topic_text=lambda: "Oslo (Q585)")
    >>> abilities_of(Tools()).topic_text()
    'Oslo (Q585)'
    """

    topic_text: Callable[[], str] | None = None
    """Tool box: return the topic entities as the prompt shows them, such as names with ids."""
    choices: Choices | None = None
    """Tool box: return what an argument may be, by the schema and by what the episode has shown,
    less calls whose result is there; None where anything may be meant."""
    schemas: tuple[dict[str, Any], ...] = ()
    """Protocol: the tools by JSON schema, as `tools` of a request to a chat server."""
    grammar: Callable[[Any], Any] | None = None
    """Protocol: return the `Grammar` of the next completion by what was `Shown`, for constrained
    decoding."""
    pages: Pages | None = None
    """Speaker: the calls that show further pages of long lists."""
    directed: "Directed | None" = None
    """Speaker: the calls that look in one direction alone."""


class Directed(Protocol):
    """The `directed` ability: one call looks in one direction alone. A speaker inherits it."""

    by_id: bool = False
    """Entities are called by their ids, not by the names shown."""
    walks_cvts: bool = False
    """CVT nodes are shown and walked: a flattened relation takes two steps."""

    @property
    def abilities(self) -> Abilities:
        return Abilities(directed=self)

    def relations(self, entity: str) -> Call:
        return self.look(entity, Direction.OUT)

    def look(self, entity: str, direction: Direction) -> Call:
        """The call that shows what lies on one side of an entity: relations, or triples, too."""
        ...

    def listed_as(self, hop: Hop) -> Hop:
        """The hop that a look lists where this one is meant."""
        return hop

    def relation_name(self, relation: str) -> str:
        """The relation as the tools show it."""
        return relation


_NONE = Abilities()


def abilities_of(value: object) -> Abilities:
    """Return the abilities that the object states."""
    return getattr(value, "abilities", _NONE)
