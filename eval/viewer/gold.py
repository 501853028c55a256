"""The gold path of a question, laid over the triples that a walk has shown."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eval.viewer.triples import Triple

UNKNOWN = "\ue000"  # private use: no entity is called so
MOST_ANSWERS = 6


@dataclass(frozen=True, slots=True)
class GoldHop:
    """One hop of a gold path: the relations that say it, `~` before those taken backwards."""

    relations: tuple[str, ...]

    def end(self, triple: Triple, start: str) -> str | None:
        """Where the hop leads from `start` by this triple; `None` where it is another relation."""
        head, relation, tail = triple
        if relation in self.relations and head == start:
            return tail
        return head if f"~{relation}" in self.relations and tail == start else None

    def triple(self, start: str, end: str) -> Triple:
        """The hop as a triple."""
        first = self.relations[0]
        return (end, first[1:], start) if first.startswith("~") else (start, first, end)


@dataclass(frozen=True, slots=True)
class GoldFilter:
    """A constraint on what the hops lead to: the relation to the value that decides."""

    relation: str
    rule: str
    """`above 1990`, `highest`; for a reader."""
    than: str = ""
    """The entity whose own value is the bound, by name."""


@dataclass(frozen=True, slots=True)
class GoldPath:
    """Branches from topic entities (their names), the hops after the branches have met, and the
    constraint on their ends."""

    branches: tuple[tuple[str, tuple[GoldHop, ...]], ...]
    tail: tuple[GoldHop, ...] = ()
    constraint: GoldFilter | None = None

    def in_words(self) -> list[str]:
        """One line per branch, for a reader without the drawing."""
        lines = [_chain(topic, hops) for topic, hops in self.branches]
        if self.tail:
            lines.append(_chain("where they meet", self.tail))
        if self.constraint:
            lines.append(f"of these → {self.constraint.relation}: {self.constraint.rule}")
        return lines


def gold_path(query: Mapping[str, Any]) -> GoldPath | None:
    """The path of a question's executable form; `None` where the question has none, or another."""
    branches, tail = query.get("branches"), query.get("tail") or []
    if not isinstance(branches, Sequence) or not branches or not isinstance(tail, Sequence):
        return None
    twins = _twins(query) if len(branches) == 1 and not tail else ()
    try:
        made = tuple((_name(b["topic"]), _hops(b["hops"], twins)) for b in branches)
        constraint = _filter(query["constraint"]) if query.get("constraint") else None
    except (AttributeError, KeyError, TypeError):
        return None
    return GoldPath(made, _hops(tail), constraint) if all(hops for _, hops in made) else None


def lay(
    path: GoldPath, walked: Iterable[Triple], answers: Sequence[str]
) -> tuple[set[Triple], list[Triple]]:
    """(walked triples that lie on the gold path, gold triples that were never shown).

    `answers` are the gold answers by name. Entities between that the walk never saw have no name
    in the question's record: they are `UNKNOWN` and a number. Of several entities that a missing
    hop may start from, one is taken: which of them lead on, only the graph knows.
    """
    tracer = _Tracer(list(dict.fromkeys(walked)))
    goals = list(answers[:MOST_ANSWERS]) or [tracer.unknown()]
    fronts = [tracer.forward([topic], hops) for topic, hops in path.branches]
    ends = [
        tracer.ends(front[-1], hops[-1])
        for front, (_, hops) in zip(fronts, path.branches, strict=True)
    ]
    found = [end for end in ends[0] if all(end in others for others in ends)]
    if path.tail:
        front = tracer.forward(found or [tracer.unknown()], path.tail)
        found = tracer.ends(front[-1], path.tail[-1])
        goals = tracer.backward(front, path.tail, goals)
    for front, (_, hops) in zip(fronts, path.branches, strict=True):
        tracer.backward(front, hops, goals)
    if path.constraint:
        tracer.values(path.constraint, [*found, *answers[:MOST_ANSWERS]])
    return tracer.on_path, list(dict.fromkeys(reversed(tracer.missing)))


class _Tracer:
    """Follows gold hops through walked triples, and notes what was walked and what is missing."""

    def __init__(self, walked: list[Triple]) -> None:
        self.walked = walked
        self.on_path: set[Triple] = set()
        self.missing: list[Triple] = []
        self._unknown = 0

    def unknown(self) -> str:
        self._unknown += 1
        return f"{UNKNOWN}{self._unknown}"

    def ends(self, starts: Sequence[str], hop: GoldHop) -> list[str]:
        """Where the walk saw this hop lead."""
        found = (hop.end(triple, start) for start in starts for triple in self.walked)
        return list(dict.fromkeys(end for end in found if end is not None))

    def forward(self, starts: list[str], hops: Sequence[GoldHop]) -> list[list[str]]:
        """What each hop starts from; an unknown entity where the walk saw none of a hop's ends."""
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

    def values(self, constraint: GoldFilter, weighed: Iterable[str]) -> None:
        """Mark the values of what was weighed; what was never looked up is missing."""
        than = [constraint.than] if constraint.than else []
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
                end = hop.end(triple, start)
                if end is not None and end in goals:
                    self.on_path.add(triple)
                    reached.add(end)
                    used[start] = None
        first = next(iter(used), starts[0])
        left = [goal for goal in goals if goal not in reached]
        self.missing += [hop.triple(first, goal) for goal in left]
        return list(used) or [first]


def _name(entity: Mapping[str, Any]) -> str:
    return str(entity["name"] or entity["id"])


def _filter(record: Mapping[str, Any]) -> GoldFilter:
    than = _name(record["than"]) if record.get("than") else ""
    words = (str(record["operator"]), str(record.get("bound", "")), than and f"that of {than}")
    return GoldFilter(str(record["relation"]), " ".join(filter(None, words)), than)


def _hops(hops: Sequence[str], twins: Sequence[str] = ()) -> tuple[GoldHop, ...]:
    same = twins if len(twins) == len(hops) else hops
    return tuple(
        GoldHop(tuple(dict.fromkeys((str(hop), str(twin)))))
        for hop, twin in zip(hops, same, strict=True)
    )


def _twins(query: Mapping[str, Any]) -> Sequence[str]:
    """The same hops by the relations of the other side (`people.person.parents` is
    `~people.person.children`), as the question's `path` has them."""
    path = query.get("path")
    if not isinstance(path, Sequence) or len(path) != 1:
        return ()
    return str(path[0]).split("/")


def _chain(start: str, hops: Iterable[GoldHop]) -> str:
    return " → ".join([start, *(hop.relations[0] for hop in hops)])
