"""Predicates: what one edge of the graph joins, over a relation, a name, a type, or any of them."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from graphwalker.graphs.literals import literal_id, literal_name
from graphwalker.graphs.sparql_engine.terms import CHUNK, QueryTerms

EdgeEnds = tuple[int, int]


class PredicateEdges:
    """Edges of one predicate, by the numbers of their ends; counts are for choosing an order."""

    def __init__(self, terms: QueryTerms) -> None:
        self._terms, self._graph = terms, terms.graph

    def forward(self, head: int) -> Iterable[int]:
        return ()

    def backward(self, tail: int) -> Iterable[int]:
        return ()

    def scan(self) -> Iterable[EdgeEnds]:
        return ()

    def has(self, head: int, tail: int) -> bool:
        return tail in self.forward(head)

    def count_forward(self, head: int) -> int:
        return 2

    def count_backward(self, tail: int) -> int:
        return 2

    def total(self) -> int:
        return self._graph.nodes

    def find_heads(self, tails: Collection[int]) -> None:
        """Look for the heads of literals in one pass: `backward` of each is asked next."""


class RelationEdges(PredicateEdges):
    """The edges of a relation. A literal's edges are known from their heads alone."""

    def __init__(self, terms: QueryTerms, relation: int) -> None:
        super().__init__(terms)
        self._relation = relation
        self._heads: dict[int, list[int]] = {}

    def forward(self, head: int) -> Iterable[int]:
        return self._ends(self._graph.out, head)

    def backward(self, tail: int) -> Iterable[int]:
        if self._graph.is_literal(tail):
            if tail not in self._heads:
                self.find_heads((tail,))
            return self._heads[tail]
        return self._ends(self._graph.into, tail)

    def has(self, head: int, tail: int) -> bool:
        start, end = self._run(self._graph.out, head)
        nodes = self._graph.out.nodes
        at = bisect_left(nodes, tail, start, end)
        return at < end and nodes[at] == tail

    def count_forward(self, head: int) -> int:
        return self._count(self._graph.out, head)

    def count_backward(self, tail: int) -> int:
        if self._graph.is_literal(tail):
            return self.total()
        return self._count(self._graph.into, tail)

    def total(self) -> int:
        return int(self._graph.relation_totals[self._relation])

    def scan(self) -> Iterator[EdgeEnds]:
        for heads, tails in self._chunks():
            yield from zip(heads.tolist(), tails.tolist(), strict=True)

    def find_heads(self, tails: Collection[int]) -> None:
        wanted = [tail for tail in tails if tail not in self._heads]
        if not wanted:
            return
        self._heads.update({tail: [] for tail in wanted})
        values = np.array(wanted)
        for heads, ends in self._chunks():
            hit = np.isin(ends, values)
            for head, tail in zip(heads[hit].tolist(), ends[hit].tolist(), strict=True):
                self._heads[tail].append(head)

    def _chunks(self) -> Iterator[tuple[Any, Any]]:
        """Heads and tails of all edges."""
        side, rows = self._graph.out, self._graph.rows
        for first in range(0, len(side.nodes), CHUNK):
            self._terms.check()
            found = np.flatnonzero(side.relation_array[first : first + CHUNK] == self._relation)
            if len(found):
                places = (first + found).astype(side.start_array.dtype)
                heads = np.searchsorted(side.start_array, places, side="right") - 1
                yield np.where(heads < rows.first, heads, heads + rows.gap), side.node_array[places]

    def _run(self, side: Any, node: int) -> tuple[int, int]:
        return side.run(node, self._relation) if 0 <= node < self._graph.nodes else (0, 0)

    def _ends(self, side: Any, node: int) -> Iterable[int]:
        start, end = self._run(side, node)
        if end - start > CHUNK:
            return self._terms.in_chunks(side.nodes, start, end)
        return side.nodes[start:end].tolist()

    def _count(self, side: Any, node: int) -> int:
        start, end = self._run(side, node)
        return end - start


class NameEdges(PredicateEdges):
    """The names of nodes, in English."""

    def forward(self, head: int) -> Iterable[int]:
        name = self._graph.name(head) if 0 <= head < self._graph.nodes else ""
        return (self._terms.encode_id(literal_id(name, "@en")),) if name else ()

    def backward(self, tail: int) -> Iterable[int]:
        text = self._terms.id_of(tail)
        if not text.endswith('"@en'):
            return []
        name = literal_name(text)
        found = self._graph.graph.resolve(name)
        return [self._graph.graph.node_number(e.id) for e in found if e.name == name]

    def scan(self) -> Iterator[EdgeEnds]:
        rows = self._graph.rows
        for first, last in ((0, rows.first), (rows.end, self._graph.nodes)):
            for head in range(first, last):
                if not head & 1023:
                    self._terms.check()
                for name in self.forward(head):
                    yield head, name


class TypeEdges(PredicateEdges):
    """The types of nodes."""

    def forward(self, head: int) -> Iterable[int]:
        if not 0 <= head < self._graph.nodes:
            return ()
        return [self._graph.kinds[kind] for kind in self._graph.types(head)]

    def backward(self, tail: int) -> Iterable[int]:
        kind = self._graph.kind_at.get(tail)
        nodes = () if kind is None else self._graph.nodes_of_types[kind]
        return self._terms.in_chunks(nodes, 0, len(nodes))

    def count_backward(self, tail: int) -> int:
        kind = self._graph.kind_at.get(tail)
        return 0 if kind is None else len(self._graph.nodes_of_types[kind])

    def total(self) -> int:
        return sum(map(len, self._graph.nodes_of_types))

    def scan(self) -> Iterator[EdgeEnds]:
        return ((head, kind) for kind in self._graph.kinds for head in self.backward(kind))


class SeveralEdges(PredicateEdges):
    """What stands under one predicate from several sources, or from none."""

    def __init__(self, terms: QueryTerms, parts: list[PredicateEdges]) -> None:
        super().__init__(terms)
        self._parts = parts

    def forward(self, head: int) -> Iterator[int]:
        return (end for part in self._parts for end in part.forward(head))

    def backward(self, tail: int) -> Iterator[int]:
        return (end for part in self._parts for end in part.backward(tail))

    def has(self, head: int, tail: int) -> bool:
        return any(part.has(head, tail) for part in self._parts)

    def count_forward(self, head: int) -> int:
        return sum(part.count_forward(head) for part in self._parts)

    def count_backward(self, tail: int) -> int:
        return sum(part.count_backward(tail) for part in self._parts)

    def total(self) -> int:
        return sum(part.total() for part in self._parts)

    def scan(self) -> Iterator[EdgeEnds]:
        return (pair for part in self._parts for pair in part.scan())

    def find_heads(self, tails: Collection[int]) -> None:
        for part in self._parts:
            part.find_heads(tails)


class Predicates(dict[int, PredicateEdges]):
    """The predicates of a query by number; made when they are asked for."""

    def __init__(self, terms: QueryTerms) -> None:
        super().__init__()
        self.terms, self._graph = terms, terms.graph
        self._special = (*terms.graph.name_predicates, *terms.graph.kind_predicates)

    def __missing__(self, number: int) -> PredicateEdges:
        parts: list[PredicateEdges] = []
        if number in self._graph.relation_at:
            parts.append(RelationEdges(self.terms, self._graph.relation_at[number]))
        if number in self._graph.name_predicates:
            parts.append(NameEdges(self.terms))
        if number in self._graph.kind_predicates:
            parts.append(TypeEdges(self.terms))
        self[number] = parts[0] if len(parts) == 1 else SeveralEdges(self.terms, parts)
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
