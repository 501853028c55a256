"""Look-ups of agents that reason over paths: the hops of an entity, and where they lead."""

from collections.abc import Callable, Sequence

from pydantic import Field

from graphwalker.agents.preset import AgentSettings
from graphwalker.config import Config
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, Step
from graphwalker.query.query import Hop, parse_hop
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker
from graphwalker.tools.base import Call, Listed, Observation, ShownTriple, ToolBox
from graphwalker.tools.listing import Lister, lister
from graphwalker.tools.namebook import NamedTopics, quote

PROMPT = """You answer questions with the help of a knowledge graph. {role} Every message of \
yours is one JSON object as requested, names copied as shown.
---
Question: {{question}}
Entities: {{entities}}"""


class PathOptions(Config):
    """What the look-ups of these agents show."""

    ends: int = Field(default=50, ge=1)
    """Most entities that one relation leads to."""


def path_tools(
    graph: KnowledgeGraph, settings: AgentSettings, rank: Ranker, kind: type[PathOptions]
) -> Callable[[Question], ToolBox]:
    """The tools of a preset whose options are of that kind."""
    listed = lister(graph, settings)
    limits = settings.top_relations, settings.read_options(kind).ends
    longest = settings.longest_name
    return lambda question: PathTools(graph, question, listed, rank, limits, longest)


class PathTools(NamedTopics):
    """The tools of one episode. An incoming relation is written `~relation`."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        question: Question,
        listed: Lister,
        rank: Ranker,
        limits: tuple[int, int],
        longest: int = 0,
    ) -> None:
        """`limits`: most hops of an entity that are listed, most ends of a hop that are shown;
        `longest`: characters of a name."""
        super().__init__(graph, question, longest)
        self.graph = graph
        self._list, self._rank = listed, rank
        self.most_hops, self.most_ends = limits

    def call(self, call: Call) -> Observation:
        """Nothing but decisions is called; each agent runs them by the functions below."""
        return Observation("")

    def signatures(self) -> str:
        return ""

    def topics(self) -> list[Entity]:
        """The topic entities that the graph has, as shown."""
        return [e for e in map(self.find, self._topics) if e is not None]

    def find(self, name: str) -> Entity | None:
        """The entity of that name, as shown."""
        return self._book.find(name) if name.strip() else None

    def hops(self, entity: Entity) -> list[Hop]:
        """The hops of an entity, those that fit the question first."""
        listing = self._list(entity.id)
        ranked = self._rank(self._question.text, entity.name, listing.relations)
        return list(listing.hops(tuple(ranked)))[: self.most_hops]

    def ends(self, entity: Entity, hop: Hop) -> list[Entity]:
        """Where a hop leads, as shown."""
        step = Step(entity.id, hop.relation, hop.direction, self.most_ends)
        return [Entity(end.id, self._book.show(end)) for end in self.graph.step_many([step])[0]]

    def triples(self, entity: Entity, hops: Sequence[Hop]) -> Observation:
        """What these hops of an entity lead to, as triples."""
        here = Entity(entity.id, self._book.show(entity))
        found = [shown_triple(here, hop, end) for hop in hops for end in self.ends(entity, hop)]
        lines = [triple_text(one) for one in found]
        return Observation("\n".join(lines), triples=tuple(found), graph_calls=len(hops))

    def listing(self, entity: Entity) -> tuple[str, Listed]:
        """The hops of an entity as text, one a line, and as data."""
        hops = self.hops(entity)
        return "\n".join(map(str, hops)), Listed(entity.id, tuple(hops))

    def relation_words(self, most: int) -> list[str]:
        """Relations that a plan may be made of: those of the topics, then those of the whole graph
        that fit the question, where the graph can list them."""
        own = [hop.relation for topic in self.topics() for hop in self.hops(topic)]
        known = tuple(self.graph.relation_ids())
        ranked = self._rank(self._question.text, "", known) if known else ()
        return list(dict.fromkeys([*own, *ranked]))[:most]


def shown_triple(here: Entity, hop: Hop, end: Entity) -> ShownTriple:
    """The triple of a hop from `here` to `end`."""
    out = hop.direction is Direction.OUT
    return ShownTriple(here, hop.relation, end) if out else ShownTriple(end, hop.relation, here)


def triple_text(triple: ShownTriple) -> str:
    """`(head, relation, tail)`."""
    return f"({quote(triple.head.name)}, {triple.relation}, {quote(triple.tail.name)})"


def listed_hop(text: str, known: Sequence[Hop]) -> Hop | None:
    """The hop of that text among those listed; one without `~` may also be the incoming one."""
    wanted = parse_hop(text.strip()) if text.strip() else None
    if wanted in known:
        return wanted
    return next((hop for hop in known if wanted and hop.relation == wanted.relation), None)
