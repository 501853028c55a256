"""KG-R1 (arXiv:2509.26383): four tools that look in one direction, by names, in seven turns."""

from collections.abc import Iterable, Mapping

from graphwalker.agents.preset import Preset, listing_tools
from graphwalker.agents.react import react
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, Step
from graphwalker.graphs.literals import is_literal
from graphwalker.oracle.speakers import OneWaySpeaker
from graphwalker.protocols.tags import TagProtocol
from graphwalker.query.query import Hop
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker, words
from graphwalker.tools.base import Call, ErrorKind, Listed, Observation, ShownTriple
from graphwalker.tools.listing import Lister
from graphwalker.tools.namebook import NamedTopics, one_of, quote
from graphwalker.tools.settings import WalkerSettings
from graphwalker.tools.walker import fitting, more

EXAMPLES: Mapping[str, Mapping[str, str]] = {
    "get_tail_relations": {"entity": "Name"},
    "get_head_relations": {"entity": "Name"},
    "get_tail_entities": {"entity": "Name", "relation": "a.b.c"},
    "get_head_entities": {"entity": "Name", "relation": "a.b.c"},
}
"""Example arguments of each tool, in the order in which a call writes them (for protocols)."""
_SIDES = {"tail": Direction.OUT, "head": Direction.IN}
_NEAR = 5
DESCRIPTIONS = {
    "get_tail_relations": "The relations that lead out of an entity.",
    "get_head_relations": "The relations that lead to an entity.",
    "get_tail_entities": "Where a relation leads from an entity.",
    "get_head_entities": "What leads to an entity by a relation.",
}
"""What each tool does, for chat clients."""


class OneWayTools(NamedTopics):
    """The tool box of one episode. Relations through CVT nodes are shown flattened: a node without
    a name could not be named in the next call."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        question: Question,
        settings: WalkerSettings,
        list_relations: Lister,
        rank: Ranker,
    ) -> None:
        super().__init__(graph, question, settings.longest_name)
        self._budget = settings.entry_chars
        self._list = list_relations

    def signatures(self) -> str:
        return (
            'get_tail_relations("entity"): the relations that lead out of an entity.\n'
            'get_head_relations("entity"): the relations that lead to it.\n'
            'get_tail_entities("entity", "relation"): where a relation leads from the entity.\n'
            'get_head_entities("entity", "relation"): what leads to the entity by a relation.'
        )

    def call(self, call: Call) -> Observation:
        self._graph_calls = 0
        if call.tool not in EXAMPLES:
            known = " or ".join(map(_form, EXAMPLES))
            return self._error(ErrorKind.UNKNOWN_TOOL, f"there is no {call.tool[:60]}; use {known}")
        texts = [call.arguments.get(name) for name in EXAMPLES[call.tool]]
        are_texts = all(isinstance(text, str) for text in texts)
        if set(call.arguments) != set(EXAMPLES[call.tool]) or not are_texts:
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
        kept = fitting(sorted(listed), self._budget)
        hidden = len(listed) - len(kept)
        return Observation(
            ", ".join(kept) + more(hidden),
            listed=(Listed(entity.id, tuple(Hop(relation, side) for relation in kept)),),
            hidden=hidden,
            graph_calls=self._graph_calls,
        )

    def _entities(self, entity: Entity, relation: str, side: Direction) -> Observation:
        listed = self._side(entity, side)
        if relation not in listed:
            return self._unknown_relation(entity, relation, side, listed)
        self._graph_calls += 1
        ends = self._graph.step_many([Step(entity.id, relation, side)])[0]
        kept = fitting([quote(self._book.label(end)) for end in ends], self._budget)
        # Labels above were made before any of these was shown: two of one name differ only now.
        shown = [self._book.show_entity(end) for end in ends[: len(kept)]]
        if not shown:
            text = f"{quote(entity.name)} has no named entity there; try another relation"
            return self._error(ErrorKind.NO_TRIPLES, text)
        hidden = len(ends) - len(shown)
        pairs = [(entity, e) if side is Direction.OUT else (e, entity) for e in shown]
        return Observation(
            ", ".join(quote(end.name) for end in shown) + more(hidden),
            triples=tuple(ShownTriple(head, relation, tail) for head, tail in pairs),
            hidden=hidden,
            graph_calls=self._graph_calls,
        )

    def _side(self, entity: Entity, side: Direction) -> Mapping[str, int]:
        self._graph_calls += 1
        listing = self._list(entity.id)
        return listing.out if side is Direction.OUT else listing.into

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


def _form(tool: str) -> str:
    return f"{tool}({', '.join(f'{chr(34)}{name}{chr(34)}' for name in EXAMPLES[tool])})"


KG_R1 = Preset(
    name="kg-r1",
    version=3,
    source="KG-R1 (arXiv:2509.26383)",
    tools=listing_tools(OneWayTools),
    protocol=lambda settings: TagProtocol(EXAMPLES, call_tag="search", lenient=settings.is_lenient),
    agent=react,
    # An observation has 512 tokens there; tokens depend on the model, four letters stand for one.
    defaults={"prompt": "kg-r1", "max_turns": 7, "max_observation_chars": 2048},
    calls=tuple(EXAMPLES),
    speaker=OneWaySpeaker(),
)
