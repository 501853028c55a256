"""The gold path of a question, laid over the triples that a walk has shown."""

from collections.abc import Iterable, Sequence

from graphwalker.graphs.base import Direction, Entity
from graphwalker.query.constraint import Constraint
from graphwalker.query.query import Hop, Query, spellings
from graphwalker.question import Question

NameTriple = tuple[str, str, str]
"""Head, relation and tail, by the names under which they were shown."""
UNKNOWN = "\ue000"  # private use: no entity is called so
MOST_ANSWERS = 6

GoldHop = tuple[Hop, ...]
"""A hop, and the inverse relation that says the same."""


def in_words(query: Query) -> list[str]:
    """Return one line per branch, for a reader without the drawing."""
    lines = [_chain(_name(branch.topic), branch.hops) for branch in query.branches]
    if query.tail:
        lines.append(_chain("where they meet", query.tail))
    if query.constraint:
        lines.append(f"of these → {query.constraint.relation}: {_rule(query.constraint)}")
    return lines


def _end(hop: GoldHop, triple: NameTriple, start: str) -> str | None:
    """Return where the hop leads from `start` by this triple; `None` for another relation."""
    head, relation, tail = triple
    if head == start and Hop(relation) in hop:
        return tail
    return head if tail == start and Hop(relation, Direction.IN) in hop else None


def _triple(hop: GoldHop, start: str, end: str) -> NameTriple:
    inwards = hop[0].direction is Direction.IN
    return (end, hop[0].relation, start) if inwards else (start, hop[0].relation, end)


def lay(
    question: Question, walked: Iterable[NameTriple], answers: Sequence[str]
) -> tuple[set[NameTriple], list[NameTriple]]:
    """(walked triples that lie on the gold path, gold triples that were never shown).

    `answers` are the gold answers by name. Entities between that the walk never saw have no name
    in the question's record: they are `UNKNOWN` and a number. Of several entities that a missing
    hop may start from, one is taken: which of them lead on, only the graph knows.
    """
    query = question.query
    if query is None or not all(branch.hops for branch in query.branches):
        return set(), []
    tracer = _Tracer(list(dict.fromkeys(walked)))
    goals = list(answers[:MOST_ANSWERS]) or [tracer.unknown()]
    *branches, tail = spellings(query, question.relation_path)
    fronts = [
        tracer.forward([_name(branch.topic)], hops)
        for branch, hops in zip(query.branches, branches, strict=True)
    ]
    ends = [tracer.ends(front[-1], hops[-1]) for front, hops in zip(fronts, branches, strict=True)]
    found = [end for end in ends[0] if all(end in others for others in ends)]
    if tail:
        front = tracer.forward(found or [tracer.unknown()], tail)
        found = tracer.ends(front[-1], tail[-1])
        goals = tracer.backward(front, tail, goals)
    for front, hops in zip(fronts, branches, strict=True):
        tracer.backward(front, hops, goals)
    if query.constraint:
        tracer.values(query.constraint, [*found, *answers[:MOST_ANSWERS]])
    return tracer.on_path, list(dict.fromkeys(reversed(tracer.missing)))


class _Tracer:
    """Follows gold hops through walked triples, and notes what was walked and what is missing."""

    def __init__(self, walked: list[NameTriple]) -> None:
        self.walked = walked
        self.on_path: set[NameTriple] = set()
        self.missing: list[NameTriple] = []
        self._unknown = 0

    def unknown(self) -> str:
        self._unknown += 1
        return f"{UNKNOWN}{self._unknown}"

    def ends(self, starts: Sequence[str], hop: GoldHop) -> list[str]:
        """Return the entities that the walk saw this hop lead to."""
        found = (_end(hop, triple, start) for start in starts for triple in self.walked)
        return list(dict.fromkeys(end for end in found if end is not None))

    def forward(self, starts: list[str], hops: Sequence[GoldHop]) -> list[list[str]]:
        """Return the starts of each hop; an unknown entity where the walk saw no end of a hop."""
        fronts = [starts]
        for hop in hops[:-1]:
            fronts.append(self.ends(fronts[-1], hop) or [self.unknown()])
        return fronts

    def backward(
        self, fronts: Sequence[list[str]], hops: Sequence[GoldHop], goals: list[str]
    ) -> list[str]:
        """Keep what leads to the goals, hop by hop from the last; returns the starts that do."""
        for front, hop in zip(reversed(fronts), reversed(hops), strict=True):
            goals = self._close(front, hop, goals)
        return goals

    def values(self, constraint: Constraint, weighed: Iterable[str]) -> None:
        """Mark the values of what was weighed; what was never looked up is missing."""
        than = [_name(constraint.than)] if constraint.than else []
        for entity in dict.fromkeys([*weighed, *than]):
            seen = {t for t in self.walked if t[0] == entity and t[1] == constraint.relation}
            self.on_path |= seen
            if not seen:
                self.missing.append((entity, constraint.relation, self.unknown()))

    def _close(self, starts: Sequence[str], hop: GoldHop, goals: Sequence[str]) -> list[str]:
        used: dict[str, None] = {}
        reached: set[str] = set()
        for start in starts:
            for triple in self.walked:
                end = _end(hop, triple, start)
                if end is not None and end in goals:
                    self.on_path.add(triple)
                    reached.add(end)
                    used[start] = None
        first = next(iter(used), starts[0])
        left = [goal for goal in goals if goal not in reached]
        self.missing += [_triple(hop, first, goal) for goal in left]
        return list(used) or [first]


def _name(entity: Entity) -> str:
    return entity.name or entity.id


def _rule(constraint: Constraint) -> str:
    than = f"that of {_name(constraint.than)}" if constraint.than else ""
    return " ".join(filter(None, (constraint.operator, constraint.bound, than)))


def _chain(start: str, hops: Iterable[Hop]) -> str:
    return " → ".join([start, *map(str, hops)])
