"""A networkx graph as a knowledge graph."""

from collections.abc import Iterator
from typing import Any

from graphwalker.errors import UserError
from graphwalker.graphs.memory import MemoryGraph


def from_networkx(graph: Any) -> MemoryGraph:
    """Get the triples of a networkx graph, taken over once: later changes of `graph` are not seen.

    A node's id is its text; its name the attribute `name`, else the id (`name=""` makes a
    mediator); its types the attribute `types`. A relation is the edge's attribute `relation`, else
    its key in a multigraph where that is a text and no edge's id, else its attribute `label`.
    An undirected edge holds both ways. Raises `UserError` naming an edge without a relation.
    """
    ids = {node: str(node) for node in graph}
    names = {ids[node]: str(data.get("name", node)) for node, data in graph.nodes(data=True)}
    types = {ids[n]: list(map(str, d["types"])) for n, d in graph.nodes(data=True) if "types" in d}
    triples = [(head, relation, tail) for head, relation, tail, _ in edge_relations(graph)]
    return MemoryGraph(triples, names, types)


def edge_relations(graph: Any) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Yield each edge as head, relation, tail and attributes; an undirected one both ways. Raises
    `UserError` naming an edge without a relation."""
    edges = [
        (head, tail, key[0] if key else None, data) for head, tail, *key, data in _edges(graph)
    ]
    are_ids = len(edges) > 1 and len({key for *_, key, _ in edges}) == len(edges)
    for head, tail, key, data in edges:
        relation = _relation(key, data, are_ids)
        if not relation:
            raise UserError(
                f"networkx graph: the edge {head!r} -> {tail!r} has no relation; give it as the "
                "edge attribute `relation`, or as the key in a MultiDiGraph"
            )
        yield str(head), str(relation), str(tail), data
        if not graph.is_directed():
            yield str(tail), str(relation), str(head), data


def _relation(key: Any, data: dict[str, Any], keys_are_ids: bool) -> Any:
    # GraphML and GEXF give edges ids, and their readers make those the keys of a multigraph.
    is_number = not isinstance(key, str) or key.isdigit() or key == data.get("id")
    named, label = "" if is_number else key, data.get("label")
    return data.get("relation") or ((label or named) if keys_are_ids else (named or label))


def _edges(graph: Any) -> Any:
    if graph.is_multigraph():
        return graph.edges(keys=True, data=True)
    return graph.edges(data=True)
