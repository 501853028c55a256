"""The expert: a policy that knows the phrases, not their right reading; it errs and recovers."""

import random
from collections.abc import Callable, Sequence
from typing import Any

from data_pipeline.demonstrators.injected_errors import SLIPS, places
from data_pipeline.demonstrators.search import OutOfTurns, Search, Slot
from graphwalker.graphs.base import Entity, KnowledgeGraph
from graphwalker.oracle.constraint_steps import weigh
from graphwalker.oracle.oracle import closing, weighed
from graphwalker.oracle.plan import Plan, PlannedPolicy, View, narrated
from graphwalker.protocols.base import ActionProtocol
from graphwalker.query.constraint import Constraint
from graphwalker.query.draft import said as constraint_said
from graphwalker.query.query import Hop, own_side
from graphwalker.question import Question, worded


class ExpertPolicy(PlannedPolicy):
    """Searches: takes a reading by its seeded prior, looks at what comes back, and goes back to the
    earlier entity when the graph contradicts it. Never reads the gold hops, nor the answers.

    A share `error_rate` of its episodes holds a slip on top of the honest wrong readings.
    """

    name = "expert"

    def __init__(
        self,
        graph: KnowledgeGraph,
        protocol: ActionProtocol,
        *,
        max_turns: int = 10,
        error_rate: float = 0.5,
        slips: Sequence[str] = SLIPS,
        seed: int = 0,
        plain: bool = False,
        twin: Callable[[Hop], Hop | None] = lambda hop: None,
    ) -> None:
        """`plain`: every kind of thought has one form; `twin`: a hop's inverse, the same to it."""
        super().__init__(graph, protocol)
        self._plain, self._twin = plain, twin
        self._max_turns = max_turns
        self._error_rate, self._slips = error_rate, slips
        self._seed = seed
        self._searches: dict[str, Search] = {}

    def plan(self, key: str, question: Question) -> Plan:
        rng = random.Random(f"{self._seed}/{key}/expert")
        query, said = worded(question)
        branches = [
            _slots(p, r, rng, self._twin) for p, r in zip(said.phrases, said.readings, strict=True)
        ]
        tail = _slots(said.tail_phrases, said.tail_readings, rng, self._twin)
        view = View(self.graph, question.topic_entities)
        search = Search(view, rng, self._max_turns, self._plain)
        search.stubborn = rng.random() < self._error_rate
        if rng.random() < self._error_rate:
            kind = rng.choice(self._slips)
            search.plan_slip(rng.choice(places(kind, [*map(len, branches), len(tail)])), kind)
        self._searches[key] = search
        topics = [branch.topic for branch in query.branches]
        keeps = constraint_said(said.constraint, query.constraint) if query.constraint else ""
        episode = _episode(search, topics, branches, tail, query.constraint, keeps)
        return narrated(view, episode, search.voice)

    def errors(self, key: str) -> list[dict[str, Any]]:
        """What went wrong in the episode, by turn, and the turn that put it right; forgets it."""
        search = self._searches.pop(key, None)
        return search.errors if search else []


def _episode(
    search: Search,
    topics: Sequence[Entity],
    branches: Sequence[Sequence[Slot]],
    tail: Sequence[Slot],
    constraint: Constraint | None,
    keeps: str,
) -> Plan:
    try:
        answers = yield from search.run(topics, branches, tail)
        if constraint and answers:
            answers = yield from weigh(
                search.view, search.do, answers, constraint, keeps, search.voice
            )
    except OutOfTurns:
        answers = []
    if constraint and answers:
        thought, action = weighed(search.view, answers, keeps, search.voice)
    else:
        meet = 0 if tail else len(branches)
        thought, action = closing(search.view, answers, meet, search.voice)
    yield search.speak(thought), action


def _slots(
    phrases: Sequence[str],
    readings: Sequence[Sequence[Hop]],
    rng: random.Random,
    twin: Callable[[Hop], Hop | None],
) -> list[Slot]:
    """The readings in the order of the expert's prior: drafts put the true one first, it must not
    know that. Of two inverse twins, the one told from the entity's own side comes first."""
    slots: list[Slot] = []
    for phrase, hops in zip(phrases, readings, strict=True):
        prior = sorted(hops)
        rng.shuffle(prior)
        place = {hop: k for k, hop in enumerate(prior)}
        prior.sort(key=lambda h: (min(place[h], place.get(twin(h) or h, place[h])), own_side(h)))
        slots.append(Slot(phrase, tuple(prior)))
    return slots
