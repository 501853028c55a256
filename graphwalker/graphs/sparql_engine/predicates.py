"""Predicates: what one edge of the graph joins, over a relation, a name, a type, or any of them."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, pairwise
from typing import Any

import numpy as np

from graphwalker.graphs.literals import literal_id, literal_name
from graphwalker.graphs.sparql_engine.terms import CHUNK, QueryTerms

EdgeEnds = tuple[int, int]


class PredicateEdges:
    """Edges of one predicate, by the numbers of their ends: those of a relation, and the names of
    nodes in English or their types where these stand under it. Counts are for choosing an order."""

    def __init__(self, terms: QueryTerms, number: int) -> None:
        self._terms, self._graph = terms, terms.graph
        self._relation = self._graph.relation_at.get(number)
        self._is_name = number in self._graph.name_predicates
        self._is_kind = number in self._graph.kind_predicates
        self._heads: dict[int, list[int]] = {}

    def forward(self, head: int) -> Iterable[int]:
        found = self._ends(self._graph.out, head)
        return chain(found, self._names_or_types(head)) if self._is_name or self._is_kind else found

    def backward(self, tail: int) -> Iterable[int]:
        is_literal = self._graph.is_literal(tail)
        if is_literal and self._relation is not None:
            self.find_heads((tail,))
        found = self._heads.get(tail, ()) if is_literal else self._ends(self._graph.into, tail)
        if self._is_name:
            return chain(found, self._nodes_of_name(tail))
        return chain(found, self._nodes_of_kind(tail)) if self._is_kind else found

    def has(self, head: int, tail: int) -> bool:
        start, end = self._run(self._graph.out, head)
        nodes = self._graph.out.nodes
        at = bisect_left(nodes, tail, start, end)
        return (at < end and nodes[at] == tail) or tail in self._names_or_types(head)

    def count_forward(self, head: int) -> int:
        start, end = self._run(self._graph.out, head)
        return end - start + 2 * (self._is_name or self._is_kind)

    def count_backward(self, tail: int) -> int:
        start, end = self._run(self._graph.into, tail)
        found = self._edges() if self._graph.is_literal(tail) else end - start
        return found + 2 * self._is_name + (self._is_kind and self._count_of_kind(tail))

    def total(self) -> int:
        nodes = map(len, self._graph.nodes_of_types if self._is_kind else ())
        return self._edges() + self._graph.nodes * self._is_name + sum(nodes)

    def scan(self) -> Iterator[EdgeEnds]:
        for heads, tails in self._chunks():
            yield from zip(heads.tolist(), tails.tolist(), strict=True)
        if self._is_kind:
            kinds = self._graph.kinds
            yield from ((head, kind) for kind in kinds for head in self._nodes_of_kind(kind))
        rows = self._graph.rows
        for head in chain(range(rows.first), range(rows.end, self._graph.nodes)):
            if not self._is_name:
                break
            if not head & 1023:
                self._terms.check()
            yield from ((head, name) for name in self._names_or_types(head))

    def find_heads(self, tails: Collection[int]) -> None:
        """Look for the heads of literals, which are known from their heads alone, in one pass:
        `backward` of each is asked next."""
        wanted = [tail for tail in tails if tail not in self._heads]
        self._heads.update({tail: [] for tail in wanted})
        values = np.array(wanted)
        for heads, ends in self._chunks() if wanted else ():
            hit = np.isin(ends, values)
            for head, tail in zip(heads[hit].tolist(), ends[hit].tolist(), strict=True):
                self._heads[tail].append(head)

    def _chunks(self) -> Iterator[tuple[Any, Any]]:
        """Heads and tails of all edges of the relation."""
        side, rows = self._graph.out, self._graph.rows
        for first in range(0, len(side.nodes) if self._edges() else 0, CHUNK):
            self._terms.check()
            found = np.flatnonzero(side.relation_array[first : first + CHUNK] == self._relation)
            if len(found):
                places = (first + found).astype(side.start_array.dtype)
                heads = np.searchsorted(side.start_array, places, side="right") - 1
                yield np.where(heads < rows.first, heads, heads + rows.gap), side.node_array[places]

    def _edges(self) -> int:
        totals = self._graph.relation_totals
        return 0 if self._relation is None else int(totals[self._relation])

    def _run(self, side: Any, node: int) -> tuple[int, int]:
        if self._relation is None or not 0 <= node < self._graph.nodes:
            return 0, 0
        return side.run(node, self._relation)

    def _ends(self, side: Any, node: int) -> Iterable[int]:
        start, end = self._run(side, node)
        if end - start > CHUNK:
            return self._terms.in_chunks(side.nodes, start, end)
        return side.nodes[start:end].tolist()

    def _names_or_types(self, head: int) -> list[int]:
        """The name or the types of a node."""
        if not 0 <= head < self._graph.nodes:
            return []
        if self._is_kind:
            return [self._graph.kinds[kind] for kind in self._graph.types(head)]
        name = self._graph.name(head) if self._is_name else ""
        return [self._terms.encode_id(literal_id(name, "@en"))] if name else []

    def _nodes_of_name(self, tail: int) -> list[int]:
        text = self._terms.id_of(tail)
        if not text.endswith('"@en'):
            return []
        name = literal_name(text)
        found = self._graph.graph.resolve(name)
        return [self._graph.graph.node_number(e.id) for e in found if e.name == name]

    def _nodes_of_kind(self, tail: int) -> Iterator[int]:
        kind = self._graph.kind_at.get(tail)
        nodes = () if kind is None else self._graph.nodes_of_types[kind]
        return self._terms.in_chunks(nodes, 0, len(nodes))

    def _count_of_kind(self, tail: int) -> int:
        kind = self._graph.kind_at.get(tail)
        return 0 if kind is None else len(self._graph.nodes_of_types[kind])


class Predicates(dict[int, PredicateEdges]):
    """The predicates of a query by number; made when they are asked for."""

    def __init__(self, terms: QueryTerms) -> None:
        super().__init__()
        self.terms, self._graph = terms, terms.graph
        self._special = (*terms.graph.name_predicates, *terms.graph.kind_predicates)

    def __missing__(self, number: int) -> PredicateEdges:
        self[number] = PredicateEdges(self.terms, number)
        return self[number]

    def around(self, node: int, out: bool) -> Iterator[tuple[int, Iterable[int]]]:
        """The predicates of a node on one side, each with the nodes at the other end."""
        graph, special = self._graph, self._special
        if not out and self.terms.is_literal(node):
            every = [n for n in graph.relations if n not in special] if node >= 0 else []
            for number in (*every, *special):
                yield number, self[number].backward(node)
            return
        if 0 <= node < graph.nodes:
            side = graph.out if out else graph.into
            relations, starts = side.around(node)
            for relation, (start, end) in zip(relations, pairwise(starts), strict=True):
                if graph.relations[relation] not in special:
                    yield graph.relations[relation], self.terms.in_chunks(side.nodes, start, end)
        for number in special:
            yield number, self[number].forward(node) if out else self[number].backward(node)

    def degree(self, node: int, out: bool) -> int:
        """How many edges a node has on one side, about."""
        if not 0 <= node < self._graph.nodes:
            return 1
        if self.terms.is_literal(node):
            return 1 if out else self._graph.nodes
        starts = (self._graph.out if out else self._graph.into).around(node)[1]
        return starts[-1] - starts[0] + 1

    def all(self) -> Iterator[tuple[int, int, int]]:
        """Every triple."""
        for head in range(self._graph.nodes):
            if not head & 1023:
                self.terms.check()
            for predicate, tails in self.around(head, True):
                for tail in tails:
                    yield head, predicate, tail

    def all_nodes(self) -> Iterator[int]:
        """Every subject and object, each once."""
        graph, seen = self._graph, set[int]()
        yield from range(graph.nodes)
        for number in self._special:
            for _, tail in self[number].scan():
                if not 0 <= tail < graph.nodes and tail not in seen:
                    seen.add(tail)
                    self.terms.hold()
                    yield tail
