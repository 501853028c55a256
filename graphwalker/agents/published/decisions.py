"""Agents that ask for decisions: their look-ups over paths, and what their oracles share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

from pydantic import Field

from graphwalker.agents.preset import AgentSettings, Options
from graphwalker.agents.prompt import fill_fields, read_texts
from graphwalker.config import Config
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, Step
from graphwalker.query.query import Hop, parse_hop
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker
from graphwalker.ranking.nodes.index import NodeIndex, open_node_index
from graphwalker.tools.base import Observation, ShownTriple, ToolBox
from graphwalker.tools.listing import Lister, lister
from graphwalker.tools.namebook import NamedTopics, quote

T = TypeVar("T")
CHARS_PER_TOKEN = 4
"""A bound for budgets of text that no tokenizer has seen yet."""


def prompt_for(role: str) -> str:
    """Return the prompt of an agent with that role, in a sentence."""
    return fill_fields(read_texts(__file__)["prompt"], {"role": role})


class PathOptions(Config):
    """What the look-ups of these agents show."""

    ends: int = Field(default=50, ge=1)
    """Most entities that one relation leads to."""


@dataclass(frozen=True)
class EpisodeResources(Generic[Options]):
    """What the episodes of an environment share."""

    graph: KnowledgeGraph
    settings: AgentSettings
    rank: Ranker
    list: Lister
    options: Options
    _read: dict[Callable[[KnowledgeGraph], Any], Any] = field(default_factory=dict[Any, Any])

    @cached_property
    def index(self) -> NodeIndex:
        """What finds nodes by a text, made when it is first needed."""
        own: Any = self.options
        return open_node_index(self.graph, own.index)

    def read_once(self, read: Callable[[KnowledgeGraph], T]) -> T:
        """Return what `read` finds in the graph; the first episode reads it for all."""
        if read not in self._read:
            self._read[read] = read(self.graph)
        return self._read[read]


class DecisionTools(NamedTopics, Generic[Options]):
    """The tools of one episode of an agent that asks for decisions."""

    def __init__(self, shared: EpisodeResources[Options], question: Question) -> None:
        super().__init__(shared.graph, question, shared.settings.longest_name)
        self._shared, self._options = shared, shared.options


def tools_of(
    kind: Callable[[EpisodeResources[Options], Question], ToolBox], options: type[Options]
) -> Callable[[KnowledgeGraph, AgentSettings, Ranker], Callable[[Question], ToolBox]]:
    """Return the tools of a preset whose options are of that kind."""

    def tools(
        graph: KnowledgeGraph, settings: AgentSettings, rank: Ranker
    ) -> Callable[[Question], ToolBox]:
        own, listed = settings.read_options(options), lister(graph, settings)
        shared = EpisodeResources(graph, settings, rank, listed, own)
        return lambda question: kind(shared, question)

    return tools


class PathTools(DecisionTools[PathOptions]):
    """The tools of one episode. An incoming relation is written `~relation`."""

    @property
    def most_ends(self) -> int:
        """Ends of a hop that are shown."""
        return self._options.ends

    def topics(self) -> list[Entity]:
        """Return the topic entities that the graph has, as shown."""
        return [e for e in map(self.find, self._topics) if e is not None]

    def find(self, name: str) -> Entity | None:
        """Return the entity of that name, as shown."""
        return self._book.find(name) if name.strip() else None

    def hops(self, entity: Entity) -> list[Hop]:
        """Return the hops of an entity, those that fit the question first."""
        listing = self._shared.list(entity.id)
        ranked = self._shared.rank(self._question.text, entity.name, listing.relations)
        return list(listing.hops(tuple(ranked)))[: self._shared.settings.top_relations]

    def ends(self, entity: Entity, hop: Hop) -> list[Entity]:
        """Return where a hop leads, as shown."""
        step = Step(entity.id, hop.relation, hop.direction, self.most_ends)
        return [self._book.show_entity(end) for end in self._graph.step_many([step])[0]]

    def triples(self, entity: Entity, hops: Sequence[Hop]) -> Observation:
        """Return what these hops of an entity lead to, as triples."""
        here = self._book.show_entity(entity)
        found = [shown_triple(here, hop, end) for hop in hops for end in self.ends(entity, hop)]
        text = "\n".join(map(triple_text, found))
        return Observation(text, triples=tuple(found), graph_calls=len(hops))

    def relation_words(self, most: int) -> list[str]:
        """Relations that a plan may be made of: those of the topics, then those of the whole graph
        that fit the question, where the graph can list them."""
        own = [hop.relation for topic in self.topics() for hop in self.hops(topic)]
        known = tuple(self._graph.relation_ids())
        ranked = self._shared.rank(self._question.text, "", known) if known else ()
        return list(dict.fromkeys([*own, *ranked]))[:most]


def shown_triple(here: Entity, hop: Hop, end: Entity) -> ShownTriple:
    """Return the triple of a hop from `here` to `end`."""
    out = hop.direction is Direction.OUT
    return ShownTriple(here, hop.relation, end) if out else ShownTriple(end, hop.relation, here)


def triple_text(triple: ShownTriple) -> str:
    """`(head, relation, tail)`."""
    return f"({quote(triple.head.name)}, {triple.relation}, {quote(triple.tail.name)})"


def more_lines(hidden: int) -> str:
    """Return the last line of a list that was cut; `""` of a whole one."""
    return f"\n... ({hidden} more)" if hidden else ""


def listed_hop(text: str, known: Sequence[Hop]) -> Hop | None:
    """Get the hop of that text among those listed; one without `~` may also be the incoming one."""
    wanted = parse_hop(text.strip()) if text.strip() else None
    if wanted in known:
        return wanted
    return next((hop for hop in known if wanted and hop.relation == wanted.relation), None)
