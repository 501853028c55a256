"""Further pages as the oracle turns them: until the list has what it looks for, or is over."""

from collections.abc import Callable, Generator
from typing import Any

from graphwalker.graphs.base import Entity
from graphwalker.oracle import thoughts
from graphwalker.oracle.plan import View
from graphwalker.query.query import Hop
from graphwalker.tools.base import Call
from graphwalker.trajectory import Turn

Do = Callable[[str, Call], Generator[Any, Turn, Turn]]
"""Takes one step of an episode with its thought, and gives the turn that came of it."""


def more_relations(
    view: View, do: Do, turn: Turn, entity: Entity, relation: str, rng: thoughts.Choice
) -> Generator[Any, Turn, None]:
    """After `turn` listed the relations of an entity: page by page until that one is listed.
    Nothing where the tools have no pages, or the entity lacks the relation."""
    page, pages = 2, view.abilities.pages
    while pages and _is_cut(turn) and relation not in view.listed:
        if not view.has(entity, relation):
            break
        call = pages.relations_page(view.name(entity), page)
        seen = view.answered(call)
        turn = seen or (yield from do(thoughts.next_relations(rng), call))
        page += 1


def more_triples(
    view: View, do: Do, turn: Turn, entity: Entity, hop: Hop, rng: thoughts.Choice
) -> Generator[Any, Turn, list[Entity]]:
    """What the hop leads to from an entity: in `turn`, and on further pages where it was cut."""
    found, page, pages = view.found(turn, [entity], hop), 2, view.abilities.pages
    count = len(view.ends_of([entity], hop)) if _is_cut(turn) else 0
    while pages and _is_cut(turn) and len(found) < count:
        call = pages.triples_page(view.name(entity), hop.relation, page)
        seen = view.answered(call)
        turn = seen or (yield from do(thoughts.next_triples(rng), call))
        found += view.found(turn, [entity], hop)
        page += 1
    return found


def _is_cut(turn: Turn) -> bool:
    return turn.hidden > 0 and not turn.error
