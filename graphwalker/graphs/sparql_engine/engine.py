"""SPARQL over a compiled graph: rdflib parses a query and translates it, our joins answer it."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rdflib import URIRef, Variable
from rdflib.plugins.sparql.sparql import Query

from graphwalker.errors import UserError
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.graphs.compiled.graph import CompiledGraph
from graphwalker.graphs.compiled.properties import open_compiled
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.ntriples import FREEBASE
from graphwalker.graphs.sparql_engine.algebra import translate
from graphwalker.graphs.sparql_engine.evaluate import QueryRun, solutions
from graphwalker.graphs.sparql_engine.terms import NumberedGraph, QueryTerms
from graphwalker.graphs.sparql_engine.wording import PLACE, QueryShape, read_shape

KEPT = 1024
"""Shapes of queries that are remembered."""


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """What one query may take."""

    timeout_s: float = 60.0
    held_rows: int = 5_000_000
    """Rows that it keeps for sorting, grouping, DISTINCT and joins."""


@dataclass(frozen=True, slots=True)
class Solutions:
    """The answer of a query: rows of rdflib's terms by variable, made as they are read. An ASK is
    true where there is a row."""

    is_ask: bool
    variables: tuple[Variable, ...]
    rows: Iterator[Any]


class SparqlEngine:
    """Answers queries over a compiled graph; `base` stands before ids that are no IRIs."""

    def __init__(self, graph: CompiledGraph, base: str = "") -> None:
        self.graph = NumberedGraph(graph, base)
        self._prefixes: dict[str, str] = {"": self.graph.base}
        if self.graph.base == FREEBASE:
            self._prefixes |= {"ns": FREEBASE, "fb": FREEBASE}

    def query(self, text: str, limits: QueryLimits | None = None) -> Solutions:
        """The solutions of a SELECT or ASK. Raises `UserError` for a query that is not understood,
        `QueryLimitError` while rows are read."""
        limits = limits or QueryLimits()
        shape = read_shape(text, self._prefixes)
        try:
            query, variables = _translate(shape.text)
        except UserError as error:
            raise UserError(_fill(str(error), shape)) from None
        written = enumerate(shape.constants)
        constants = {URIRef(f"{PLACE}{n}"): self.graph.constant(one) for n, one in written}
        terms = QueryTerms(self.graph, time.monotonic() + limits.timeout_s, limits.held_rows)
        rows = solutions(QueryRun(terms, constants), query.algebra.p)
        return Solutions(query.algebra.name == "AskQuery", variables, rows)


@lru_cache(maxsize=4)
def engine_of(graph: KnowledgeGraph) -> SparqlEngine:
    """The engine of a graph, made once. Raises `UserError` for a graph that lists no entities."""
    if isinstance(graph, CompiledGraph):
        return SparqlEngine(graph)
    from graphwalker.graphs.build.build import build_graph

    if not graph.size:
        raise UserError("SPARQL needs a compiled graph or an endpoint: run graphwalker graph build")
    with TemporaryDirectory() as place:  # the file stays open
        folder = Path(place)
        named, nodes = folder / "names.tsv", set[str]()
        with (folder / "triples.tsv").open("w", encoding="utf-8") as triples:
            for fact in graph:
                triples.write(f"{fact.head.id}\t{fact.relation}\t{fact.tail.id}\n")
                nodes |= {fact.head.id, fact.tail.id}
        ids = sorted(node for node in nodes if not is_literal(node))
        names = [f"{i}\t{graph.name(i)}\n" for i in ids if graph.name(i)]
        named.write_text("".join(names), encoding="utf-8")
        kinds = [f"{i}\t{kind}\n" for i in ids for kind in graph.types(i)]
        (folder / "types.tsv").write_text("".join(kinds), encoding="utf-8")
        types = folder / "types.tsv" if kinds else None
        build_graph([folder / "triples.tsv"], folder / "graph", names=named, types=types)
        return SparqlEngine(open_compiled(folder / "graph"))


@lru_cache(maxsize=KEPT)
def _translate(text: str) -> tuple[Query, tuple[Variable, ...]]:
    """The query of a shape, and its variables in order (none of an ASK). Raises `UserError`."""
    query = translate(text)
    variables = list[Variable](query.algebra.PV) if query.algebra.name == "SelectQuery" else []
    if "*" in text.partition("{")[0]:
        found = list(map(str, re.findall(r"[?$](\w+)", text)))
        variables.sort(key=lambda one: found.index(str(one)))
    return query, tuple(variables)


def _fill(text: str, shape: QueryShape) -> str:
    for place, constant in enumerate(shape.constants):
        text = text.replace(f"<{PLACE}{place}>", constant)
    return text
