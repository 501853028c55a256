"""A set of graphs: each question is asked of one of them."""

from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from functools import lru_cache

from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, MemberQuestion

MEMBERS_KEPT = 64
"""Graphs of a set that stay in memory, the latest used."""


class GraphSet(KnowledgeGraph):
    """Graphs of which each question is asked of one, read when they are asked for.

    As a graph itself it is empty: entities of different members have nothing to do with one
    another.
    """

    def __init__(self) -> None:
        self._member = lru_cache(MEMBERS_KEPT)(self.read_member)

    @abstractmethod
    def read_member(self, name: str) -> KnowledgeGraph:
        """Return the graph of that name, read anew. Raises `UserError`."""

    @abstractmethod
    def member_name(self, question: MemberQuestion) -> str: ...

    @abstractmethod
    def holds(self, name: str) -> bool:
        """Return whether a graph has that name."""

    def member(self, name: str) -> KnowledgeGraph:
        """Return the graph of that name. Raises `UserError`."""
        return self._member(name)

    def for_question(self, question: MemberQuestion) -> KnowledgeGraph:
        return self.member(self.member_name(question))

    def under(self, view: Callable[[KnowledgeGraph], KnowledgeGraph]) -> "GraphSet":
        """Return the same set, each member under that view."""
        changed = copy(self)

        def read(name: str) -> KnowledgeGraph:
            return view(self.member(name))

        changed._member = lru_cache(MEMBERS_KEPT)(read)
        return changed

    def resolve(self, name: str) -> list[Entity]:
        return []

    def name(self, entity_id: str) -> str:
        return ""

    def relations(self, entity_id: str, direction: Direction) -> list[tuple[str, int]]:
        return []

    def neighbors(
        self, entity_id: str, relation: str, direction: Direction, limit: int | None = None
    ) -> list[Entity]:
        return []
