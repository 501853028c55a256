"""Two bases of backends: graphs whose calls are batches, and graphs that stand over another."""

from abc import abstractmethod
from collections.abc import Sequence

from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, Side, Step, Triple
from graphwalker.graphs.triples import triple


class BatchedGraph(KnowledgeGraph):
    """The other way round than `KnowledgeGraph`, whose batches are made of single calls."""

    def relations(self, entity_id: str, direction: Direction) -> list[tuple[str, int]]:
        return self.relations_many([Side(entity_id, direction)])[0]

    def neighbors(
        self, entity_id: str, relation: str, direction: Direction, limit: int | None = None
    ) -> list[Entity]:
        return self.neighbors_many([Step(entity_id, relation, direction, limit)])[0]

    def triples(
        self,
        entity_id: str,
        relations: Sequence[str],
        direction: Direction,
        limit: int | None = None,
    ) -> list[Triple]:
        return self.triples_many([Side(entity_id, direction)], relations, limit)[0]

    @abstractmethod
    def relations_many(self, sides: Sequence[Side]) -> list[list[tuple[str, int]]]: ...

    @abstractmethod
    def neighbors_many(self, steps: Sequence[Step]) -> list[list[Entity]]: ...

    def triples_many(
        self,
        sides: Sequence[Side],
        relations: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[list[Triple]]:
        over = [relations] * len(sides)
        if relations is None:
            over = [[r for r, _ in found] for found in self.relations_many(sides)]
        heads = map(Entity, [i for i, _ in sides], self.names_many([i for i, _ in sides]))
        steps = [
            [Step(i, r, d, limit) for r in rs or ()] for (i, d), rs in zip(sides, over, strict=True)
        ]
        ends = iter(self.neighbors_many([step for of_side in steps for step in of_side]))
        return [
            [
                triple(head, step.relation, end, step.direction)
                for step in of_side
                for end in next(ends)
            ]
            for head, of_side in zip(heads, steps, strict=True)
        ]


class OverGraph(KnowledgeGraph):
    """A graph that stands over `graph`: it lists the same entities and relations."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self.graph = graph
        self.checksum, self.size, self.path = graph.checksum, graph.size, graph.path

    def entity_at(self, index: int) -> Entity:
        return self.graph.entity_at(index)

    def relation_ids(self) -> list[str]:
        return self.graph.relation_ids()

    def info(self) -> dict[str, int | str]:
        return self.graph.info()
