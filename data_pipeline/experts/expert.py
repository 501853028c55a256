"""The expert: a policy that knows the phrases, not their right reading; it errs and recovers."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from data_pipeline.experts.search import INJECTED_ERRORS, OutOfTurns, PhrasedHop, Search
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity, KnowledgeGraph
from graphwalker.oracle.choices import ChoiceThoughts, Says, says_nothing
from graphwalker.oracle.oracle import close_constrained, closing
from graphwalker.oracle.plan import WALKER, Plan, PlannedPolicy, View, narrate
from graphwalker.oracle.speakers import Speaker
from graphwalker.oracle.steps import weigh
from graphwalker.protocols.base import ActionProtocol
from graphwalker.query.constraint import Constraint
from graphwalker.query.draft import fill_bound
from graphwalker.query.query import Hop, own_side
from graphwalker.question import Question, query_and_wording
from graphwalker.tools.base import abilities_of

Inverse = Callable[[Hop], Hop | None]


class ExpertPolicy(PlannedPolicy):
    """Searches: takes a reading by its seeded prior, looks at what comes back, and goes back to the
    earlier entity when the graph contradicts it. Never reads the gold hops, nor the answers.

    A share `error_rate` of its episodes holds an injected error on top of honest wrong readings.
    """

    name = "expert"

    def __init__(
        self,
        graph: KnowledgeGraph,
        protocol: ActionProtocol,
        *,
        max_turns: int = 10,
        error_rate: float = 0.5,
        injected_errors: Sequence[str] = INJECTED_ERRORS,
        seed: int = 0,
        plain: bool = False,
        inverse: Inverse = lambda hop: None,
        says: Says = says_nothing,
        speaker: Speaker | None = WALKER,
        word: Callable[[Question], Question] = lambda question: question,
    ) -> None:
        """`plain`: every kind of thought has one form; `inverse`: a hop's, which says the same;
        `says`: what thoughts call a hop; `word` gives a question phrases where it has none."""
        if abilities_of(speaker).directed:
            raise UserError(
                "this expert reads phrases with tools that look both ways; this preset's look one "
                "way: the oracle errs with them (experts/erring_oracle.py)"
            )
        super().__init__(graph, protocol, speaker)
        self._plain, self._inverse, self._says, self._word = plain, inverse, says, word
        self._max_turns = max_turns
        self._error_rate, self._kinds = error_rate, injected_errors
        self._seed = seed
        self._searches: dict[str, Search] = {}

    def plan(self, key: str, question: Question) -> Plan:
        rng = random.Random(f"{self._seed}/{key}/expert")
        query, wording = query_and_wording(self._word(question))
        branches = [
            _slots(phrases, readings, rng, self._inverse)
            for phrases, readings in zip(wording.phrases, wording.readings, strict=True)
        ]
        tail = _slots(wording.tail_phrases, wording.tail_readings, rng, self._inverse)
        choices = ChoiceThoughts(replace(question, query=None), self._says)
        view = View(self.graph, question.topic_entities, self.speaker, query.avoided_ids, choices)
        stubborn = rng.random() < self._error_rate
        search = Search(view, rng, self._max_turns, self._plain, stubborn)
        if rng.random() < self._error_rate:
            kind = rng.choice(self._kinds)
            search.inject(rng.choice(places(kind, [*map(len, branches), len(tail)])), kind)
        self._searches[key] = search
        topics = [branch.topic for branch in query.branches]
        keeps = fill_bound(wording.constraint, query.constraint) if query.constraint else ""
        asks = query.constraint and Asks(query.constraint, keeps)
        episode = _episode(search, topics, branches, tail, asks)
        return narrate(view, episode, search.choice)

    def errors(self, key: str) -> list[dict[str, Any]]:
        """What went wrong in the episode, by turn, and the turn that put it right; forgets it."""
        search = self._searches.pop(key, None)
        return search.errors if search else []


def places(kind: str, lengths: Sequence[int]) -> list[int]:
    """The hops (counted over the paths of those lengths) at which such an error can be made; all of
    them where no hop is better than another."""
    hops = list(range(sum(lengths)))
    ends = {sum(lengths[: k + 1]) - 1 for k in range(len(lengths))}
    if kind == "dead_end":  # it needs a next hop to miss
        return [hop for hop in hops if hop not in ends] or hops
    return hops[1:] or hops if kind == "wrong_entity" else hops


class Asks(NamedTuple):
    """The constraint of a question, and how it is worded."""

    constraint: Constraint
    keeps: str


def _episode(
    search: Search,
    topics: Sequence[Entity],
    branches: Sequence[Sequence[PhrasedHop]],
    tail: Sequence[PhrasedHop],
    asks: Asks | None,
) -> Plan:
    try:
        answers = yield from search.run(topics, branches, tail)
        if asks and answers:
            answers = yield from weigh(
                search.view, search.do, answers, asks.constraint, asks.keeps, search.choice
            )
    except OutOfTurns:
        answers = []
    if asks and answers:
        thought, action = close_constrained(search.view, answers, *asks, search.choice)
    else:
        meeting = len(branches) if answers and not tail else 1
        thought, action = closing(search.view, answers, meeting, search.choice)
    yield search.speak(thought), action


def _slots(
    phrases: Sequence[str],
    readings: Sequence[Sequence[Hop]],
    rng: random.Random,
    inverse: Inverse,
) -> list[PhrasedHop]:
    """The readings in the order of the expert's prior: drafts put the true one first, it must not
    know that. Of two inverse relations, the one that goes out of the entity comes first."""
    slots: list[PhrasedHop] = []
    for phrase, hops in zip(phrases, readings, strict=True):
        prior = sorted(hops)
        rng.shuffle(prior)
        place = {hop: k for k, hop in enumerate(prior)}
        prior.sort(key=lambda h: (min(place[h], place.get(inverse(h) or h, place[h])), own_side(h)))
        slots.append(PhrasedHop(phrase, tuple(prior)))
    return slots
