"""Tools an agent may call, and the episode's toolbox that runs them."""

from dataclasses import dataclass, field
from typing import Any, Protocol

from graphwalker.graphs.base import Entity


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call as a protocol parsed it; arguments are not yet checked."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Observation:
    """What a call shows. `error` is the kind of the model's mistake, `""` when the call was sound.

    `shown` lists the entities displayed, under the names displayed. A failure of the graph is never
    an observation: it raises `GraphError`.
    """

    text: str
    error: str = ""
    shown: tuple[Entity, ...] = ()
    relations: tuple[str, ...] = ()
    """Relations displayed by this observation."""
    hidden: int = 0
    """Entries (relations or triples) that exist but were cut by a limit."""
    graph_calls: int = 0


class ToolBox(Protocol):
    """The tools of one episode with its name book (shown name -> entity id). Built per question."""

    def call(self, call: Call) -> Observation:
        """Run a call. The model's mistake comes back as text; our failure raises `GraphError`."""
        ...

    def entity_id(self, name: str) -> str:
        """The id behind a name that this episode has shown (topic entities included), or `""`."""
        ...

    def topic_names(self) -> tuple[str, ...]:
        """The topic entities as this episode shows them (namesakes made distinct), for prompts."""
        ...

    def signatures(self) -> str:
        """The tools described for a prompt, one line each."""
        ...
