"""The executable form of a question: branches from topic entities, intersected, then a tail."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph
from graphwalker.query.constraint import Constraint, filter_candidates


@dataclass(frozen=True, slots=True, order=True)
class Hop:
    """One relation in one direction; it may be flattened (`a.b.c..d.e.f`, through a CVT)."""

    relation: str
    direction: Direction = Direction.OUT

    def __hash__(self) -> int:
        # Hops are keys by the million; a relation and its reverse seldom stand in one table.
        return hash(self.relation)

    def __str__(self) -> str:
        return self.relation if self.direction == Direction.OUT else f"~{self.relation}"


@dataclass(frozen=True, slots=True)
class Branch:
    """A path of hops that starts at a topic entity."""

    topic: Entity
    hops: tuple[Hop, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """Composition: one branch. 2I: two branches of one hop. PI: branches of two and one hop.
    IP: two branches of one hop and a `tail` of one (structures of GraphWalker Figure 3).
    A `constraint` filters what these lead to."""

    branches: tuple[Branch, ...]
    tail: tuple[Hop, ...] = ()
    constraint: Constraint | None = None
    avoids_topics: bool = False
    """No step comes back to an entity that a branch starts at: what shares a director with a film
    is another film. So MetaQA's answers have it, and the FILTER of many WebQSP and CWQ queries."""

    @property
    def avoided_ids(self) -> frozenset[str]:
        """The ids that no step may find."""
        return frozenset(b.topic.id for b in self.branches) if self.avoids_topics else frozenset()

    @property
    def topics(self) -> tuple[Entity, ...]:
        """The entities that the question names: where branches start, then what is compared to."""
        than = self.constraint.than if self.constraint else None
        return (*(b.topic for b in self.branches), *([than] if than else []))

    @property
    def hops(self) -> int:
        """Longest path from a topic entity to the answers."""
        return max(len(b.hops) for b in self.branches) + len(self.tail)

    @property
    def path(self) -> tuple[str, ...]:
        """What makes two questions the same apart from their entities; branches in sorted order."""
        return self.path_in(str)

    def path_in(self, spelling: Callable[[Hop], str]) -> tuple[str, ...]:
        """Return the path with its hops in another spelling."""
        parts = sorted("/".join(map(spelling, b.hops)) for b in self.branches)
        tail = ["/".join(map(spelling, self.tail))] if self.tail else []
        return (*parts, *tail, *([self.constraint.path] if self.constraint else []))

    @property
    def key(self) -> str:
        """The same for two spellings of one query: topics with the path of each, in any order."""
        branches = sorted("/".join((b.topic.id, *map(str, b.hops))) for b in self.branches)
        constraint = [json.dumps(self.constraint.to_json())] if self.constraint else []
        avoids = ["avoids topics"] if self.avoids_topics else []
        return " & ".join((*branches, *map(str, self.tail), *constraint, *avoids))

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations that it takes, whatever their direction, each once."""
        constraint = self.constraint.relations if self.constraint else ()
        return tuple(dict.fromkeys([*self.hop_relations, *constraint]))

    @property
    def hop_relations(self) -> list[str]:
        """The relation of each hop, branch by branch, the tail last."""
        return [hop.relation for hop in self.all_hops]

    @property
    def all_hops(self) -> tuple[Hop, ...]:
        """Every hop, branch by branch, the tail last."""
        return (*(hop for b in self.branches for hop in b.hops), *self.tail)

    def to_json(self) -> dict[str, Any]:
        constraint = {"constraint": self.constraint.to_json()} if self.constraint else {}
        return {
            "branches": [
                {
                    "topic": {"id": b.topic.id, "name": b.topic.name},
                    "hops": [str(h) for h in b.hops],
                }
                for b in self.branches
            ],
            "tail": [str(h) for h in self.tail],
            **constraint,
            **({"avoids_topics": True} if self.avoids_topics else {}),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "Query":
        """Inverse of `to_json`. Raises `KeyError`, `TypeError` or `ValueError` for what is none."""
        return cls(
            tuple(
                Branch(
                    Entity(b["topic"]["id"], b["topic"]["name"]),
                    tuple(parse_hop(h) for h in b["hops"]),
                )
                for b in record["branches"]
            ),
            tuple(parse_hop(h) for h in record.get("tail", ())),
            Constraint.from_json(record["constraint"]) if record.get("constraint") else None,
            bool(record.get("avoids_topics")),
        )


def stored_query(record: Mapping[str, Any]) -> tuple[Query, tuple[str, ...]] | None:
    """Return the query of a walk's, a question's or a trajectory's record and its relation path as
    splits spell it; `None` where it has none."""
    question: Mapping[str, Any] = record["question"] if "turns" in record else record
    query: Mapping[str, Any] = question.get("query") or {}
    if not query.get("branches"):
        return None
    made = Query.from_json(query)
    return made, tuple(query.get("path") or made.path)


def spellings(query: Query, path: Sequence[str] = ()) -> list[tuple[tuple[Hop, ...], ...]]:
    """Yield for each branch, then the tail, every hop with the inverse relation that says the same,
    as `path` (see `Question.relation_path`) spells it.

    >>> query = Query((Branch(Entity("m.a", "A"), (Hop("parents"), Hop("spouse"))),))
    >>> [list(map(str, hop)) for hop in spellings(query, ["~children/spouse"])[0]]
    [['parents', '~children'], ['spouse']]
    """
    ways = [*(branch.hops for branch in query.branches), query.tail]
    own = ["/".join(map(str, hops)) for hops in ways]
    left = [part for part in path if part not in own]
    found: list[tuple[tuple[Hop, ...], ...]] = []
    for text, hops in zip(own, ways, strict=True):
        same = hops
        if text not in path:
            other = next((p for p in left if p.count("/") == len(hops) - 1), "")
            left = [part for part in left if part != other]
            same = tuple(map(parse_hop, other.split("/"))) if other else hops
        pairs = zip(hops, same, strict=True)
        found.append(tuple(tuple(dict.fromkeys(pair)) for pair in pairs))
    return found


def own_side(hop: Hop) -> tuple[bool, str]:
    """Sorts inverse relations: first the one that goes out of the entity at hand."""
    return hop.direction == Direction.IN, hop.relation


@lru_cache(1 << 16)  # a trajectory names some 60 hops, a graph has few: a third of the reading time
def parse_hop(text: str) -> Hop:
    """Inverse of `str(hop)`."""
    return Hop(text[1:], Direction.IN) if text.startswith("~") else Hop(text)


@dataclass(frozen=True, slots=True)
class Execution:
    """Every frontier of an executed query, in id order: `frontiers[b][k]` after hop k of branch b
    (hop 0 is the topic), `tail_frontiers` after the intersection, then what a constraint kept;
    `answers` is the last one."""

    frontiers: tuple[tuple[tuple[Entity, ...], ...], ...]
    tail_frontiers: tuple[tuple[Entity, ...], ...]

    @property
    def answers(self) -> tuple[Entity, ...]:
        return self.tail_frontiers[-1]

    @property
    def widest(self) -> int:
        """The largest frontier from which a hop is taken: neither what branches end in nor the
        answers."""
        inner = [len(f) for branch in self.frontiers for f in branch[:-1]]
        return max([*inner, *map(len, self.tail_frontiers[:-1])])


def ends_of(
    graph: KnowledgeGraph, start: tuple[Entity, ...], hops: Sequence[Hop], limit: int = 1000
) -> tuple[Entity, ...]:
    """Return what a path finds from a frontier, cut as `execute` cuts it."""
    return _walk(graph, start, hops, limit, frozenset())[-1]


def execute(graph: KnowledgeGraph, query: Query, limit: int = 1000) -> Execution:
    """Run the query. A frontier is cut at `limit` + 1 entities: enough to see it is too wide."""
    branches = tuple(
        tuple(_walk(graph, (branch.topic,), branch.hops, limit, query.avoided_ids))
        for branch in query.branches
    )
    meet = branches[0][-1]
    for other in branches[1:]:
        ids = {entity.id for entity in other[-1]}
        meet = tuple(entity for entity in meet if entity.id in ids)
    tail = _walk(graph, meet, query.tail, limit, query.avoided_ids)
    if query.constraint:
        tail.append(filter_candidates(graph, query.constraint, tail[-1]))
    return Execution(branches, tuple(tail))


def _walk(
    graph: KnowledgeGraph,
    start: tuple[Entity, ...],
    hops: Sequence[Hop],
    limit: int,
    avoided_ids: frozenset[str],
) -> list[tuple[Entity, ...]]:
    frontiers = [start]
    for hop in hops:
        found: dict[str, Entity] = {}
        for entity in frontiers[-1]:
            for neighbor in graph.step(entity.id, hop.relation, hop.direction, limit + 1):
                if neighbor.id not in avoided_ids:
                    found.setdefault(neighbor.id, neighbor)
            if len(found) > limit:
                break
        frontiers.append(in_order(found))
    return frontiers


def in_order(found: Mapping[str, Entity]) -> tuple[Entity, ...]:
    """Return a frontier as an execution gives it, from its entities by their ids.

    >>> [entity.id for entity in in_order({"m.2": Entity("m.2"), "m.1": Entity("m.1")})]
    ['m.1', 'm.2']
    """
    if len(found) < 2:  # most frontiers
        return tuple(found.values())
    return tuple(sorted(found.values(), key=lambda end: end.id))


def sub_queries(query: Query) -> list[Query]:
    """Yield the query without one branch, for the redundancy test; none for a composition."""
    if len(query.branches) < 2:
        return []
    return [
        replace(query, branches=tuple(b for j, b in enumerate(query.branches) if j != i))
        for i in range(len(query.branches))
    ]
