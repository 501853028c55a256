"""The relation ids that a graph can show: its own, and flattened ones through its CVT nodes."""

from pathlib import Path

from graphwalker.graphs.base import Direction
from graphwalker.graphs.compiled import open_graph
from graphwalker.graphs.flatten import flat_relations


def shown_relations(path: Path | str, entities: int = 20_000) -> list[str]:
    """Sorted ids as the environment lists them, found around `entities` evenly spread ones."""
    graph = open_graph(Path(path))
    stride = max(1, graph.size // entities)
    found: set[str] = set()
    for index in range(0, graph.size, stride):
        entity = graph.entity_at(index)
        for direction in Direction:
            found.update(relation for relation, _ in flat_relations(graph, entity.id, direction))
    return sorted(found)
