"""The relation ids that a graph can show: its own, and flattened ones through its CVT nodes."""

from graphwalker.graphs.base import Direction, KnowledgeGraph, Side


def shown_relations(graph: KnowledgeGraph, entities: int = 20_000) -> list[str]:
    """Sorted ids as the environment lists them, found around `entities` evenly spread ones."""
    stride = max(1, graph.size // entities)
    found: set[str] = set()
    for index in range(0, graph.size, stride):
        entity = graph.entity_at(index)
        for listed in graph.flat_relations_many([Side(entity.id, d) for d in Direction]):
            found.update(relation for relation, _ in listed)
    return sorted(found)
