"""The path oracle: it walks a relation path breadth first and numbers its finds in thoughts, all
but those of the last hop, which the answer points at."""

from collections.abc import Generator, Iterable, Sequence

from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity, KnowledgeGraph
from graphwalker.oracle.plan import Move, Plan, PlannedPolicy, View, listed_in
from graphwalker.oracle.speakers import ReferenceSpeaker
from graphwalker.protocols.base import ActionProtocol, FinalAnswer
from graphwalker.query.query import Hop, parse_hop
from graphwalker.question import Question
from graphwalker.tools.namebook import quote
from graphwalker.trajectory import Turn

LEVELS = "ab"
"""What the finds of a hop before the last are numbered with: `a1`, `a2`, then `b1`, ..."""


class PathOracle(PlannedPolicy):
    """Plays `relation_path` of a question: a look, then every entity of the frontier in turn.

    No entity is visited twice and the topic never again, as MetaQA's answers have it. A hop before
    the last stops at `width` finds, so that a context is bounded. What the last hop finds is not
    copied: the answer points at its results.
    """

    name = "path-oracle"

    def __init__(
        self, graph: KnowledgeGraph, protocol: ActionProtocol, speaker: ReferenceSpeaker, width: int
    ) -> None:
        super().__init__(graph, protocol, speaker)
        self._numbered, self._width = speaker, width

    def plan(self, key: str, question: Question) -> Plan:
        """Raises `UserError` for a question without a path of one to three hops."""
        hops = [parse_hop(text) for text in question.annotations.get("relation_path", ())]
        if not 0 < len(hops) <= len(LEVELS) + 1 or len(question.topic_entities) != 1:
            raise UserError(f"{question.id}: no relation path of 1 to {len(LEVELS) + 1} hops")
        return self._walk(question.topic_entities[0], hops)

    def _walk(self, topic: Entity, hops: Sequence[Hop]) -> Plan:
        view = View(self.graph, [topic], self.speaker)
        thought, frontier = f"Plan {', '.join(map(str, hops))}", [("", topic)]
        for level, hop in zip(LEVELS, hops[:-1], strict=False):
            thought, frontier = yield from self._hop(view, topic, frontier, hop, level, thought)
            thought = f"{thought}; next {hops[LEVELS.index(level) + 1]}"
        thought, results = yield from self._last(view, topic, frontier, hops[-1], thought)
        yield thought, FinalAnswer(tuple(results))

    def _looked(
        self, view: View, frontier: Sequence[tuple[str, Entity]], hop: Hop, thought: str
    ) -> Generator[Move, Turn, list[tuple[str, Entity]]]:
        """Looks at entities until one lists the relation; that one and those after it."""
        for place, (label, entity) in enumerate(frontier):
            turn = yield _now(thought, label), view.look(entity)
            thought = ""
            if hop.relation in listed_in(turn):
                return list(frontier[place:])
        return []

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
        rest = yield from self._looked(view, frontier, hop, thought)
        thought, found, known = "", list[tuple[str, Entity]](), {topic.id}
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

    def _last(
        self,
        view: View,
        topic: Entity,
        frontier: Sequence[tuple[str, Entity]],
        hop: Hop,
        thought: str,
    ) -> Generator[Move, Turn, tuple[str, list[str]]]:
        """Yields the moves of the last hop; returns the last thought, and the results."""
        rest = yield from self._looked(view, frontier, hop, thought)
        thought, results = "", list[str]()
        for label, entity in rest:
            turn = yield _now(thought, label), view.ask(entity, hop.relation, hop.direction)
            thought = "Nothing"
            if any(end.id != topic.id for end in view.found(turn, entity, hop)):
                results.append(self._numbered.reference(self._numbered.number(turn.observation)))
                thought = f"Found {results[-1]}"
        return thought, results


def labels(width: int) -> list[str]:
    """Every number that a find may be given."""
    return [f"{level}{number}" for level in LEVELS for number in range(1, width + 1)]


def _now(thought: str, label: str) -> str:
    return "; ".join(filter(None, (thought, label)))


def _listed(finds: Iterable[tuple[str, Entity]]) -> str:
    return ", ".join(f"{label} {quote(entity.name)}" for label, entity in finds)
