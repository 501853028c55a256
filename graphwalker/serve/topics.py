"""Topic entities for people who type: found in the question, or completed from a few letters."""

from threading import Lock

from graphwalker.graphs.base import Entity, KnowledgeGraph
from graphwalker.graphs.views.name_index import NameIndex, index_of
from graphwalker.serve.ask import find_topics

MOST_NAMES = 8
LONGEST_NAME = 100
"""Characters of a name that are looked up."""


def topic_candidates(graph: KnowledgeGraph, text: str) -> list[dict[str, object]]:
    """The entities that a question names, each with all those of its name. Raises `GraphError`."""
    found = find_topics(graph, text)
    return [
        {
            **describe(graph, entity),
            "candidates": [describe(graph, e) for e in graph.resolve(entity.name)[:MOST_NAMES]],
        }
        for entity in found
    ]


def describe(graph: KnowledgeGraph, entity: Entity) -> dict[str, str]:
    """An entity as a list shows it: its id, name and first type."""
    return {"id": entity.id, "name": entity.name, "kind": next(iter(graph.types(entity.id)), "")}


class NameCompletion:
    """The names of a graph, searched as they are typed. The index is made with the first search;
    a large graph needs one beside it (`graphwalker graph index`), else names are found whole."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self._graph = graph
        self._index: NameIndex | None = None
        self._lock = Lock()

    def complete(self, typed: str) -> list[dict[str, str]]:
        """The entities whose names look most like what was typed. Raises `GraphError`."""
        typed = typed.strip()[:LONGEST_NAME]
        if not typed:
            return []
        with self._lock:
            self._index = self._index or index_of(self._graph)
        near = [hit.entity for hit in self._index.search(typed, MOST_NAMES)]
        exact = self._graph.resolve(typed)[:MOST_NAMES]
        return [describe(self._graph, e) for e in list(dict.fromkeys([*exact, *near]))[:MOST_NAMES]]
