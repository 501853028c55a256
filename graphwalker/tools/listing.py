"""The listing of an entity: its relations in both directions, without book-keeping."""

import fnmatch
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from graphwalker.errors import UserError
from graphwalker.graphs.base import FLATTENED, Direction, KnowledgeGraph, Side, Step
from graphwalker.query.query import Hop
from graphwalker.tools.settings import WalkerSettings

COMPARED = 1000
"""Entities of a relation up to which it is compared with its inverse."""
HOPS = 1 << 15
"""Hops of one direction that are kept."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The relations around an entity, each direction with its number of entities."""

    out: dict[str, int]
    into: dict[str, int]

    def sides(self, relation: str) -> Iterator[tuple[Direction, int]]:
        """Directions in which the entity has the relation, outgoing first."""
        if relation in self.out:
            yield Direction.OUT, self.out[relation]
        if relation in self.into:
            yield Direction.IN, self.into[relation]

    def hops(self, relations: Sequence[str]) -> tuple[Hop, ...]:
        """Return those relations, each in the directions in which the entity has it."""
        found, out, into = list[Hop](), self.out, self.into
        for relation in relations:
            if relation in out:
                found.append(_OUT[relation])
            if relation in into:
                found.append(_IN[relation])
        return tuple(found)

    @property
    def relations(self) -> tuple[str, ...]:
        return tuple(sorted({*self.out, *self.into}))


class _Hops(dict[str, Hop]):
    """The hops over relations in one direction, each made once."""

    def __init__(self, direction: Direction) -> None:
        super().__init__()
        self._direction = direction

    def __missing__(self, relation: str) -> Hop:
        if len(self) >= HOPS:
            self.clear()
        hop = self[relation] = Hop(relation, self._direction)
        return hop


_OUT, _IN = _Hops(Direction.OUT), _Hops(Direction.IN)


Lister = Callable[[str], Listing]
HiddenTest = Callable[[str], bool]
"""Whether a relation is never shown."""


def lister(graph: KnowledgeGraph, settings: WalkerSettings, remembered: int = 1 << 15) -> Lister:
    """Lists the relations of an entity; episodes that share a lister share what it remembers."""
    shown = _visible_filter(settings.skip_relations)
    if settings.hide_inverse and type(graph).inverse_of is KnowledgeGraph.inverse_of:
        raise UserError("hide_inverse needs inverses: set layers.freebase_schema")

    @lru_cache(maxsize=remembered)
    def list_relations(entity_id: str) -> Listing:
        sides = Side(entity_id, Direction.OUT), Side(entity_id, Direction.IN)
        out, into = map(shown, graph.flat_relations_many(sides))
        if settings.hide_inverse:
            into = _without_inverses(graph, entity_id, out, into)
        return Listing(out, into)

    return list_relations


def _visible_filter(patterns: tuple[str, ...]) -> Callable[[list[tuple[str, int]]], dict[str, int]]:
    """Return what is shown of the relations that a graph lists. A relation is looked at once."""
    is_hidden = hidden_test(patterns)
    known, hidden = set[str](), set[str]()

    def keep_visible(listed: list[tuple[str, int]]) -> dict[str, int]:
        found = dict(listed)
        if not known.issuperset(found):
            hidden.update(filter(is_hidden, found.keys() - known))
            known.update(found)
        if 0 in found.values() or not hidden.isdisjoint(found):
            return {r: n for r, n in listed if n > 0 and r not in hidden}
        return found

    return keep_visible


def _without_inverses(
    graph: KnowledgeGraph, entity_id: str, out: dict[str, int], into: dict[str, int]
) -> dict[str, int]:
    """Return the incoming relations whose entities the inverse relation does not all have, too: two
    of one count may have other members. More than `COMPARED` are not compared, and stay."""
    inverses = {r: graph.inverse_of(r) for r in into}
    pairs = [(r, i) for r, i in inverses.items() if COMPARED >= out.get(i, 0) >= into[r]]
    own = [Step(entity_id, relation, Direction.IN) for relation, _ in pairs]
    other = [Step(entity_id, inverse, Direction.OUT) for _, inverse in pairs]
    ends = [{end.id for end in found} for found in graph.step_many([*own, *other])]
    halves = zip(pairs, ends[: len(pairs)], ends[len(pairs) :], strict=True)
    twice = {relation for (relation, _), here, there in halves if here <= there}
    return {r: n for r, n in into.items() if r not in twice}


@lru_cache(maxsize=64)
def hidden_test(patterns: tuple[str, ...]) -> HiddenTest:
    """Return whether a relation is one that `skip_relations` names."""
    if not patterns:
        return lambda relation: False
    match = re.compile("|".join(map(fnmatch.translate, patterns))).match

    @lru_cache(maxsize=65_536)
    def is_hidden(relation: str) -> bool:
        return any(match(half) for half in relation.split(FLATTENED))

    return is_hidden
