"""A query as a model reads it: with what is in between hidden (the teacher), or shown (a judge)."""

import re
from collections.abc import Sequence
from itertools import count

from data_pipeline.wording.composition.constraints import plain
from data_pipeline.wording.lexicon import Lexicon
from graphwalker.graphs.base import Direction, Entity
from graphwalker.query.query import Execution, Hop, Query

PLACEHOLDER = re.compile(r"\bentity\d+\b", re.IGNORECASE)
"""What stands for an entity in between; the other placeholders are words of English."""
SHOWN = 3
"""Entities of one place of a path that a judge is shown."""


def paths(query: Query) -> str:
    """Return one line a path, placeholders for what is in between and for the answers.

    >>> from graphwalker.query.query import Branch, parse_hop
    >>> from graphwalker.graphs.base import Entity
    >>> hops = (parse_hop("~film.film.directed_by"), parse_hop("film.film.genre"))
    >>> paths(Query((Branch(Entity("m.a", "Anna"), hops),)))
    'Anna <--film.film.directed_by-- entity1 --film.film.genre--> answer'
    """
    names = iter(placeholders(query))
    branches = [[next(names) for _ in branch.hops] for branch in query.branches]
    return _lines(query, branches, [next(names) for _ in query.tail])


def resolved_paths(query: Query, run: Execution) -> str:
    """Return one line a path, with the entities that its execution went through.

    >>> from graphwalker.query.query import Branch, parse_hop
    >>> a, b, c = Entity("m.a", "Anna"), Entity("m.b", "Blue"), Entity("m.c", "Drama")
    >>> hops = (parse_hop("~film.film.directed_by"), parse_hop("film.film.genre"))
    >>> resolved_paths(Query((Branch(a, hops),)), Execution((((a,), (b,), (c,)),), ((c,),)))
    'Anna <--film.film.directed_by-- [Blue] --film.film.genre--> [Drama]'
    """
    branches = [[_list_names(f) for f in frontiers[1:]] for frontiers in run.frontiers]
    tail = [_list_names(frontier) for frontier in run.tail_frontiers[1 : len(query.tail) + 1]]
    lines = _lines(query, branches, tail)
    if len(query.branches) > 1 and not query.tail:
        lines += f"\nShared by all paths: {_list_names(run.tail_frontiers[0])}"
    return f"{lines}\nKept by it: {_list_names(run.answers)}" if query.constraint else lines


def placeholders(query: Query) -> list[str]:
    """Return what stands at the end of each hop, branch by branch, the tail last: `entity1`,
    `shared`, `answer`."""
    numbers = count(1)

    def ends(hops: Sequence[Hop], end: str) -> list[str]:
        return [f"entity{next(numbers)}" for _ in hops[1:]] + [end] * bool(hops)

    end = "shared" if query.tail else "answer"
    found = [name for branch in query.branches for name in ends(branch.hops, end)]
    return found + ends(query.tail, "answer")


def hints(query: Query, lexicon: Lexicon) -> str:
    """Return what each hop says, in the lexicon's plainest words, from which place to which: a
    small model that reads `the director of it` exchanges the roles of a path."""
    ends = iter(placeholders(query))
    paths = [(one_line(branch.topic.name), branch.hops) for branch in query.branches]
    steps: list[str] = []
    for start, hops in (*paths, ("shared", query.tail)):
        for hop in hops:
            phrase = lexicon.entry(hop).phrases[0].replace("{x}", start)
            start = next(ends)
            steps.append(f"{start} is {phrase}")
    constraint = [plain(query.constraint)] if query.constraint else []
    return "; ".join(dict.fromkeys((*steps, *constraint)))


def one_line(name: str) -> str:
    """Return a name without line breaks, so that it stays what it is inside a prompt."""
    return " ".join(name.split())


def _lines(query: Query, branches: Sequence[Sequence[str]], tail: Sequence[str]) -> str:
    lines = [
        _path(one_line(branch.topic.name), branch.hops, ends)
        for branch, ends in zip(query.branches, branches, strict=True)
    ]
    if query.tail:
        lines.append(_path("shared", query.tail, tail))
    if len(lines) > 1:
        lines = [f"Path {number}: {line}" for number, line in enumerate(lines, start=1)]
    if query.constraint:
        lines.append(f"Only the answer that {plain(query.constraint)}")
    return "\n".join(lines)


def _path(start: str, hops: Sequence[Hop], ends: Sequence[str]) -> str:
    parts = [start]
    for hop, end in zip(hops, ends, strict=True):
        forward = hop.direction is Direction.OUT
        parts.append(f"--{hop.relation}-->" if forward else f"<--{hop.relation}--")
        parts.append(end)
    return " ".join(parts)


def _list_names(entities: Sequence[Entity]) -> str:
    names = "; ".join(one_line(entity.name) for entity in entities[:SHOWN])
    more = len(entities) - SHOWN
    return f"[{names}; and {more} more]" if more > 0 else f"[{names}]"
