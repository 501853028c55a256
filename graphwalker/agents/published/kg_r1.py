"""KG-R1 (arXiv:2509.26383): four tools that look in one direction, by names, in seven turns."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from graphwalker.agents.preset import AgentSettings, Preset
from graphwalker.agents.react import react
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, Step
from graphwalker.graphs.literals import is_literal
from graphwalker.oracle.speakers import OneWaySpeaker
from graphwalker.protocols.tags import TagProtocol
from graphwalker.query.query import Hop
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker, words
from graphwalker.tools.base import Call, ErrorKind, Listed, Observation, ShownTriple, ToolBox
from graphwalker.tools.listing import Lister, lister
from graphwalker.tools.namebook import NamedTopics, one_of, quote
from graphwalker.tools.settings import WalkerSettings
from graphwalker.tools.walker import more

EXAMPLES: Mapping[str, Mapping[str, str]] = {
    "get_tail_relations": {"entity": "Name"},
    "get_head_relations": {"entity": "Name"},
    "get_tail_entities": {"entity": "Name", "relation": "a.b.c"},
    "get_head_entities": {"entity": "Name", "relation": "a.b.c"},
}
"""Example arguments of each tool, in the order in which a call writes them (for protocols)."""
_SIDES = {"tail": Direction.OUT, "head": Direction.IN}
_NEAR = 5


class OneWayTools(NamedTopics):
    """The tool box of one episode. Relations through CVT nodes are shown flattened: a node without
    a name could not be named in the next call."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        question: Question,
        settings: WalkerSettings,
        list_relations: Lister,
    ) -> None:
        super().__init__(graph, question, settings.longest_name)
        self._settings = settings
        self._list = list_relations
        self._calls = 0

    def signatures(self) -> str:
        return (
            'get_tail_relations("entity"): the relations that lead out of an entity.\n'
            'get_head_relations("entity"): the relations that lead to it.\n'
            'get_tail_entities("entity", "relation"): where a relation leads from the entity.\n'
            'get_head_entities("entity", "relation"): what leads to the entity by a relation.'
        )

    def call(self, call: Call) -> Observation:
        self._calls = 0
        if call.tool not in EXAMPLES:
            known = " or ".join(map(_form, EXAMPLES))
            return self._error(ErrorKind.UNKNOWN_TOOL, f"there is no {call.tool[:60]}; use {known}")
        texts = [call.arguments.get(name) for name in EXAMPLES[call.tool]]
        if set(call.arguments) != set(EXAMPLES[call.tool]) or not _are_texts(texts):
            return self._error(ErrorKind.BAD_ARGUMENTS, f"write {_form(call.tool)}")
        name, *relation = map(str, texts)
        _, side, what = call.tool.split("_")
        entity = self._find(name)
        if entity is None:
            return self._unknown_entity(name)
        if what == "relations":
            return self._relations(entity, _SIDES[side])
        return self._entities(entity, relation[0], _SIDES[side])

    def _relations(self, entity: Entity, side: Direction) -> Observation:
        listed = self._side(entity, side)
        if not listed:
            way = "out of" if side is Direction.OUT else "to"
            text = f"no relation leads {way} {quote(entity.name)}; try the other side"
            return self._error(ErrorKind.NO_RELATIONS, text)
        kept = self._fitting(sorted(listed))
        hidden = len(listed) - len(kept)
        return Observation(
            ", ".join(kept) + more(hidden),
            listed=(Listed(entity.id, tuple(Hop(relation, side) for relation in kept)),),
            hidden=hidden,
            graph_calls=self._calls,
        )

    def _entities(self, entity: Entity, relation: str, side: Direction) -> Observation:
        listed = self._side(entity, side)
        if relation not in listed:
            return self._unknown_relation(entity, relation, side, listed)
        self._calls += 1
        ends = self._graph.step_many([Step(entity.id, relation, side)])[0]
        kept = self._fitting([quote(self._book.label(end)) for end in ends])
        shown = [Entity(end.id, self._book.show(end)) for end in ends[: len(kept)]]
        if not shown:
            text = f"{quote(entity.name)} has no named entity there; try another relation"
            return self._error(ErrorKind.NO_TRIPLES, text)
        # Labels above were made before any of these was shown: two of one name differ only now.
        names = [quote(end.name) for end in shown]
        pairs = [(entity, e) if side is Direction.OUT else (e, entity) for e in shown]
        return Observation(
            ", ".join(names) + more(len(ends) - len(shown)),
            triples=tuple(ShownTriple(head, relation, tail) for head, tail in pairs),
            hidden=len(ends) - len(shown),
            graph_calls=self._calls,
        )

    def _side(self, entity: Entity, side: Direction) -> Mapping[str, int]:
        self._calls += 1
        listing = self._list(entity.id)
        return listing.out if side is Direction.OUT else listing.into

    def _fitting(self, entries: Sequence[str]) -> list[str]:
        """The first entries, as many as an observation may hold; at least one."""
        budget, length = self._settings.entry_chars, 0
        for count, entry in enumerate(entries):
            length += len(entry) + 2
            if count and length > budget > 0:
                return list(entries[:count])
        return list(entries)

    def _find(self, name: str) -> Entity | None:
        self._calls += not self._book.entity_id(name)
        return self._book.find(name) if name else None

    def _unknown_entity(self, name: str) -> Observation:
        near = self._book.near(name) or list(self._topics[:3])
        copy = f"; copy {one_of(map(quote, near))}" if near else ""
        return self._error(ErrorKind.UNKNOWN_ENTITY, f"no entity {quote(name[:200])}{copy}")

    def _unknown_relation(
        self, entity: Entity, relation: str, side: Direction, listed: Iterable[str]
    ) -> Observation:
        if is_literal(entity.id):
            text = f"{quote(entity.name)} is a value; go on from another entity"
            return self._error(ErrorKind.NO_RELATIONS, text)
        wanted = set(words(relation[:200]))
        near = sorted(listed, key=lambda one: (-len(wanted.intersection(words(one))), one))[:_NEAR]
        copy = f"; copy {one_of(near)}" if near else "; try the other side"
        return self._error(
            ErrorKind.UNKNOWN_RELATION,
            f"{quote(entity.name)} has no {quote(relation[:200])} on that side{copy}",
            (Listed(entity.id, tuple(Hop(one, side) for one in near)),),
        )

    def _error(self, kind: ErrorKind, text: str, listed: tuple[Listed, ...] = ()) -> Observation:
        return Observation(f"Error {kind}: {text}", kind, listed=listed, graph_calls=self._calls)


def _are_texts(values: Sequence[object]) -> bool:
    return all(isinstance(value, str) for value in values)


def _form(tool: str) -> str:
    return f"{tool}({', '.join(f'{chr(34)}{name}{chr(34)}' for name in EXAMPLES[tool])})"


def _tools(
    graph: KnowledgeGraph, settings: AgentSettings, rank: Ranker
) -> Callable[[Question], ToolBox]:
    listed = lister(graph, settings)
    return lambda question: OneWayTools(graph, question, settings, listed)


def _protocol(settings: AgentSettings) -> TagProtocol:
    return TagProtocol(EXAMPLES, call_tag="search", lenient=settings.is_lenient)


KG_R1 = Preset(
    name="kg-r1",
    version=3,
    source="KG-R1 (arXiv:2509.26383)",
    tools=_tools,
    protocol=_protocol,
    agent=react,
    # An observation has 512 tokens there; tokens depend on the model, four letters stand for one.
    defaults={"prompt": "kg-r1", "max_turns": 7, "max_observation_chars": 2048},
    calls=tuple(EXAMPLES),
    speaker=OneWaySpeaker(),
)
