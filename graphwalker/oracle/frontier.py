"""A hop from many entities in one call, where they are a result that a call may start at."""

from collections.abc import Generator, Sequence
from typing import Any

from graphwalker.graphs.base import Entity
from graphwalker.oracle import thoughts
from graphwalker.oracle.pages import Do, is_cut
from graphwalker.oracle.plan import Start, View
from graphwalker.oracle.speakers import Pages
from graphwalker.query.query import Hop
from graphwalker.tools.base import Call, fits
from graphwalker.trajectory import Turn


def frontier_hop(
    view: View,
    do: Do,
    starts: Sequence[Start],
    hop: Hop,
    phrase: str,
    why: str,
    rng: thoughts.Choice,
) -> Generator[Any, Turn, list[Entity]]:
    """What a hop leads to from all of these; nothing where it was never listed."""
    for start in starts:
        yield from _look(view, do, start, hop, why or _moving(starts, start, phrase, rng), rng)
        why = ""
        if hop.relation in view.listed:
            break
    else:
        return []
    found: dict[str, Entity] = {}
    # One that leads nowhere would only be refused.
    leading = [start for start in starts if view.ends_of(start.members, hop)]
    for k, start in enumerate(leading):
        chosen = thoughts.choose(phrase, [hop.relation], rng)
        moved = chosen if k == 0 else _moving(starts, start, phrase, rng)
        ends = yield from _ask(view, do, start, hop, moved, rng)
        found |= {end.id: end for end in ends}
    return list(found.values())


def _moving(starts: Sequence[Start], start: Start, phrase: str, rng: thoughts.Choice) -> str:
    if len(start.members) > 1:
        return thoughts.move_all(len(start.members), phrase, rng)
    return thoughts.move_many(sum(len(s.members) for s in starts), start.name, phrase, rng)


def _look(
    view: View, do: Do, start: Start, hop: Hop, why: str, rng: thoughts.Choice
) -> Generator[Any, Turn, None]:
    """The relations of a start, page by page until the hop's is listed."""
    speaker, page = view.speaker, 2
    turn = yield from _turn(view, do, speaker.relations(start.name), why)
    while (
        is_cut(turn)
        and fits(speaker, Pages)
        and hop.relation not in view.listed
        and view.ends_of(start.members, hop)
    ):
        call = speaker.relations_page(start.name, page)
        turn, page = (yield from _turn(view, do, call, thoughts.next_relations(rng))), page + 1


def _ask(
    view: View, do: Do, start: Start, hop: Hop, why: str, rng: thoughts.Choice
) -> Generator[Any, Turn, list[Entity]]:
    """What the hop leads to from a start, on all pages."""
    speaker, page = view.speaker, 2
    call = speaker.triples(start.name, hop.relation, hop.direction)
    turn = yield from _turn(view, do, call, why)
    found, count = view.found_from(turn, start.members, hop), len(view.ends_of(start.members, hop))
    while is_cut(turn) and fits(speaker, Pages) and len(found) < count:
        call = speaker.triples_page(start.name, hop.relation, page)
        turn, page = (yield from _turn(view, do, call, thoughts.next_triples(rng))), page + 1
        found += view.found_from(turn, start.members, hop)
    return found


def _turn(view: View, do: Do, call: Call, why: str) -> Generator[Any, Turn, Turn]:
    return view.answered(call) or (yield from do(why, call))
