"""A networkx graph as a knowledge graph."""

from typing import Any

from graphwalker.errors import UserError
from graphwalker.graphs.memory import MemoryGraph


def from_networkx(graph: Any) -> MemoryGraph:
    """The triples of a networkx graph, taken over once: later changes of `graph` are not seen.

    A node's id is its text; its name the attribute `name`, else the id (`name=""` makes a
    mediator); its types the attribute `types`. A relation is the edge's key in a multigraph where
    that is a text, else the edge's attribute `relation`. An undirected edge holds both ways.
    Raises `UserError` naming an edge without a relation.
    """
    ids = {node: str(node) for node in graph}
    names = {ids[node]: str(data.get("name", node)) for node, data in graph.nodes(data=True)}
    types = {ids[n]: list(map(str, d["types"])) for n, d in graph.nodes(data=True) if "types" in d}
    triples: list[tuple[str, str, str]] = []
    for head, tail, *key, data in _edges(graph):
        relation = key[0] if key and isinstance(key[0], str) else data.get("relation")
        if not relation:
            raise UserError(
                f"networkx graph: the edge {head!r} -> {tail!r} has no relation; give it as the "
                "key in a MultiDiGraph, or as the edge attribute `relation`"
            )
        triples.append((ids[head], str(relation), ids[tail]))
        if not graph.is_directed():
            triples.append((ids[tail], str(relation), ids[head]))
    return MemoryGraph(triples, names, types)


def _edges(graph: Any) -> Any:
    if graph.is_multigraph():
        return graph.edges(keys=True, data=True)
    return graph.edges(data=True)
