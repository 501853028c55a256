"""Certificates: why a walk's question has exactly its answers, or why it was dropped."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import prod

from data_pipeline.wording.composition.constraints import forms
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, Side
from graphwalker.query.constraint import Constraint, constraint_fault, filter_candidates
from graphwalker.query.draft import Draft
from graphwalker.query.query import Branch, Execution, Hop, Query, execute, sub_queries

_WORD = re.compile(r"[^\W_]+")
FRONTIER_LIMIT = 200
"""Entities after which an execution stops: far more than any environment shows."""
MAX_READINGS = 512
"""Combinations of readings that are executed; a question with more is dropped."""


def walk_fault(
    graph: KnowledgeGraph, query: Query, run: Execution, max_answers: int, max_frontier: int
) -> str:
    """Return why the executed query cannot be asked, or `""`."""
    answers = run.answers
    topics = {topic.id for topic in query.topics}
    if query.constraint and (
        fault := constraint_fault(graph, query.constraint, run.tail_frontiers[-2])
    ):
        return fault
    if not answers:
        return "no_answers"
    if len(answers) > max_answers:
        return "too_many_answers"
    if run.widest > max_frontier:
        return "frontier_too_wide"
    # An agent is told topics by name, so two of one name could not be distinguished.
    if len({topic.name for topic in query.topics}) < len(query.topics):
        return "topics_share_a_name"
    if any(entity.id in topics for entity in answers):
        return "topic_in_answers"
    if len({entity.name for entity in answers}) < len(answers) or not all(
        entity.name.strip() for entity in answers
    ):
        return "answers_share_a_name"
    # Last, because it alone executes every part of the query.
    return "shortcut" if has_shortcut(graph, query, run) else ""


def absent_fault(query: Query, run: Execution, max_frontier: int) -> str:
    """Return why the executed query is none whose answer the graph lacks, or `""`: its last hop
    leads nowhere, the hops before it somewhere, from a topic that they do not come back to."""
    *before, last, answers = run.frontiers[0]
    if answers:
        return "not_absent"
    if not last:
        return "no_answers"
    if run.widest > max_frontier:
        return "frontier_too_wide"
    topic = query.branches[0].topic
    return "topic_in_answers" if before and topic in last else ""


def is_irregular(graph: KnowledgeGraph, query: Query, run: Execution) -> bool:
    """Tell whether some entity on the way has no next hop: the agent would meet an error there."""
    paths = [*zip((b.hops for b in query.branches), run.frontiers, strict=True)]
    paths.append((query.tail, run.tail_frontiers))
    return any(
        not graph.step(entity.id, hop.relation, hop.direction, 1)
        for hops, frontiers in paths
        # A path has one frontier more than hops: its end, where no hop follows.
        for hop, frontier in zip(hops, frontiers, strict=False)
        for entity in frontier
    )


def has_shortcut(graph: KnowledgeGraph, query: Query, run: Execution) -> bool:
    """Return whether a part of the query gives the same answers: the rest is not needed."""
    gold = ids_of(run.answers)
    parts = _parts(query)
    return any(ids_of(execute(graph, part, FRONTIER_LIMIT).answers) == gold for part in parts)


def _parts(query: Query) -> Iterator[Query]:
    """Yield the query without one of its branches, without its constraint, without one hop of a
    path; a composition also cut short."""
    yield from sub_queries(query)
    if query.constraint:
        yield replace(query, constraint=None)
    first, *others = query.branches
    if others:
        yield from _one_hop_less(query)
        return
    hops = first.hops
    paths = {hops[:k] + hops[k + 1 :] for k in range(len(hops))}
    paths |= {hops[:k] for k in range(1, len(hops))}
    for path in sorted(filter(None, paths)):
        yield replace(query, branches=(Branch(first.topic, path),))


def _one_hop_less(query: Query) -> Iterator[Query]:
    for i, branch in enumerate(query.branches):
        for k in range(len(branch.hops) if len(branch.hops) > 1 else 0):
            shorter = replace(branch, hops=branch.hops[:k] + branch.hops[k + 1 :])
            yield replace(query, branches=(*query.branches[:i], shorter, *query.branches[i + 1 :]))
    for k in range(len(query.tail)):
        yield replace(query, tail=query.tail[:k] + query.tail[k + 1 :])


def leaks(text: str, answers: Iterable[Entity]) -> bool:
    """Return whether the question names one of its answers."""
    texts = (text, *(entity.name for entity in answers))
    # Blanks around both sides: an answer named Ann is not in a question about Annapolis.
    folded, *names = (f" {' '.join(_WORD.findall(one.casefold()))} " for one in texts)
    return any(name in folded for name in names)


def other_reading(
    graph: KnowledgeGraph,
    query: Query,
    draft: Draft,
    run: Execution,
    answers: Sequence[Entity] | None = None,
    inverse: Callable[[Hop], Hop | None] = lambda _: None,
) -> str:
    """Return a reading of the phrases that gives other answers, described, `""` for none.

    `run` is the query's own; `answers` those of the question, where they may differ. Readings
    that give nothing are no rival: a reader sees by the graph that they were not meant. Nor are
    those that differ by inverse relations alone and give a part of the answers: the graph states
    some facts on one side only, and the question means them all.
    """
    gold = ids_of(run.answers if answers is None else answers)
    if query.constraint and (
        rival := _other_value(graph, query.constraint, draft, run.tail_frontiers[-2], gold)
    ):
        return rival
    choices = [hop_readings for branch in draft.readings for hop_readings in branch]
    choices += list(draft.tail_readings)
    size = prod(map(len, choices))
    if size > MAX_READINGS:
        return "more readings than can be checked"
    # The usual case: each phrase can mean one thing, and nothing is executed.
    if size == 1:
        return ""
    # Each branch alone first: readings that end in the same entities cannot differ later, so the
    # product is over distinct ends instead of over readings.
    ends = [
        _branch_ends(graph, branch.topic, readings)
        for branch, readings in zip(query.branches, draft.readings, strict=True)
    ]
    for combination in product(*ends):
        hops, frontiers = zip(*combination, strict=True)
        shared = frozenset.intersection(*map(ids_of, frontiers))
        meet = tuple(entity for entity in frontiers[0] if entity.id in shared)
        for tail, found in _ends(graph, meet, draft.tail_readings):
            end = filter_candidates(graph, query.constraint, found) if query.constraint else found
            if not end or ids_of(end) == gold:
                continue
            if not (ids_of(end) < gold and _is_same(query, (*hops, tail), inverse)):
                return " & ".join("/".join(map(str, path)) for path in (*hops, tail) if path)
    return ""


def _is_same(
    query: Query, paths: Sequence[Sequence[Hop]], inverse: Callable[[Hop], Hop | None]
) -> bool:
    """Return whether each hop of the paths is that of the query or its inverse."""
    own = [*(branch.hops for branch in query.branches), query.tail]
    return all(
        hop == meant or hop == inverse(meant)
        for path, hops in zip(paths, own, strict=True)
        for hop, meant in zip(path, hops, strict=True)
    )


def _other_value(
    graph: KnowledgeGraph,
    constraint: Constraint,
    draft: Draft,
    candidates: Sequence[Entity],
    gold: frozenset[str],
) -> str:
    """Return another value that the constraint may be read as, and keeps others by."""
    if not constraint.relations:  # a type
        return ""
    sides = [Side(entity.id, Direction.OUT) for entity in candidates]
    listed = {r for relations in graph.flat_relations_many(sides) for r, _ in relations}
    for relation in sorted(listed - {constraint.relation}):
        same = [form for found in forms(relation, constraint.kind).values() for form in found]
        if draft.constraint in same:
            other = replace(constraint, relation=relation)
            ids = ids_of(filter_candidates(graph, other, candidates))
            if ids and ids != gold:
                return f"{relation} instead of {constraint.relation}"
    return ""


def _branch_ends(
    graph: KnowledgeGraph, topic: Entity, readings: Sequence[Sequence[Hop]]
) -> list[tuple[tuple[Hop, ...], tuple[Entity, ...]]]:
    """Return where each reading of a branch ends, one path per distinct end, without dead ends."""
    found: list[tuple[tuple[Hop, ...], tuple[Entity, ...]]] = [((), (topic,))]
    for hops in readings:
        # After each hop, too: a relation and its inverse mostly lead to the same entities.
        longer: dict[frozenset[str], tuple[tuple[Hop, ...], tuple[Entity, ...]]] = {}
        for path, start in found:
            for hop in hops:
                if end := _frontier(graph, start, hop):
                    longer.setdefault(ids_of(end), ((*path, hop), end))
        found = list(longer.values())
    return found


def _ends(
    graph: KnowledgeGraph, start: tuple[Entity, ...], readings: Sequence[Sequence[Hop]]
) -> Iterator[tuple[tuple[Hop, ...], tuple[Entity, ...]]]:
    if not readings or not start:
        yield (), start
        return
    for hop in readings[0]:
        frontier = _frontier(graph, start, hop)
        for path, end in _ends(graph, frontier, readings[1:]):
            yield (hop, *path), end


def _frontier(graph: KnowledgeGraph, start: Sequence[Entity], hop: Hop) -> tuple[Entity, ...]:
    relation, direction, limit = hop.relation, hop.direction, FRONTIER_LIMIT + 1
    if len(start) == 1:  # most frontiers
        return tuple(graph.step(start[0].id, relation, direction, limit))
    ends = (graph.step(entity.id, relation, direction, limit) for entity in start)
    return tuple({entity.id: entity for found in ends for entity in found}.values())


def ids_of(entities: Iterable[Entity]) -> frozenset[str]:
    """Return the ids of some entities."""
    return frozenset(entity.id for entity in entities)
