"""The gold path of a question, laid over the triples that a walk has shown."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eval.viewer_triples import Triple

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
class GoldPath:
    """Branches from topic entities (their names), and the hops after the branches have met."""

    branches: tuple[tuple[str, tuple[GoldHop, ...]], ...]
    tail: tuple[GoldHop, ...] = ()

    def in_words(self) -> list[str]:
        """One line per branch, for a reader without the drawing."""
        lines = [_chain(topic, hops) for topic, hops in self.branches]
        return [*lines, _chain("where they meet", self.tail)] if self.tail else lines


def gold_path(query: Mapping[str, Any]) -> GoldPath | None:
    """The path of a question's executable form; `None` where the question has none, or another."""
    branches, tail = query.get("branches"), query.get("tail") or []
    if not isinstance(branches, Sequence) or not branches or not isinstance(tail, Sequence):
        return None
    twins = _twins(query) if len(branches) == 1 and not tail else ()
    try:
        made = tuple(
            (str(b["topic"]["name"] or b["topic"]["id"]), _hops(b["hops"], twins)) for b in branches
        )
    except (KeyError, TypeError):
        return None
    return GoldPath(made, _hops(tail)) if all(hops for _, hops in made) else None


def lay(
    path: GoldPath, walked: Iterable[Triple], answers: Sequence[str]
) -> tuple[set[Triple], list[Triple]]:
    """(walked triples that lie on the gold path, gold triples that were never shown).

    `answers` are the gold answers by name. Entities between that the walk never saw have no name
    in the question's record: they are `UNKNOWN` and a number.
    """
    tracer = _Tracer(list(dict.fromkeys(walked)))
    goals = list(answers[:MOST_ANSWERS]) or [tracer.unknown()]
    before = [tracer.follow([topic], hops[:-1]) for topic, hops in path.branches]
    if path.tail:
        ends = [
            tracer.ends(frontier, hops[-1])
            for frontier, (_, hops) in zip(before, path.branches, strict=True)
        ]
        meeting = [end for end in ends[0] if all(end in others for others in ends)]
        meeting = meeting or [tracer.unknown()]
        tracer.close(tracer.follow(meeting, path.tail[:-1]), path.tail[-1], goals)
        goals = meeting
    for frontier, (_, hops) in zip(before, path.branches, strict=True):
        tracer.close(frontier, hops[-1], goals)
    return tracer.on_path, list(dict.fromkeys(tracer.missing))


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

    def ends(self, frontier: Sequence[str], hop: GoldHop) -> list[str]:
        """Where the walk saw this hop lead."""
        found = (hop.end(triple, start) for start in frontier for triple in self.walked)
        return list(dict.fromkeys(end for end in found if end is not None))

    def follow(self, frontier: list[str], hops: Sequence[GoldHop]) -> list[str]:
        """Hop after hop; an unknown end stands for those of a hop that the walk never saw."""
        for hop in hops:
            ends = self.ends(frontier, hop) or [self.unknown()]
            self.close(frontier, hop, ends)
            frontier = ends
        return frontier

    def close(self, frontier: Sequence[str], hop: GoldHop, goals: Sequence[str]) -> None:
        """One hop that ends in `goals`: what was walked of it, and what is missing."""
        reached: set[str] = set()
        for start in frontier:
            for triple in self.walked:
                end = hop.end(triple, start)
                if end in goals:
                    self.on_path.add(triple)
                    reached.add(str(end))
        self.missing += [hop.triple(frontier[0], g) for g in goals if g not in reached]


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
