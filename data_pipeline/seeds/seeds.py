"""Seeds: where walks may start, which predicates they may take, and the draws among them."""

import json
import random
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from data_pipeline.seeds.shares import read_shares, relations_of
from graphwalker.errors import UserError
from graphwalker.files import json_fault, open_text
from graphwalker.graphs.base import FLATTENED, Entity, KnowledgeGraph
from graphwalker.graphs.ntriples import FREEBASE
from graphwalker.query.query import Hop
from graphwalker.tools.listing import Lister

NO_NAMES = (
    "the graph has no named entities to start a walk from; build it with "
    "`graphwalker graph build --names FILE` (TSV: id, name)"
)
KEPT = 1 << 15
"""Entities that were drawn and are kept: all of a small graph."""


class Seeds:
    """The seed set E and the predicate set P of GraphWalker Algorithm 1; by default the graph's."""

    def __init__(self, graph: KnowledgeGraph, entities: str = "", predicates: str = "") -> None:
        self._entities = _named_entities(graph, entities) if entities else []
        self._at = self._entities.__getitem__ if entities else lru_cache(KEPT)(graph.entity_at)
        self._having: dict[str, list[Entity]] = {}
        """Of hops with a share, the entities that have them."""
        self.size = len(self._entities) or graph.size
        """How many entities may be drawn."""
        self._predicates = frozenset(relations_in(predicates)) if predicates else None
        self.shares = read_shares(predicates) if predicates else None
        if not self._entities and graph.size == 0:
            raise UserError(NO_NAMES)
        known = frozenset(graph.relation_ids()) if self._predicates is not None else None
        if known and not self._matches(known):
            raise UserError(
                f"{predicates}: none of its {len(self._predicates or ())} predicates is a relation "
                "of the graph; `graphwalker seeds FILE --graph D` keeps those that are"
            )

    def draw(self, rng: random.Random, usable: Callable[[str], bool], tries: int) -> Entity | None:
        """Draw a usable entity uniformly; `None` when `tries` draws find none."""
        for _ in range(tries):
            entity = self._at(rng.randrange(self.size))
            if usable(entity.id):
                return entity
        return None

    def index(self, listed: Lister, most: int) -> None:
        """Note which seeds have which hops, where hops have shares. A hop to more than `most`
        entities is none of a walk."""
        for place in range(self.size) if self.shares and self._entities else ():
            entity = self._entities[place]
            for name in self.shares.names_at(listed(entity.id), most) if self.shares else ():
                self._having.setdefault(name, []).append(entity)

    def draw_start(
        self,
        rng: random.Random,
        usable: Callable[[str], bool],
        tries: int,
        avoided: frozenset[str] = frozenset(),
    ) -> tuple[Entity, tuple[Hop, ...]] | None:
        """Return an entity to start from and the hop to take first, in its spellings; no hop where
        hops have no shares. `None` when `tries` draws find none."""
        if not self.shares or not self._having:
            entity = self.draw(rng, usable, tries)
            return (entity, ()) if entity else None
        for _ in range(tries):
            hop = self.shares.draw(rng)
            topics = self._having.get(str(hop))
            if topics and str(hop) not in avoided and usable((topic := rng.choice(topics)).id):
                return topic, self.shares.spellings[hop]
        return None

    def spread(self, most: int) -> list[str]:
        """Return ids of at most so many entities, evenly spread over all that may be drawn."""
        step = max(1, -(-self.size // most))
        return [self._at(index).id for index in range(0, self.size, step)]

    def allows(self, relation: str) -> bool:
        """Return whether a walk may take the relation (both halves, when it is flattened)."""
        if self._predicates is None or relation in self._predicates:
            return True
        halves = relation.split(FLATTENED)
        return len(halves) == 2 and all(half in self._predicates for half in halves)

    def takes(self, hop: Hop) -> bool:
        """Return whether a walk may take the hop: where hops have shares, one that has."""
        return hop in self.shares if self.shares else self.allows(hop.relation)

    def _matches(self, relations: frozenset[str]) -> bool:
        """Return whether any relation, plain or flattened, is left to walk over."""
        assert self._predicates is not None
        return any(map(self.allows, relations)) or any(
            relations.issuperset(one.split(FLATTENED)) for one in self._predicates
        )


def lines_of(path: str) -> list[str]:
    """Return the ids of a seed file: one a line or a JSON list, plain or .gz; of Freebase IRIs the
    local part. Raises `UserError` for none, or for a file that is no text."""
    with open_text(path) as file:
        text = file.read()
    if text.lstrip().startswith("["):
        found = _json_list(text, path)
    else:
        found = [line.strip() for line in text.splitlines() if line.strip()]
    if not found:
        raise UserError(f"{path}: empty; write one id a line")
    return [one.removeprefix(FREEBASE) for one in found]


def relations_in(path: str) -> list[str]:
    """Return the relations of a predicates file, whose lines may give weights (`read_shares`)."""
    return [relation for line in lines_of(path) for relation in relations_of(line)]


def _json_list(text: str, path: str) -> list[str]:
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not JSON ({json_fault(error)})") from None
    if not all(isinstance(one, str) for one in found):
        raise UserError(f"{path}: a JSON list of ids holds strings only")
    return found


def _named_entities(graph: KnowledgeGraph, source: str) -> list[Entity]:
    ids = lines_of(source)
    names = graph.names_many(ids)
    for entity_id, name in zip(ids, names, strict=True):
        if not name:
            raise UserError(f"{source}: {entity_id!r} is not a named entity of this graph")
    return list(map(Entity, ids, names))
