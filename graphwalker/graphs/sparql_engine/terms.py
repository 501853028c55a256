"""Terms by number: nodes as the graph file numbers them, what a query makes besides below zero."""

import re
import time
from array import array
from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
from rdflib import BNode, URIRef

from graphwalker.errors import QueryLimitError
from graphwalker.graphs.compiled.graph import CompiledGraph
from graphwalker.graphs.format.layout import Layout
from graphwalker.graphs.format.nodes import Nodes
from graphwalker.graphs.format.sides import EdgeSide
from graphwalker.graphs.format.texts import read_words
from graphwalker.graphs.literals import is_literal, literal_id, literal_name
from graphwalker.graphs.ntriples import FREEBASE, XSD_STRING
from graphwalker.graphs.sparql.terms import RDF_TYPE, RDFS_LABEL
from graphwalker.graphs.sparql_engine.values import literal

PLAIN_BASE = "urn:graphwalker:"
"""Before ids that are no IRIs and do not look like Freebase's."""
CHUNK = 1 << 16
"""Nodes, or ends of a hub, that are read in one piece."""
NAME, TYPE = "type.object.name", "type.object.type"
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|urn:")
_FREEBASE_ID = re.compile(r"[mg]\.[0-9a-z_]+")
_UNSAFE = re.compile(r'[\x00-\x20<>"{}|^`\\%]')


class NumberedGraph:
    """The arrays of a compiled graph, for joins on numbers.

    Its RDF: every triple; each name as `"..."@en` under `rdfs:label`, and each type under
    `rdf:type`; with Freebase's base both under Freebase's own predicates as well. Relations and
    types that are no nodes are numbered behind the nodes.
    """

    def __init__(self, graph: CompiledGraph, base: str = "") -> None:
        assert isinstance(graph.path, Path)
        layout = Layout(graph.path)
        self.graph, self.nodes = graph, layout.counts["nodes"]
        records = Nodes(layout)
        self.node_id, self.name, self.types = records.id, records.name, records.types
        self.rows = records.rows
        self.out, self.into = EdgeSide(layout, "out"), EdgeSide(layout, "in")
        self.relation_ids = graph.relation_ids()
        self.type_ids = read_words(layout, "type_ids")
        self.relation_totals = np.asarray(layout.array("relation_counts"))
        self.base = base or self._usual_base()
        own = self.base == FREEBASE
        name_ids = (RDFS_LABEL, NAME) if own else (RDFS_LABEL,)
        kind_ids = (RDF_TYPE, TYPE) if own else (RDF_TYPE,)
        self.schema: list[str] = []
        self._schema_at: dict[str, int] = {}
        schema = (*self.relation_ids, *self.type_ids, *name_ids, *kind_ids)
        numbers = {one: self._number(one) for one in schema}
        self.relations = [numbers[one] for one in self.relation_ids]
        self.relation_at = {n: r for r, n in enumerate(self.relations)}
        self.kinds = [numbers[one] for one in self.type_ids]
        self.kind_at = {n: t for t, n in enumerate(self.kinds)}
        self.name_predicates = {numbers[one] for one in name_ids}
        self.kind_predicates = {numbers[one] for one in kind_ids}

    @cached_property
    def nodes_of_types(self) -> list["array[int]"]:
        """The nodes of each type, for queries that start from one."""
        found = [array("I") for _ in self.type_ids]
        for node in chain(range(self.rows.first), range(self.rows.end, self.nodes)):
            for kind in self.types(node):
                found[kind].append(node)
        return found

    def number(self, node_id: str) -> int:
        """The number of an id, -1 where the graph has none."""
        found = self.graph.node_number(node_id)
        return found if found >= 0 else self._schema_at.get(node_id, -1)

    def id_of(self, number: int) -> str:
        return self.node_id(number) if number < self.nodes else self.schema[number - self.nodes]

    def iri(self, node_id: str) -> str:
        """The IRI of an id; what no IRI may hold is written as `%` and two digits."""
        absolute = _ABSOLUTE.match(node_id) is not None
        safe = _UNSAFE if not absolute else re.compile(_UNSAFE.pattern.replace("%", ""))
        text = safe.sub(lambda found: quote(found[0]), node_id)
        return text if absolute else self.base + text

    def id_of_iri(self, iri: str) -> str:
        """The id that an IRI stands for, whether the graph has it or not."""
        if not iri.startswith(self.base):
            return iri
        local = unquote(iri[len(self.base) :])
        return iri if not local or (self.number(local) < 0 <= self.number(iri)) else local

    def id_of_term(self, term: Any) -> str:
        """The id of a term of rdflib."""
        if isinstance(term, URIRef):
            return self.id_of_iri(str(term))
        if isinstance(term, BNode):
            return f"_:{term}"
        suffix = f"@{term.language}" if term.language else ""
        if term.datatype and str(term.datatype) != XSD_STRING:
            suffix = f"^^<{term.datatype}>"
        return literal_id(str(term), suffix)

    def constant(self, written: str) -> Any:
        """The term of `<IRI>`, or of a literal's id."""
        return URIRef(written[1:-1]) if written.startswith("<") else self.term(written)

    def term(self, node_id: str) -> Any:
        """The term of rdflib of an id."""
        if node_id.startswith("_:"):
            return BNode(node_id[2:])
        if not is_literal(node_id):
            return str.__new__(URIRef, self.iri(node_id))  # it is one: rdflib need not look
        suffix = node_id[node_id.rfind('"') + 1 :]
        tag = suffix[1:] if suffix.startswith("@") else None
        return literal(literal_name(node_id), suffix[3:-1] if suffix[:2] == "^^" else None, tag)

    def is_literal(self, number: int) -> bool:
        return self.rows.first <= number < self.rows.end

    def _number(self, one: str) -> int:
        if (found := self.number(one)) >= 0:
            return found
        self._schema_at[one] = self.nodes + len(self.schema)
        self.schema.append(one)
        return self._schema_at[one]

    def _usual_base(self) -> str:
        some = (self.node_id(n) for n in range(0, self.nodes, max(1, self.nodes // 200)))
        looks = [_FREEBASE_ID.fullmatch(i) is not None for i in some if not is_literal(i)]
        return FREEBASE if sum(looks) * 2 >= len(looks) else PLAIN_BASE


class QueryTerms:
    """The terms of one query, and what it may still take."""

    def __init__(self, graph: NumberedGraph, until: float, most_rows: int) -> None:
        self.graph, self.until, self.most_rows = graph, until, most_rows
        self._extra: list[str] = []
        self._extra_at: dict[str, int] = {}
        self._terms: dict[int, Any] = {}
        self._numbers: dict[Any, int] = {}
        self._held = 0

    def check(self) -> None:
        """Raises `QueryLimitError` when the time is over."""
        if time.monotonic() > self.until:
            raise QueryLimitError(
                "S1T00: the query took longer than it may; ask for less, or give it more time"
            )

    def hold(self, rows: int = 1) -> None:
        """Count rows that are kept in memory. Raises `QueryLimitError` for too many."""
        self._held += rows
        if not self._held & 255:
            self.check()
        if self._held > self.most_rows:
            raise QueryLimitError(
                f"42000: the query holds more than {self.most_rows:,} rows; ask for less"
            )

    def encode_id(self, node_id: str) -> int:
        """The number of an id; one that the graph lacks gets a number below zero."""
        found = self.graph.number(node_id)
        if found < 0 and (found := self._extra_at.get(node_id, 0)) == 0:
            self._extra.append(node_id)
            found = self._extra_at[node_id] = -len(self._extra)
        return found

    def encode(self, term: Any) -> int:
        """The number of a term of rdflib."""
        found = self._numbers.get(term)
        if found is None:
            found = self.encode_id(self.graph.id_of_term(term))
            self._remember(found, term)
        return found

    def decode(self, number: int) -> Any:
        """The term of rdflib."""
        found = self._terms.get(number)
        if found is None:
            found = self.graph.term(self.id_of(number))
            self._remember(number, found)
        return found

    def _remember(self, number: int, term: Any) -> None:
        if len(self._terms) >= CHUNK:
            self._terms.clear()
            self._numbers.clear()
        self._terms[number], self._numbers[term] = term, number

    def id_of(self, number: int) -> str:
        return self.graph.id_of(number) if number >= 0 else self._extra[-number - 1]

    def is_literal(self, number: int) -> bool:
        if number < 0:
            return is_literal(self._extra[-number - 1])
        return self.graph.is_literal(number)

    def in_chunks(self, numbers: Any, first: int, last: int) -> Iterator[int]:
        """The integers of a long run, a piece at a time."""
        for start in range(first, last, CHUNK):
            self.check()
            yield from numbers[start : min(start + CHUNK, last)].tolist()
