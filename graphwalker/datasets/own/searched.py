"""Walks that are searched from the topic entities to the answers: demonstrations for questions of
which nothing is known but the answers.

Weak supervision as in Berant et al. 2013 and Min et al. 2019 (arXiv:1909.04849, section 3): of all
short walks that lead to exactly the answers, one is taken for what the question asks. Where another
relation leads to the same entities, it may be the wrong one; over many questions the right ones
prevail, as the wrong ones differ.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, product

from graphwalker.answers.values import answer_key
from graphwalker.datasets.answers import is_yes_no
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, Side, Step
from graphwalker.graphs.literals import is_literal
from graphwalker.query.query import Branch, Hop, Query
from graphwalker.question import Answer, Question

Path = tuple[Hop, ...]
Paths = Mapping[Path, frozenset[str]]
"""Where each path of hops from an entity leads."""

MAX_FRONTIER = 100
"""Entities that a hop may lead to if another one is to follow: what starts at a country's people is
hardly ever asked, and takes the longest to search."""


def queries_to(graph: KnowledgeGraph, question: Question, max_hops: int) -> Iterator[Query]:
    """Yield the shortest queries whose answers are exactly the question's: a path from its one
    topic entity, or paths of as few hops as possible from all of them, which meet there."""
    gold = _Gold(question.answers)
    topics = question.topic_entities
    if not topics or not gold.marks or is_yes_no(question.answers):  # any fact may be true
        return
    ways = [_ways(graph, topic, gold, max_hops) for topic in topics]
    if not all(ways):
        return
    chosen = sorted(product(*ways), key=lambda paths: sum(map(len, paths)))
    shortest = 0
    for paths in chosen:
        length = sum(map(len, paths))
        if shortest and length > shortest:
            return
        first, *others = [way[path] for way, path in zip(ways, paths, strict=True)]
        if first.intersection(*others) == gold.marks:
            shortest = length
            yield Query(tuple(Branch(t, p) for t, p in zip(topics, paths, strict=True)))


class _Gold:
    """Gold answers, each with one mark: its id, or its name or value where it has none."""

    def __init__(self, answers: Iterable[Answer]) -> None:
        self._known: dict[str, str] = {}
        self._has_names = False
        for answer in answers:
            keys = [answer.id]
            if not answer.id or is_literal(answer.id):
                keys = [answer_key(name) for name in (answer.name, *answer.aliases)]
                self._has_names = True
            mark = next((self._known[key] for key in keys if key in self._known), keys[0])
            self._known |= dict.fromkeys(keys, mark)
        self.marks = frozenset(self._known.values())

    def mark(self, end: Entity) -> str:
        """Return the mark of the answer that an entity is, else its id."""
        named = self._has_names and self._known.get(answer_key(end.name))
        return self._known.get(end.id) or named or end.id


def _ways(graph: KnowledgeGraph, topic: Entity, gold: _Gold, max_hops: int) -> Paths:
    """Return the paths from the topic entity that lead to all of the answers, and to what else."""
    found: dict[Path, frozenset[str]] = {}
    last: dict[Path, frozenset[Entity]] = {(): frozenset([topic])}
    for _ in range(max_hops):
        walked: dict[Path, frozenset[Entity]] = {}
        for path, frontier in last.items():
            if len(frontier) <= MAX_FRONTIER:
                ends = _hops(graph, sorted(entity.id for entity in frontier))
                walked.update(((*path, hop), there) for hop, there in ends.items())
        marked = {path: frozenset(map(gold.mark, ends)) for path, ends in walked.items()}
        found.update((path, ends) for path, ends in marked.items() if ends >= gold.marks)
        last = walked
    return found


def _hops(graph: KnowledgeGraph, frontier: Sequence[str]) -> dict[Hop, frozenset[Entity]]:
    """Return where each hop that any of the entities has leads to from all of them."""
    sides = [Side(entity, way) for entity in frontier for way in Direction]
    lists = graph.flat_relations_many(sides)
    hops = dict.fromkeys(
        Hop(relation, side.direction)
        for side, relations in zip(sides, lists, strict=True)
        for relation, _ in relations
    )
    steps = [Step(entity, hop.relation, hop.direction) for hop in hops for entity in frontier]
    ends = iter(graph.step_many(steps))
    return {hop: frozenset(end for _ in frontier for end in next(ends)) for hop in hops}


def with_searched_query(question: Question, graph: KnowledgeGraph, max_hops: int = 2) -> Question:
    """Return the question with the one shortest query that leads to its answers, where it has no
    query and there is exactly one."""
    if question.query is not None:
        return question
    found = list(islice(queries_to(graph, question, max_hops), 2))
    return replace(question, query=found[0]) if len(found) == 1 else question
