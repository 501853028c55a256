"""How ARK-V1 is played by who knows the query, or the evidence of a question of yes or no."""

from collections.abc import Generator, Sequence

from graphwalker.agents.published.ark.tools import key_triples
from graphwalker.agents.published.oracles import DecisionOracle, DecisionTurn, prefer_gold, query_of
from graphwalker.datasets.evidence import evidence_of
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.literals import is_literal, literal_name
from graphwalker.graphs.names import fold
from graphwalker.oracle.oracle import shared
from graphwalker.oracle.plan import Move, OwnOracle, Plan, View, has_query
from graphwalker.protocols.base import FinalAnswer
from graphwalker.query.constraint import choose_candidates, filter_candidates
from graphwalker.query.query import Hop, Query
from graphwalker.question import Question
from graphwalker.tools.base import Call
from graphwalker.trajectory import Turn


class _Halt(Exception):
    """The question needs what this agent does not see: an incoming relation, one step more."""


class _Walk:
    """The steps of one episode: how many were taken, and what was found on the way."""

    def __init__(self, view: View, most: int) -> None:
        self._view = view
        self._left = most
        self._known: list[str] = []

    def step(
        self, entity: Entity, relation: str, last: bool
    ) -> Generator[Move, Turn, list[Entity]]:
        """One reasoning step. Returns the ends of the triples shown."""
        turn = yield from self._do("Explore this.", "anchor", anchor=self._view.name(entity))
        if relation not in {hop.relation for one in turn.listed for hop in one.hops}:
            raise _Halt
        turn = yield from self._do("This fits.", "relation", relation=relation)
        ends = [triple.tail for triple in turn.triples]
        self._left -= 1
        found = f"{relation} of {self._view.name(entity)}: {', '.join(e.name for e in ends)}"
        self._known.append(found)
        yield from self._do(
            "",
            "reason",
            triples=list(key_triples(turn.triples)),
            implication=found,
            **{"continue": not last, "reset": False},
        )
        yield from self._do("", "summary", summary="; ".join(self._known))
        if not self._left and not last:
            raise _Halt
        return ends

    def _do(self, why: str, form: str, **values: object) -> DecisionTurn:
        turn = yield why, Call(form, values)
        self._view.see(turn)
        if turn.error:
            raise _Halt
        return turn


class ArkOracle(DecisionOracle):
    """Takes each hop of the query, entity by entity, or looks every piece of evidence up.

    Only outgoing relations can be taken, and `steps` (K_max) of them: other questions are lost.
    """

    def plan(self, key: str, question: Question) -> Plan:
        view = View(self.graph, question.topic_entities)
        walk = _Walk(view, int(self.settings.options.get("steps", 8)))
        evidence = () if question.query else evidence_of(question)
        try:
            if evidence:
                yield from self._evidence(walk, [(one.head, one.relation) for one in evidence])
                names = [answer.name for answer in question.answers]
            else:
                found = yield from self._query(walk, view, query_of(question))
                names = [view.name(entity) for entity in prefer_gold(question, found)]
        except _Halt:
            names = ["None"]
        while True:  # a step under way is ended first
            yield "That is the answer.", FinalAnswer(tuple(names))

    def _evidence(
        self, walk: _Walk, wanted: Sequence[tuple[str, str]]
    ) -> Generator[Move, Turn, None]:
        pairs = list(dict.fromkeys(wanted))
        for k, (head, relation) in enumerate(pairs):
            candidates = self.graph.resolve(head)
            known = (
                [r for r, _ in self.graph.relations(candidates[0].id, Direction.OUT)]
                if (candidates)
                else []
            )
            same = next((r for r in known if fold(r) == fold(relation)), relation)
            yield from walk.step(
                candidates[0] if candidates else Entity("", head), same, k == len(pairs) - 1
            )

    def _query(self, walk: _Walk, view: View, query: Query) -> Generator[Move, Turn, list[Entity]]:
        ends: list[list[Entity]] = []
        weighed = bool(query.constraint and query.constraint.relations)  # by values that are shown
        for number, branch in enumerate(query.branches):
            over = number == len(query.branches) - 1 and not query.tail and not weighed
            found = yield from _hops(walk, [branch.topic], branch.hops, over, query.avoided_ids)
            ends.append(found)
        found = shared(ends)
        found = yield from _hops(walk, found, query.tail, not weighed, query.avoided_ids)
        if query.constraint is None:
            return found
        if query.constraint.kind == "type":
            return list(filter_candidates(self.graph, query.constraint, found))
        than = [query.constraint.than] if query.constraint.than else []
        values: dict[str, tuple[str, ...]] = {}
        candidates = list({entity.id: entity for entity in (*than, *found)}.values())
        for k, entity in enumerate(candidates):
            last = k == len(candidates) - 1
            seen = yield from walk.step(entity, query.constraint.relation, last)
            values[entity.id] = tuple(literal_name(e.id) for e in seen if is_literal(e.id))
        own = values[than[0].id] if than else ()
        return list(choose_candidates(query.constraint, {e: values[e.id] for e in found}, own))


def _hops(
    walk: _Walk, frontier: list[Entity], hops: Sequence[Hop], over: bool, avoided: frozenset[str]
) -> Generator[Move, Turn, list[Entity]]:
    """`over`: after these hops nothing is left to be looked up."""
    for k, hop in enumerate(hops):
        if hop.direction is Direction.IN:
            raise _Halt
        found: dict[str, Entity] = {}
        for at, entity in enumerate(frontier):
            last = over and k == len(hops) - 1 and at == len(frontier) - 1
            ends = yield from walk.step(entity, hop.relation, last)
            found.update((end.id, end) for end in ends if end.id not in avoided)
        frontier = list(found.values())
    return frontier


def _plays(question: Question) -> bool:
    return has_query(question) or bool(evidence_of(question))


ARK_ORACLE = OwnOracle(ArkOracle, _plays, "a query or evidence that names its topic")
