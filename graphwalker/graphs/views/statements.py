"""Wikidata's statements as nodes under names of their own, so that qualifiers keep to them."""

from collections.abc import Iterable, Sequence

from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, Side, Step, Triple
from graphwalker.graphs.batched import BatchedGraph, OverGraph

ENTITY = "http://www.wikidata.org/entity/"
STATEMENT = f"{ENTITY}statement/"
VALUE = "http://www.wikidata.org/prop/statement/"
"""What stands before the PID in the relation from a statement to its main value."""


class StatementGraph(OverGraph, BatchedGraph):
    """A graph of Wikidata's IRIs whose statements are called by what they say: `educated at: St
    John's College`. An agent walks to one and finds its qualifiers there, and there only.

    The names of all statements in an answer cost two batched calls. They are for display: `resolve`
    does not find them.
    """

    def __init__(self, graph: KnowledgeGraph) -> None:
        super().__init__(graph)
        self._labels: dict[str, str] = {}

    def leads_to_cvts(self, relation: str, direction: Direction) -> bool:
        return False

    def is_cvt_end(self, end: Entity, relation: str, direction: Direction) -> bool:
        return False

    def resolve(self, name: str) -> list[Entity]:
        return self.graph.resolve(name)

    def name(self, entity_id: str) -> str:
        return self.names_many([entity_id])[0]

    def names_many(self, entity_ids: Sequence[str]) -> list[str]:
        plain = self.graph.names_many(entity_ids)
        names = self._names(entity_ids)
        return [names.get(one, name) for one, name in zip(entity_ids, plain, strict=True)]

    def types(self, entity_id: str) -> list[str]:
        return self.graph.types(entity_id)

    def relations_many(self, sides: Sequence[Side]) -> list[list[tuple[str, int]]]:
        return self.graph.relations_many(sides)

    def count(self, entity_id: str, relation: str, direction: Direction) -> int:
        return self.graph.count(entity_id, relation, direction)

    def neighbors_many(self, steps: Sequence[Step]) -> list[list[Entity]]:
        found = self.graph.neighbors_many(steps)
        names = self._names(end.id for ends in found for end in ends)
        return [[_renamed(end, names) for end in ends] for ends in found]

    def triples_many(
        self,
        sides: Sequence[Side],
        relations: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[list[Triple]]:
        found = self.graph.triples_many(sides, relations, limit)
        names = self._names(e.id for triples in found for t in triples for e in (t.head, t.tail))
        return [
            [Triple(_renamed(t.head, names), t.relation, _renamed(t.tail, names)) for t in triples]
            for triples in found
        ]

    def _names(self, entity_ids: Iterable[str]) -> dict[str, str]:
        """The names of those that are statements with a value."""
        wanted = list(dict.fromkeys(i for i in entity_ids if i.startswith(STATEMENT)))
        if not wanted:
            return {}
        around = self.graph.triples_many([Side(one, Direction.OUT) for one in wanted])
        values = {
            one: next((t for t in triples if t.relation.startswith(VALUE)), None)
            for one, triples in zip(wanted, around, strict=True)
        }
        found = {one: triple for one, triple in values.items() if triple is not None}
        self._learn(triple.relation.removeprefix(VALUE) for triple in found.values())
        return {one: self._statement_name(triple) for one, triple in found.items()}

    def _statement_name(self, triple: Triple) -> str:
        pid = triple.relation.removeprefix(VALUE)
        return f"{self._labels[pid] or pid}: {triple.tail.name or triple.tail.id}"

    def _learn(self, pids: Iterable[str]) -> None:
        """Ask the graph for the labels of properties that have none yet, all in one call."""
        new = sorted(set(pids) - self._labels.keys())
        if new:
            names = self.graph.names_many([ENTITY + pid for pid in new])
            self._labels.update(zip(new, names, strict=True))


def _renamed(entity: Entity, names: dict[str, str]) -> Entity:
    return Entity(entity.id, names[entity.id]) if entity.id in names else entity
