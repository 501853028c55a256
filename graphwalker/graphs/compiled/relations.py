"""The relation ids that a graph can show: its own, and flattened ones through its CVT nodes."""

from pathlib import Path

from graphwalker.graphs.base import Direction, Side
from graphwalker.graphs.compiled.open import open_compiled
from graphwalker.graphs.cvt import flat_relations_many


def shown_relations(path: Path | str, entities: int = 20_000) -> list[str]:
    """Sorted ids as the environment lists them, found around `entities` evenly spread ones."""
    graph = open_compiled(Path(path))
    stride = max(1, graph.size // entities)
    found: set[str] = set()
    for index in range(0, graph.size, stride):
        entity = graph.entity_at(index)
        for listed in flat_relations_many(graph, [Side(entity.id, d) for d in Direction]):
            found.update(relation for relation, _ in listed)
    return sorted(found)
