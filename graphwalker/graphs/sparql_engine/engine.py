"""SPARQL over a compiled graph: rdflib parses a query and translates it, our joins answer it."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyparsing import ParseException
from rdflib.plugins.sparql.algebra import translateQuery, traverse  # pyright: ignore
from rdflib.plugins.sparql.parser import parseQuery

from graphwalker.errors import UserError
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.graphs.compiled.graph import CompiledGraph
from graphwalker.graphs.compiled.properties import open_compiled
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.ntriples import FREEBASE
from graphwalker.graphs.sparql_engine.algebra import keep_constant_filter
from graphwalker.graphs.sparql_engine.patterns import QueryRun, SolutionRow
from graphwalker.graphs.sparql_engine.plan import Planner, PlanPart
from graphwalker.graphs.sparql_engine.terms import NumberedGraph, QueryTerms
from graphwalker.graphs.sparql_engine.wording import QueryShape, read_shape

KEPT = 1024
"""Plans that are remembered."""


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """What one query may take."""

    timeout_s: float = 60.0
    held_rows: int = 5_000_000
    """Rows that it keeps for sorting, grouping, DISTINCT and joins."""


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """What a shape became: variables in order (none for ASK), and the slot of each."""

    part: PlanPart
    constants: tuple[str | int, ...]
    width: int
    variables: tuple[str, ...]
    slots: tuple[int, ...]
    is_ask: bool


@dataclass(frozen=True, slots=True)
class Solutions:
    """The answer of a query: rows of terms' numbers by variable, made as they are read. An ASK is
    true where there is a row."""

    is_ask: bool
    variables: tuple[str, ...]
    rows: Iterator[SolutionRow]
    terms: QueryTerms


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
            plan = make_plan(shape.text)
        except UserError as error:
            raise UserError(_fill(str(error), shape)) from None
        terms = QueryTerms(self.graph, time.monotonic() + limits.timeout_s, limits.held_rows)
        written = (shape.constants[c] if isinstance(c, int) else c for c in plan.constants)
        run = QueryRun(terms, [terms.constant(one) for one in written], plan.width)
        rows = plan.part.solve(run, iter((run.empty,)))
        slots = plan.slots
        found = (tuple(row[at] for at in slots) for row in rows)
        return Solutions(plan.is_ask, plan.variables, found, terms)


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
def make_plan(text: str) -> QueryPlan:
    """The plan of a query, whose constants are the places of a shape. Raises `UserError`."""
    algebra = _translate(text)
    name = algebra.name.removesuffix("Query").upper()
    if name not in ("SELECT", "ASK"):
        raise UserError(f"{name} is not served: ask by SELECT or ASK")
    planner = Planner()
    try:
        part = planner.plan(algebra.p)
    except RecursionError:
        raise UserError("the query is nested too deeply: write it flatter") from None
    variables = [] if name == "ASK" else [str(one) for one in algebra.PV]
    places = {one: text.find(f"?{one}") for one in variables}
    if "*" in text.partition("{")[0]:
        variables.sort(key=lambda one: places[one])
    slots = tuple(planner.slot(one) for one in variables)
    constants, width = tuple(planner.constants), len(planner.slots)
    return QueryPlan(part, constants, width, tuple(variables), slots, name == "ASK")


def _translate(text: str) -> Any:
    try:
        parsed = parseQuery(text)
        traverse(parsed[1], visitPre=keep_constant_filter)
        return translateQuery(parsed).algebra
    except ParseException as error:
        near = text[error.loc :][:60].split("\n")[0]
        where = f"at {near!r}" if near.strip() else "at its end"
        raise UserError(f"37000: the query is not SPARQL 1.1 {where}: {error.msg}") from None
    except RecursionError:
        raise UserError("the query is nested too deeply: write it flatter") from None
    except Exception as error:  # what its translation raises is not documented
        raise UserError(f"37000: {' '.join(str(error).split())[:200]}") from None


def _fill(text: str, shape: QueryShape) -> str:
    for place, constant in enumerate(shape.constants):
        text = text.replace(f"<x-constant:{place}>", constant)
    return text
