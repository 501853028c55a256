"""Graphs. What a person asks of one by hand, and modules above `base` answer, is put there here."""

from collections.abc import Iterable
from typing import Any

from graphwalker.graphs.base import Entity, KnowledgeGraph, put_above


def _search(graph: KnowledgeGraph, text: str, limit: int) -> list[Entity]:
    from graphwalker.graphs.views.name_index import index_of

    return [found.entity for found in index_of(graph).search(text, limit)]


def _subgraph(
    graph: KnowledgeGraph, entities: str | Entity | Iterable[str | Entity], hops: int
) -> KnowledgeGraph:
    from graphwalker.graphs.memory import subgraph

    return subgraph(graph, entities, hops)


def _sparql(graph: KnowledgeGraph, query: str, timeout_s: float) -> Any:
    from graphwalker.graphs.sparql_engine.engine import ask_sparql

    return ask_sparql(graph, query, timeout_s)


put_above(search=_search, subgraph=_subgraph, sparql=_sparql)
