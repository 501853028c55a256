"""A knowledge graph in dicts: for small graphs, and the reference that others must equal."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from types import MappingProxyType

from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, Side, Triple
from graphwalker.graphs.browse import find
from graphwalker.graphs.literals import is_literal, literal_name
from graphwalker.graphs.names import fold, names_nothing
from graphwalker.graphs.triples import ByDirection

_NO_TYPES: Mapping[str, Sequence[str]] = MappingProxyType({})


class MemoryGraph(KnowledgeGraph):
    """A `KnowledgeGraph` built at once from triples of ids, names by id and types by id.

    >>> graph = MemoryGraph([("m.1", "film.film.directed_by", "m.2")], {"m.1": "Alien"})
    >>> graph.neighbors("m.1", "film.film.directed_by", Direction.OUT)
    [Entity(id='m.2', name='')]
    """

    def __init__(
        self,
        triples: Iterable[tuple[str, str, str]],
        names: Mapping[str, str],
        types: Mapping[str, Sequence[str]] = _NO_TYPES,
    ) -> None:
        facts = sorted(set(triples))
        self._triples = len(facts)
        for head, relation, tail in facts:
            if is_literal(head):
                raise UserError(f"a literal cannot be a head: {head} {relation} {tail}")
        self._names = {i: name for i, name in names.items() if name and not is_literal(i)}
        self._types = {i: sorted(set(found)) for i, found in types.items()}
        self._sides = ByDirection(
            {
                Direction.OUT: _group(facts),
                Direction.IN: _group((t, r, h) for h, r, t in facts if not is_literal(t)),
            }
        )
        self._named = sorted(i for i, name in self._names.items() if not names_nothing(name))
        self.size = len(self._named)
        self._folded: dict[str, list[str]] = defaultdict(list)
        for entity_id in sorted(self._names):
            self._folded[fold(self._names[entity_id])].append(entity_id)
        self.checksum = _checksum(facts, self._names, self._types)
        self._relations = sorted({relation for _, relation, _ in facts})
        self._to_cvts = {
            Direction.OUT: {r for _, r, t in facts if self._is_cvt(t)},
            Direction.IN: {r for h, r, t in facts if self._is_cvt(h) and not is_literal(t)},
        }

    def info(self) -> dict[str, int | str]:
        """Counts and the checksum."""
        return {
            "entities": self.size,
            "relations": len(self._relations),
            "triples": self._triples,
            "checksum": self.checksum,
        }

    def entity_at(self, index: int) -> Entity:
        """Return the named entity at that place in id order, `0 <= index < size`."""
        if not 0 <= index < len(self._named):
            raise IndexError(index)
        return self._entity(self._named[index])

    def relation_ids(self) -> list[str]:
        """Return every relation of the graph, sorted."""
        return list(self._relations)

    def leads_to_cvts(self, relation: str, direction: Direction) -> bool:
        """True where a triple of that relation has a CVT node on its other end."""
        return relation in self._to_cvts[direction]

    def resolve(self, name: str) -> list[Entity]:
        """Return all entities of that name; literals have no names to be found by."""
        found = self._folded.get(fold(name), ()) if name else ()
        best_first = sorted(
            found, key=lambda i: (self._names[i] != name, -len(self._types.get(i, ())), i)
        )
        return [self._entity(i) for i in best_first]

    def name(self, entity_id: str) -> str:
        return literal_name(entity_id) if is_literal(entity_id) else self._names.get(entity_id, "")

    def relations(self, entity_id: str, direction: Direction) -> list[tuple[str, int]]:
        groups = self._sides[direction].get(entity_id, {})
        return [(relation, len(ends)) for relation, ends in groups.items()]

    def count(self, entity_id: str, relation: str, direction: Direction) -> int:
        return len(self._ends(entity_id, relation, direction))

    def neighbors(
        self, entity_id: str, relation: str, direction: Direction, limit: int | None = None
    ) -> list[Entity]:
        return [self._entity(i) for i in self._ends(entity_id, relation, direction)[:limit]]

    def types(self, entity_id: str) -> list[str]:
        return list(self._types.get(entity_id, ()))

    def _entity(self, entity_id: str) -> Entity:
        return Entity(entity_id, self.name(entity_id))

    def _ends(self, entity_id: str, relation: str, direction: Direction) -> Sequence[str]:
        return self._sides[direction].get(entity_id, {}).get(relation, ())

    def _is_cvt(self, entity_id: str) -> bool:
        return not is_literal(entity_id) and names_nothing(self._names.get(entity_id, ""))


def _group(facts: Iterable[tuple[str, str, str]]) -> dict[str, dict[str, list[str]]]:
    groups: dict[str, dict[str, list[str]]] = {}
    for here, relation, other in sorted(facts):
        groups.setdefault(here, {}).setdefault(relation, []).append(other)
    return groups


def _checksum(facts: Iterable[tuple[str, str, str]], *of_ids: Mapping[str, object]) -> str:
    digest = blake2b(digest_size=16)
    for row in (*facts, *(item for known in of_ids for item in sorted(known.items()))):
        digest.update(repr(row).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def subgraph(
    graph: KnowledgeGraph, entities: str | Entity | Iterable[str | Entity], hops: int
) -> MemoryGraph:
    """Return the triples within so many hops of some entities, given by names or ids."""
    given = [entities] if isinstance(entities, str | Entity) else entities
    reached = dict.fromkeys(find(graph, text).id for text in given)
    kept: dict[Triple, None] = {}
    for _ in range(hops):
        found = graph.triples_many([Side(one, d) for one in reached for d in Direction])
        kept.update(dict.fromkeys(fact for side in found for fact in side))
        ends = (end.id for fact in kept for end in (fact.head, fact.tail))
        reached = dict.fromkeys(end for end in ends if not is_literal(end))
    names = {end.id: end.name for fact in kept for end in (fact.head, fact.tail)}
    return MemoryGraph([(f.head.id, f.relation, f.tail.id) for f in kept], names)
