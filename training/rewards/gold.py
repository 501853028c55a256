"""The gold walk of a question: what each of its steps finds, by executing its query."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity, KnowledgeGraph
from graphwalker.query.query import Query, execute, spellings
from graphwalker.question import Question
from graphwalker.tools.base import ShownTriple
from graphwalker.trajectory import Trajectory

LIMIT = 1000
"""Entities of a frontier that count; a wider one is cut there."""


@dataclass(frozen=True, slots=True)
class GoldStep:
    """One hop of the query."""

    relations: frozenset[str]
    """The relation, and its inverse where the graph has one."""
    start: frozenset[str]
    """Ids of the entities that it is taken from."""
    end: frozenset[str]
    """Ids of what it finds."""

    def joins(self, triple: ShownTriple) -> bool:
        """Return whether the triple leads along this step, by whatever relation."""
        ends = (triple.head.id, triple.tail.id)
        return any(a in self.start and b in self.end for a, b in (ends, ends[::-1]))


class GoldWalks:
    """The steps of each question's query on a graph, found out when first asked."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self._graph = graph
        self._found: dict[str, tuple[GoldStep, ...]] = {}

    def steps(self, question: Question) -> tuple[GoldStep, ...]:
        """Empty for a question without a query. Raises `GraphError` when the graph fails."""
        if question.query is None:
            return ()
        if question.id not in self._found:
            graph = self._graph.for_question(question)
            self._found[question.id] = _steps(graph, question, question.query)
        return self._found[question.id]


def check_queries(questions: Iterable[Question], names: Sequence[str]) -> int:
    """Count the questions without a query, for which rewards of the gold walk are 0.

    Raises `UserError` where none has one.
    """
    every = list(questions)
    without = sum(question.query is None for question in every)
    if every and without == len(every):
        raise UserError(
            f"{', '.join(names)}: none of the {len(every)} questions has a query, which says what "
            "the gold walk is; take questions of `graphwalker questions`, or other rewards"
        )
    return without


def potentials(trajectory: Trajectory, steps: Sequence[GoldStep]) -> list[float]:
    """After each turn: the share of what the gold steps find that the tools have shown so far,
    averaged over the steps. 0 without steps."""
    seen: set[str] = set()
    values: list[float] = []
    for turn in trajectory.turns:
        seen.update(entity.id for entity in turn.shown if entity.id)
        shares = [len(step.end & seen) / len(step.end) for step in steps if step.end]
        values.append(sum(shares) / len(shares) if shares else 0.0)
    return values


def progress(walks: GoldWalks) -> Callable[[Trajectory], list[float]]:
    """Reward each turn by how much it raises the potential (see `potentials`)."""

    def turn_gains(trajectory: Trajectory) -> list[float]:
        after = potentials(trajectory, walks.steps(trajectory.question))
        return [now - before for before, now in zip([0.0, *after], after, strict=False)]

    return turn_gains


def frontier(trajectory: Trajectory, steps: Sequence[GoldStep]) -> float:
    """Get the potential at the end: the share of the gold walk's entities that the tools showed."""
    return (potentials(trajectory, steps) or [0.0])[-1]


def path_overlap(trajectory: Trajectory, steps: Sequence[GoldStep]) -> float:
    """F1 of the relations walked and the gold ones (after Explore-on-Graph, arXiv:2602.21728).

    A gold step counts as walked where a triple was shown that leads from what it is taken from to
    what it finds; a relation that shows triples elsewhere lowers the precision.
    """
    triples = [triple for turn in trajectory.turns for triple in turn.triples]
    walked = {triple.relation for triple in triples}
    taken = [step for step in steps if any(_leads(step, triple) for triple in triples)]
    if not taken or not steps:
        return 0.0
    gold = frozenset[str]().union(*(step.relations for step in steps))
    precision, recall = len(walked & gold) / len(walked), len(taken) / len(steps)
    return 2 * precision * recall / (precision + recall)


def _leads(step: GoldStep, triple: ShownTriple) -> bool:
    return triple.relation in step.relations and step.joins(triple)


GOLD_REWARDS = {function.__name__: function for function in (frontier, path_overlap)}
"""Of the gold walk: functions of (trajectory, the steps of its question's query)."""


def _steps(graph: KnowledgeGraph, question: Question, query: Query) -> tuple[GoldStep, ...]:
    run = execute(graph, query, LIMIT)
    ways = [*((b.hops, f) for b, f in zip(query.branches, run.frontiers, strict=True))]
    ways.append((query.tail, run.tail_frontiers))
    steps: list[GoldStep] = []
    for (_, frontiers), hops in zip(ways, spellings(query, question.relation_path), strict=True):
        for place, same in enumerate(hops):
            relations = frozenset(hop.relation for hop in same)
            steps.append(GoldStep(relations, _ids(frontiers[place]), _ids(frontiers[place + 1])))
    return tuple(steps)


def _ids(entities: Iterable[Entity]) -> frozenset[str]:
    return frozenset(entity.id for entity in entities)
