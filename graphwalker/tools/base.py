"""Tools an agent may call, the episode's toolbox that runs them, and what it can do beyond that."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import Any, Protocol

from graphwalker.graphs.base import Direction, Entity
from graphwalker.query.query import Hop
from graphwalker.trajectory import Listed, ShownTriple


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call as a protocol parsed it; arguments are not yet checked."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])


class ErrorKind(StrEnum):
    """The model's mistakes that the shipped tools and agents report; a tool box may have others."""

    MALFORMED = "malformed"
    UNKNOWN_TOOL = "unknown_tool"
    BAD_ARGUMENTS = "bad_arguments"
    UNKNOWN_ENTITY = "unknown_entity"
    NO_RELATIONS = "no_relations"
    NO_TRIPLES = "no_triples"
    NOT_LISTED_YET = "not_listed_yet"
    UNKNOWN_RELATION = "unknown_relation"
    NO_SUCH_PAGE = "no_such_page"
    QUERY_AFTER_BUDGET = "query_after_budget"
    TOOL_FAILED = "tool_failed"


@dataclass(frozen=True, slots=True)
class Observation:
    """What a call shows: the text that the model reads, and what it says as data.

    A failure of the graph is never an observation: it raises `GraphError`.
    """

    text: str
    error: str = ""
    """The kind of the model's mistake, an `ErrorKind` or the tool box's own; `""` without one."""
    shown: tuple[Entity, ...] = ()
    """The entities displayed, under the names displayed; ends of `triples` need not be repeated."""
    listed: tuple[Listed, ...] = ()
    triples: tuple[ShownTriple, ...] = ()
    hidden: int = 0
    """Entries (relations, triples or namesakes) that exist but were cut by a limit."""
    graph_calls: int = 0

    @property
    def relations(self) -> tuple[str, ...]:
        """Relations displayed, in order: those listed, then those of the triples."""
        listed = (hop.relation for one in self.listed for hop in one.hops)
        return tuple(dict.fromkeys([*listed, *(triple.relation for triple in self.triples)]))

    @property
    def entities(self) -> tuple[Entity, ...]:
        """`shown`, and the ends of the triples."""
        if not self.triples:
            return tuple(dict.fromkeys(self.shown))
        ends = [end for triple in self.triples for end in (triple.head, triple.tail)]
        return tuple(dict.fromkeys((*self.shown, *ends)))


def together(seen: Sequence[Observation]) -> Observation:
    """Return what a completion's calls show, in one observation; the first mistake counts."""
    if len(seen) == 1:
        return seen[0]
    return Observation(
        "\n\n".join(one.text for one in seen),
        next((one.error for one in seen if one.error), ""),
        tuple(dict.fromkeys(entity for one in seen for entity in one.shown)),
        tuple(listed for one in seen for listed in one.listed),
        tuple(triple for one in seen for triple in one.triples),
        sum(one.hidden for one in seen),
        sum(one.graph_calls for one in seen),
    )


_CUT = " (cut)"


def cut_observation(seen: Observation, limit: int) -> Observation:
    """Return the observation with at most `limit` characters (0: no limit).

    Entities, relations and triples that the rest of the text no longer names are not shown.
    """
    if not 0 < limit < len(seen.text):
        return seen
    text = (seen.text[: max(0, limit - len(_CUT))] + _CUT)[:limit]
    listed = tuple(
        Listed(one.entity_id, tuple(hop for hop in one.hops if hop.relation in text))
        for one in seen.listed
    )
    triples = tuple(t for t in seen.triples if t.head.name in text and t.tail.name in text)
    return replace(
        seen,
        text=text,
        shown=tuple(entity for entity in seen.shown if entity.name in text),
        listed=listed,
        triples=triples,
        hidden=seen.hidden + len(seen.triples) - len(triples),
    )


class BoundedTools:
    """A tool box whose observations, by whatever method, are at most `limit` characters long."""

    def __init__(self, box: "ToolBox", limit: int) -> None:
        self._box, self._limit = box, limit

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._box, name)
        return partial(self._run, found) if callable(found) else found

    def _run(self, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        seen = method(*args, **kwargs)
        return cut_observation(seen, self._limit) if isinstance(seen, Observation) else seen


def unwrap_tools(box: "ToolBox") -> "ToolBox":
    """Return the tool box itself, for an agent that needs its own class."""
    return box._box if isinstance(box, BoundedTools) else box  # pyright: ignore[reportPrivateUsage]


def mistake(kind: str, text: str, calls: int = 0, listed: tuple[Listed, ...] = ()) -> Observation:
    """Return what a call shows that cannot be run; `calls` of the graph told so."""
    return Observation(f"Error {kind}: {text}", kind, listed=listed, graph_calls=calls)


class ToolBox(Protocol):
    """The tools of one episode with its name book (shown name -> entity id). Built per question.

    `abilities` may state more (`graphwalker.tools.base`).
    """

    def call(self, call: Call) -> Observation:
        """Run a call. The model's mistake comes back as text; our failure raises `GraphError`."""
        ...

    def entity_id(self, name: str) -> str:
        """Return the id behind a name that this episode has shown (topics included), or `""`."""
        ...

    def topic_names(self) -> tuple[str, ...]:
        """Return the topic entities as this episode shows them (namesakes distinct), for
        prompts."""
        ...

    def signatures(self) -> str:
        """Return the tools described for a prompt, one line each."""
        ...


Choices = Callable[[Call, str], Sequence[str | int | float | bool] | None]
"""Which values an argument of a call may have, given the arguments that are written before it."""


class Pages(Protocol):
    """The `pages` ability: the tools show long lists in pages from 1 on."""

    def relations_page(self, entity: str, page: int) -> Call:
        """Return a further page of `relations`."""
        ...

    def triples_page(self, entity: str, relation: str, page: int) -> Call:
        """Return a further page of `triples`."""
        ...


class EntityNames(Protocol):
    """The `entities` ability: the tools know entities by what their calls name."""

    def find_entity(self, text: str) -> Entity | Observation:
        """Return the entity that a call names so, or what the model is told of none."""
        ...

    def show_entity(self, entity: Entity) -> tuple[Entity, str]:
        """Enter the entity as shown: under its shown name, and as an observation writes it."""
        ...

    def shown_names(self) -> Sequence[str]:
        """Return what calls may name so far."""
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
    entities: EntityNames | None = None
    """Tool box: find and show entities for tools of the user's own (`environment.tools`)."""
    extend: "Callable[[Sequence[Any]], Any] | None" = None
    """Protocol: return one that has these tools, too (`Function`)."""
    schemas: tuple[dict[str, Any], ...] = ()
    """Protocol: the tools by JSON schema, as `tools` of a request to a chat server."""
    grammar: Callable[[Any, bool], str] | None = None
    """Protocol: return the grammar (GBNF) of the next completion by the `GrammarFacts`, for
    constrained decoding. True: an answer is all that is asked for."""
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
        """Return the call that shows what lies on one side of an entity: relations, or triples."""
        ...

    def listed_as(self, hop: Hop) -> Hop:
        """Return the hop that a look lists where this one is meant."""
        return hop

    def relation_name(self, relation: str) -> str:
        """Return the relation as the tools show it."""
        return relation


_NONE = Abilities()


def abilities_of(value: object) -> Abilities:
    """Return the abilities that the object states."""
    return getattr(value, "abilities", _NONE)
