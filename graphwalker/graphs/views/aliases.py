"""Name resolution by alias too, over any graph; and which namesakes an answer stands among."""

from collections.abc import Sequence

from graphwalker.graphs.base import Entity, KnowledgeGraph
from graphwalker.graphs.views.filtered import FilteredGraph
from graphwalker.graphs.views.name_index import NameIndex


class AliasedGraph(FilteredGraph):
    """`graph` whose `resolve` also finds the aliases of an index: names first, then aliases,
    each exact before case-folded, most types, then id."""

    def __init__(self, graph: KnowledgeGraph, index: NameIndex) -> None:
        super().__init__(graph)
        self._index = index

    def resolve(self, name: str) -> list[Entity]:
        by_name = self.graph.resolve(name)
        known = {entity.id for entity in by_name}
        by_alias = [e.id for e in self._index.resolve(name) if e.id not in known]
        names = self.graph.names_many(by_alias) if by_alias else []
        return by_name + [Entity(i, n) for i, n in zip(by_alias, names, strict=True)]


def namesakes(candidates: Sequence[Entity], name: str) -> list[Entity]:
    """The candidates among which the first was chosen for no better reason than its types or id:
    those written exactly as `name` where there are any, else all."""
    exact = [entity for entity in candidates if entity.name == name]
    return exact or list(candidates)
