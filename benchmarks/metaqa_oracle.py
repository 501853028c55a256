"""The path oracle: it walks a relation path breadth first and numbers its finds in thoughts."""

from collections.abc import Generator, Iterable, Sequence

from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity, KnowledgeGraph
from graphwalker.oracle.plan import Move, Plan, PlannedPolicy, View, listed_in
from graphwalker.protocols.base import ActionProtocol, FinalAnswer
from graphwalker.query.query import Hop, parse_hop
from graphwalker.question import Question
from graphwalker.tools.namebook import quote
from graphwalker.trajectory import Turn

LEVELS = "abc"
"""What the finds of each hop are numbered with: `a1`, `a2`, then `b1`, ..."""


class PathOracle(PlannedPolicy):
    """Plays `relation_path` of a question: a look, then every entity of the frontier in turn.

    No entity is visited twice and the topic never again, as MetaQA's answers have it. A hop stops
    at `width` finds, so that a context is bounded: what lies beyond is left out of the answer.
    """

    name = "path-oracle"

    def __init__(self, graph: KnowledgeGraph, protocol: ActionProtocol, width: int) -> None:
        super().__init__(graph, protocol)
        self._width = width

    def plan(self, key: str, question: Question) -> Plan:
        """Raises `UserError` for a question without a path of one to three hops."""
        hops = [parse_hop(text) for text in question.annotations.get("relation_path", ())]
        if not 0 < len(hops) <= len(LEVELS) or len(question.topic_entities) != 1:
            raise UserError(f"{question.id}: no relation path of 1 to {len(LEVELS)} hops to walk")
        return self._walk(question.topic_entities[0], hops)

    def _walk(self, topic: Entity, hops: Sequence[Hop]) -> Plan:
        view = View(self.graph, [topic])
        thought, frontier = f"Plan {', '.join(map(str, hops))}", [("", topic)]
        for level, hop in zip(LEVELS, hops, strict=False):
            start = f"{thought}; {level} {hop}" if level != LEVELS[0] else thought
            thought, frontier = yield from self._hop(view, topic, frontier, hop, level, start)
        if len(hops) > 1:
            thought = f"{thought}; all {_listed(frontier)}"
        yield thought, FinalAnswer(tuple(entity.name for _, entity in frontier))

    def _hop(
        self,
        view: View,
        topic: Entity,
        frontier: Sequence[tuple[str, Entity]],
        hop: Hop,
        level: str,
        thought: str,
    ) -> Generator[Move, Turn, tuple[str, list[tuple[str, Entity]]]]:
        """Yields the moves of one hop; returns the next thought, and the numbered finds."""
        rest = list(frontier)
        while rest:
            turn = yield _now(thought, rest[0][0]), view.look(rest[0][1])
            thought = ""
            if hop.relation in listed_in(turn):
                break
            rest.pop(0)
        found: list[tuple[str, Entity]] = []
        known = {topic.id}
        for label, entity in rest:
            if len(found) == self._width:
                break
            turn = yield _now(thought, label), view.ask(entity, hop.relation, hop.direction)
            new = [end for end in view.found(turn, entity, hop) if end.id not in known]
            new = new[: self._width - len(found)]
            known.update(end.id for end in new)
            fresh = [(f"{level}{len(found) + k}", end) for k, end in enumerate(new, start=1)]
            found += fresh
            thought = f"Found {_listed(fresh)}" if fresh else "Nothing new"
        return thought, found


def labels(width: int) -> list[str]:
    """Every number that a find may be given."""
    return [f"{level}{number}" for level in LEVELS for number in range(1, width + 1)]


def _now(thought: str, label: str) -> str:
    return "; ".join(filter(None, (thought, label)))


def _listed(finds: Iterable[tuple[str, Entity]]) -> str:
    return ", ".join(f"{label} {quote(entity.name)}" for label, entity in finds)
