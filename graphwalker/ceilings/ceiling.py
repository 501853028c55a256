"""The ceiling of an environment: how many questions anyone could answer in it.

An environment shows a part of the graph: the relations that its ranker puts first, some triples of
each, within a number of turns. A question whose answers it hides cannot be answered there, by any
model, and earns no reward. The ceiling plays the tools themselves, so it holds for any preset,
ranker and number of pages; a look at an entity and a query of one relation are a call each, a
further page is one more, and a walk has `max_turns` calls.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from graphwalker.agents.environment import Environment
from graphwalker.answers.kinds import Absent
from graphwalker.ceilings.explore import Explorer, Reached, branches, explorer_for
from graphwalker.datasets.queries import resolve_one, states_query
from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, KnowledgeGraph, Side
from graphwalker.query.constraint import filter_candidates
from graphwalker.query.query import Query
from graphwalker.question import Question
from graphwalker.scoring import GoldSet, compare

log = logging.getLogger(__name__)

MEASURES = ("gold_relation_listed", "all_answers_by_gold", "all_answers_by_any", "winnable")


@dataclass(frozen=True, slots=True)
class Reach:
    """What an environment lets anyone do about one question. The first two are `None` where it has
    no query that can be executed."""

    id: str
    gold_relation_listed: bool | None
    """Each relation of the query is shown at an entity that the walk takes it from."""
    all_answers_by_gold: bool | None
    """The query's own relations, followed by the tools, end at exactly the gold answers."""
    all_answers_by_any: bool
    """So they do with any relation that is listed there in place of a walk's last one, or one
    relation of a topic entity alone does."""
    winnable: bool
    """One of these walks shows all gold answers, perhaps with others: they can be named."""

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, **{name: getattr(self, name) for name in MEASURES}}


def reach_of(question: Question, environment: Environment) -> Reach:
    """Play the tools for one question. A gold relation path is made a query where it can be.

    Raises `UserError` for a preset without a speaker, `GraphError` when the graph fails.
    """
    if isinstance(question.gold, Absent):  # a look is enough
        return Reach(question.id, None, None, True, True)
    if question.query is None and states_query(question):
        question = resolve_one(question, environment.graph)
    gold, query = GoldSet.of(question.answers), question.query
    explorer = explorer_for(environment, question)
    played = None if query is None else _gold_walk(explorer, query, environment)
    by_gold, seen = (False, False) if played is None else _finds(played, gold)
    by_any = by_gold
    for other in _other_walks(explorer, question, environment):
        if by_any:
            break
        by_any, whole = _finds(other, gold)
        seen = seen or whole
    if played is None:
        return Reach(question.id, None, None, by_any, seen)
    return Reach(question.id, played.listed, by_gold, by_any, seen)


def reaches(
    questions: Iterable[Question],
    environment: Environment,
    tick: Callable[[int], None] = lambda done: None,
) -> Iterator[Reach]:
    """`reach_of` each question, in order."""
    for done, question in enumerate(questions, start=1):
        yield reach_of(question, environment)
        tick(done)


def winnable_questions(
    questions: Iterable[Question], environment: Environment, file: str
) -> list[Question]:
    """Return those that can be won. Raises `UserError` where there is none in the file; the share
    that is kept is logged."""
    every = list(questions)
    won = {reach.id for reach in reaches(every, environment) if reach.winnable}
    found = [question for question in every if question.id in won]
    if not found:
        raise UserError(
            f"{file}: none of its {len(every)} questions is winnable here: show more "
            "(environment.triples_per_relation, environment.top_relations), or set winnable=false"
        )
    log.info("%s: %d of %d questions are winnable", file, len(found), len(every))
    return found


def known_topics(questions: Iterable[Question], graph: KnowledgeGraph) -> int:
    """Return how many of the questions start at an entity that the graph has triples of."""
    return sum(
        any(graph.for_question(question).relations_many(sides))
        for question in questions
        if (sides := [Side(t.id, d) for t in question.topic_entities for d in Direction])
    )


def ceiling(found: Iterable[Reach]) -> dict[str, Any]:
    """Shares of all questions; the two that need a query are of those that have one (`with_query`),
    and `None` where none has.

    >>> ceiling([Reach("a", True, False, True, True), Reach("b", None, None, False, False)])
    ... # doctest: +NORMALIZE_WHITESPACE
    {'questions': 2, 'with_query': 1, 'gold_relation_listed': 1.0, 'all_answers_by_gold': 0.0,
     'all_answers_by_any': 0.5, 'winnable': 0.5}
    """
    rows = list(found)
    sums = {name: [v for row in rows if (v := getattr(row, name)) is not None] for name in MEASURES}
    shares = {name: sum(values) / len(values) if values else None for name, values in sums.items()}
    return {"questions": len(rows), "with_query": len(sums["gold_relation_listed"]), **shares}


def _finds(reached: Reached, gold: GoldSet) -> tuple[bool, bool]:
    """Return whether the walk ends at exactly the gold answers, and whether at all of them."""
    found = compare(reached.ends, gold) if gold.ids else {"em": 0.0, "recall": 0.0}
    return found["em"] == 1.0, found["recall"] == 1.0


def _gold_walk(explorer: Explorer, query: Query, environment: Environment) -> Reached:
    met = _intersect_walks(branches(explorer, query))
    reached = explorer.follow(met, query.tail, query.avoided_ids)
    return _apply_constraint(reached, query, explorer, environment)


def _intersect_walks(walks: Sequence[Reached]) -> Reached:
    """Return where walks meet, which all of them had to be taken for."""
    shared = set[str].intersection(*({end.id for end in walk.ends} for walk in walks))
    ends = tuple(end for end in walks[0].ends if end.id in shared)
    calls, listed = sum(walk.calls for walk in walks), all(walk.listed for walk in walks)
    return Reached(ends, calls, listed, walks[-1].known)


def _apply_constraint(
    reached: Reached, query: Query, explorer: Explorer, environment: Environment
) -> Reached:
    """Return what the query's constraint keeps; a value costs a call, a type is known."""
    if query.constraint is None:
        return _within(reached, environment)
    looked_at = len(reached.ends) if query.constraint.relations else 0
    calls = reached.calls + looked_at + bool(query.constraint.than)
    chosen = filter_candidates(explorer.graph, query.constraint, reached.ends)
    return _within(replace(reached, ends=chosen, calls=calls), environment)


def _within(reached: Reached, environment: Environment) -> Reached:
    """Nothing, where the walk costs more calls than an episode has."""
    spent = reached.calls > environment.config.max_turns
    return replace(reached, ends=()) if spent else reached


def _other_walks(
    explorer: Explorer, question: Question, environment: Environment
) -> Iterator[Reached]:
    """Yield the gold walk with another last relation of a walk, then each topic's own."""
    query = question.query
    if query is not None:
        for other in _last_replaced(explorer, query):
            yield _apply_constraint(other, query, explorer, environment)
    if query is None or query.hops > 1 or len(query.branches) > 1:
        for topic in explorer.topics:
            for other in _steps(explorer, explorer.start(topic), frozenset()):
                yield _within(other, environment)


def _last_replaced(explorer: Explorer, query: Query) -> Iterator[Reached]:
    golden = branches(explorer, query)
    if query.tail:
        before = explorer.follow(_intersect_walks(golden), query.tail[:-1], query.avoided_ids)
        yield from _steps(explorer, before, query.avoided_ids)
        return
    for place, branch in enumerate(query.branches):
        before = explorer.follow(explorer.start(branch.topic), branch.hops[:-1], query.avoided_ids)
        for end in _steps(explorer, before, query.avoided_ids):
            yield _intersect_walks([*golden[:place], end, *golden[place + 1 :]])


def _steps(explorer: Explorer, here: Reached, avoided: frozenset[str]) -> Iterator[Reached]:
    """Yield each relation that is listed here, taken in one direction or in both."""
    for hops, seen in explorer.listings(here):
        yield explorer.take(seen, hops, avoided)
