"""An oracle of a preset's own: for agents that ask for other decisions than calls of tools."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.policies.base import Policy
from graphwalker.protocols.base import ActionProtocol
from graphwalker.question import Question


class OracleWorld(Protocol):
    """The environment, as the oracle of a preset needs it."""

    graph: KnowledgeGraph
    protocol: ActionProtocol

    @property
    def config(self) -> Any: ...


def has_query(question: Question) -> bool:
    """Whether the question says what it asks."""
    return question.query is not None


@dataclass(frozen=True, slots=True)
class OwnOracle:
    """Makes the oracle of a preset, and says which questions it can play."""

    make: Callable[[OracleWorld], Policy]
    plays: Callable[[Question], bool] = has_query
    needs: str = "a query"
    """What a question must have, in words for people."""
