"""The oracle with an injected error, for tools that look in one direction."""

import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from data_pipeline.experts.search import WRONG_SIDE
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph
from graphwalker.graphs.literals import is_literal
from graphwalker.oracle import thoughts
from graphwalker.oracle.choices import Says, says_nothing
from graphwalker.oracle.oracle import OraclePolicy
from graphwalker.oracle.plan import Plan, View
from graphwalker.oracle.speakers import Speaker, call_name
from graphwalker.protocols.base import ActionProtocol
from graphwalker.query.query import Hop
from graphwalker.question import Question
from graphwalker.tools.base import Call

DIRECTED_ERRORS = (
    WRONG_SIDE,
    "wrong_relation",
    "wrong_entity",
    "foreign_relation",
    "misspelled_name",
)
"""The kinds that can be made with such tools."""


class ErringOracle(OraclePolicy):
    """Takes the walk of the question's query. In a share `error_rate` of its episodes one call is
    preceded by a wrong one, which is refused or of no use, and put right."""

    name = "expert"

    def __init__(
        self,
        graph: KnowledgeGraph,
        protocol: ActionProtocol,
        *,
        error_rate: float = 0.5,
        injected_errors: Sequence[str] = DIRECTED_ERRORS,
        seed: int = 0,
        plain: bool = False,
        speaker: Speaker | None = None,
        says: Says = says_nothing,
    ) -> None:
        super().__init__(graph, protocol, seed, plain, speaker, says=says)
        self._error_rate = error_rate
        self._kinds = [kind for kind in injected_errors if kind in DIRECTED_ERRORS]
        self._errors: dict[str, list[dict[str, Any]]] = {}

    def plan(self, key: str, question: Question) -> Plan:
        rng = random.Random(f"{self._seed}/{key}/expert")
        plan = super().plan(key, question)
        if self._kinds and rng.random() < self._error_rate:
            return self._erring(key, question, plan, rng)
        return plan

    def errors(self, key: str) -> list[dict[str, Any]]:
        """What went wrong in the episode, by turn, and the turn that put it right; forgets it."""
        return self._errors.pop(key, [])

    def _erring(self, key: str, question: Question, plan: Plan, rng: random.Random) -> Plan:
        """The plan; before one of its calls, from a drawn one on, a wrong one if there is any."""
        kind, hops = rng.choice(self._kinds), max(1, question.hops or 1)
        at, choice = rng.randrange(2 * hops), None if self._plain else rng
        seen = EpisodeView(View(self.graph, question.topic_entities, self.speaker))
        try:
            thought, action = next(plan)
            while True:
                due = seen.turns >= at and key not in self._errors
                wrong = seen.wrong(kind, action, rng) if due and isinstance(action, Call) else None
                if wrong is not None:
                    self._errors[key] = [_error(kind, wrong, seen.turns)]
                    turn = yield thought, wrong
                    seen.see(turn)
                    failed = turn.error
                    thought = thoughts.mend(failed, choice) if failed else thoughts.astray(choice)
                turn = yield thought, action
                seen.see(turn)
                thought, action = plan.send(turn)
        except StopIteration:
            return


class CallTarget(NamedTuple):
    """What a call asks: an entity's side, or where one of its relations leads."""

    entity: Entity
    direction: Direction
    relation: str = ""


class EpisodeView:
    """What an episode has shown, and the wrong calls that it makes possible."""

    def __init__(self, view: View) -> None:
        directed = view.abilities.directed
        assert directed
        self._view, self._directed = view, directed
        self._own: dict[str, set[Hop]] = {}
        self.turns = 0

    def see(self, turn: Any) -> None:
        self.turns += 1
        self._view.see(turn)
        for one in turn.listed if not turn.error else ():
            self._own.setdefault(one.entity_id, set()).update(one.hops)

    def wrong(self, kind: str, call: Call, rng: random.Random) -> Call | None:
        """A call that errs in that way where this one is right; `None` where there is none."""
        meant = next((one for one in self._possible() if self._call(one) == call), None)
        if meant is None:
            return None
        entity, side, relation = meant
        if kind == WRONG_SIDE:
            found = [CallTarget(entity, side.reverse, relation)]
        elif kind == "misspelled_name":
            found = self._misspell(meant, rng)
        elif kind == "wrong_entity":
            others = self._view.entities()
            found = [CallTarget(e, side, relation) for e in others if e.id != entity.id]
        else:
            found = [CallTarget(entity, side, other) for other in self._rivals(kind, meant)]
        calls = [self._call(one) for one in found if not is_literal(one.entity.id)]
        calls = [one for one in calls if one != call]
        return rng.choice(calls) if calls else None

    def _possible(self) -> Iterator[CallTarget]:
        relations = ["", *sorted(self._view.listed)]
        for entity in self._view.entities():
            for side in Direction:
                yield from (CallTarget(entity, side, relation) for relation in relations)

    def _rivals(self, kind: str, meant: CallTarget) -> list[str]:
        """Relations that the entity has besides (`wrong_relation`), or that others have."""
        if not meant.relation:
            return []
        own = {h.relation for h in self._own.get(meant.entity.id, ())}
        beside = own if kind == "wrong_relation" else self._view.listed - own
        return sorted(beside - {meant.relation})

    def _misspell(self, meant: CallTarget, rng: random.Random) -> list[CallTarget]:
        """The end of another name; where entities are called by ids, the name in its place."""
        name = self._view.name(meant.entity)
        text = name if self._directed.by_id else self._view.garble_name(name, rng)
        return [meant._replace(entity=Entity(text, text))] if text else []

    def _call(self, one: CallTarget) -> Call:
        named = call_name(self._view.speaker, one.entity)
        if one.relation:
            return self._view.speaker.triples(named, one.relation, one.direction)
        return self._directed.look(named, one.direction)


def _error(kind: str, wrong: Call, turn: int) -> dict[str, Any]:
    what = " ".join(str(value) for value in wrong.arguments.values())
    about = {"turn": turn, "kind": kind, "what": what}
    return {**about, "slip": True, "recovered": True, "recovered_at": turn + 1}
