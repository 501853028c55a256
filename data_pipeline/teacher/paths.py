"""A query as a teacher reads it: its paths, what is in between and the answer hidden."""

from collections.abc import Sequence
from itertools import count

from data_pipeline.wording.constraint_phrases import plain
from data_pipeline.wording.lexicon import Lexicon
from graphwalker.graphs.base import Direction
from graphwalker.query.query import Hop, Query


def paths(query: Query) -> str:
    """One line a path.

    >>> from graphwalker.query.query import Branch, parse_hop
    >>> from graphwalker.graphs.base import Entity
    >>> hops = (parse_hop("~film.film.directed_by"), parse_hop("film.film.genre"))
    >>> paths(Query((Branch(Entity("m.a", "Anna"), hops),)))
    'Anna <--film.film.directed_by-- entity1 --film.film.genre--> answer'
    """
    numbers = count(1)
    end = "shared" if query.tail else "answer"
    lines = [
        _path(one_line(branch.topic.name), branch.hops, end, numbers) for branch in query.branches
    ]
    if query.tail:
        lines.append(_path("shared", query.tail, "answer", numbers))
    if len(lines) > 1:
        lines = [f"Path {number}: {line}" for number, line in enumerate(lines, start=1)]
    if query.constraint:
        lines.append(f"Only the answer that {plain(query.constraint)}")
    return "\n".join(lines)


def hints(query: Query, lexicon: Lexicon) -> str:
    """What each hop means, in the lexicon's plainest words."""
    hops = [hop for branch in query.branches for hop in branch.hops] + list(query.tail)
    phrases = (lexicon.phrases(hop)[0].text.replace("{x}", "it") for hop in hops)
    constraint = [plain(query.constraint)] if query.constraint else []
    return "; ".join(dict.fromkeys((*phrases, *constraint)))


def one_line(name: str) -> str:
    """A name without line breaks, so that it stays what it is inside a prompt."""
    return " ".join(name.split())


def _path(start: str, hops: Sequence[Hop], end: str, numbers: "count[int]") -> str:
    parts = [start]
    for number, hop in enumerate(hops, start=1):
        forward = hop.direction is Direction.OUT
        parts.append(f"--{hop.relation}-->" if forward else f"<--{hop.relation}--")
        parts.append(end if number == len(hops) else f"entity{next(numbers)}")
    return " ".join(parts)
