"""The plan of a query: rdflib's algebra as functions from rows to rows."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, cast

from rdflib import BNode, Literal, URIRef, Variable
from rdflib.paths import AlternativePath, InvPath, MulPath, NegatedPath, SequencePath
from rdflib.plugins.sparql.algebra import translateGroupGraphPattern

from graphwalker.errors import UserError
from graphwalker.graphs.sparql_engine.algebra import (
    all_variables,
    conjuncts,
    flatten,
    is_table,
    join_rank,
    merge_plain,
    names_of,
    part_of,
    variables_of,
)
from graphwalker.graphs.sparql_engine.expressions import (
    Evaluate,
    as_term,
    compile_expression,
    is_true,
    value_or_none,
)
from graphwalker.graphs.sparql_engine.groups import Aggregate, group_rows
from graphwalker.graphs.sparql_engine.joins import (
    NOTHING,
    PlanPart,
    Slots,
    Solve,
    apply_filters,
    excludes,
    hash_join,
    keep_rows,
)
from graphwalker.graphs.sparql_engine.patterns import (
    MOST,
    AnyPattern,
    ConstantHint,
    JoinedPatterns,
    PathPattern,
    PropertyPath,
    QueryRun,
    RowFilter,
    SolutionRow,
    TriplePattern,
    put,
)
from graphwalker.graphs.sparql_engine.terms import id_of_literal
from graphwalker.graphs.sparql_engine.values import order_key
from graphwalker.graphs.sparql_engine.wording import PLACE

Built = tuple[PlanPart, list[RowFilter]]
"""A part with those of the filters applied that it can apply, and the others."""


class Planner:
    """Plans one query. Slots are numbered over the whole query.

    A part is planned for rows that may bind the slots `outer` already: it then only looks for what
    fits. Where that would change its meaning (a filter on a variable of another group, say), it is
    solved by itself and joined by hash.
    """

    def __init__(self) -> None:
        self.slots: dict[str, int] = {}
        self.constants: list[str | int] = []
        """Each a constant as it is written, or the place of one that is taken from the text."""
        self._correlated = False

    def slot(self, variable: Any) -> int:
        name = f"_:{variable}" if isinstance(variable, BNode) else str(variable)
        return self.slots.setdefault(name, len(self.slots))

    def constant(self, term: Any) -> int:
        written: str | int
        if isinstance(term, Literal):
            written = id_of_literal(term)
        elif str(term).startswith(PLACE):
            written = int(str(term)[len(PLACE) :])
        else:
            written = f"<{term}>"
        self.constants.append(written)
        return len(self.constants) - 1

    def exists(self, expression: Any) -> Callable[[QueryRun, SolutionRow], bool]:
        """Whether the pattern of an EXISTS has a solution that fits the row."""
        pattern = expression.graph
        if pattern.name in ("GroupGraphPatternSub", "SubSelect"):
            pattern = expression.graph = translateGroupGraphPattern(pattern)
        before, self._correlated = self._correlated, True
        part = self.build(pattern, frozenset(self.slots.values()), ())[0]
        self._correlated = before
        return lambda run, row: any(True for _ in part.solve(run, iter((row,))))

    def plan(self, part: Any) -> PlanPart:
        """The plan of a part that stands by itself."""
        built, left = self.build(part, NOTHING, ())
        return apply_filters(built, left)

    def build(self, part: Any, outer: Slots, filters: Sequence[RowFilter]) -> Built:
        """The plan of a part of the algebra."""
        if isinstance(part, list) or part is None:
            return PlanPart(NOTHING, NOTHING, lambda run, rows: iter(())), list(filters)
        build = getattr(self, f"_build_{part.name.lower()}", None)
        if build is None:
            raise UserError(f"{part.name} is not served: this endpoint reads one graph")
        return build(part, outer, filters)

    def _build_bgp(self, part: Any, outer: Slots, filters: Sequence[RowFilter]) -> Built:
        patterns = [one for triple in part.triples for one in self._patterns(*triple)]
        slots = frozenset(at for one in patterns for at in one.slots)
        if not patterns:
            return PlanPart(NOTHING, NOTHING, lambda run, rows: rows), list(filters)
        own = [one for one in filters if one.is_local and one.slots <= slots]
        hints = [ConstantHint(*one.equals) for one in own if one.equals]
        joined = JoinedPatterns((*patterns, *hints), tuple(own))
        return PlanPart(slots, slots, joined.solve), [one for one in filters if one not in own]

    def _patterns(self, head: Any, over: Any, tail: Any) -> Iterator[AnyPattern]:
        if isinstance(over, SequencePath):
            middle: list[Any] = [BNode() for _ in over.args[1:]]
            ends = zip((head, *middle), over.args, (*middle, tail), strict=True)
            for triple in ends:
                yield from self._patterns(*triple)
        elif isinstance(over, InvPath):
            yield from self._patterns(tail, over.arg, head)
        elif isinstance(over, AlternativePath | MulPath | NegatedPath):
            yield PathPattern(self._position(head), self._path(over), self._position(tail))
        else:
            yield TriplePattern(*map(self._position, (head, over, tail)))

    def _position(self, term: Any) -> int:
        return self.slot(term) if isinstance(term, Variable | BNode) else ~self.constant(term)

    def _path(self, path: Any) -> PropertyPath:
        if isinstance(path, URIRef):
            return "link", self.constant(path)
        if isinstance(path, InvPath):
            return "back", self._path(path.arg)
        if isinstance(path, MulPath):
            return "repeat", self._path(path.path), bool(path.zero), bool(path.more)
        args: list[Any] = path.args
        if isinstance(path, NegatedPath):
            if not all(isinstance(one, URIRef) for one in args):
                raise UserError("`^` in `!(...)` is not served: rdflib does not read it")
            return "not", [self.constant(one) for one in args]
        kind = "chain" if isinstance(path, SequencePath) else "either"
        return kind, [self._path(one) for one in args]

    def _build_join(self, part: Any, outer: Slots, filters: Sequence[RowFilter]) -> Built:
        parts = sorted(merge_plain(list(flatten(part, "Join"))), key=join_rank)
        left, slots, certain = list(filters), NOTHING, NOTHING
        steps: list[Solve] = []
        for one in parts:
            built, left = self.build(one, outer | slots, left)
            slots, certain = slots | built.slots, certain | built.certain
            ready = [f for f in left if f.is_local and f.slots <= certain]
            left = [f for f in left if f not in ready]
            steps.append(apply_filters(built, ready).solve)

        def solve(run: QueryRun, rows: Iterator[SolutionRow]) -> Iterator[SolutionRow]:
            for step in steps:
                rows = step(run, rows)
            return rows

        return PlanPart(slots, certain, solve), left

    def _build_union(self, part: Any, outer: Slots, filters: Sequence[RowFilter]) -> Built:
        parts = list(flatten(part, "Union"))
        built = [self.build(one, outer, ())[0] for one in parts]
        certain = built[0].certain.intersection(*(one.certain for one in built))
        own = [one for one in filters if one.is_local and one.slots <= certain]
        if own:
            built = [apply_filters(*self.build(one, outer, own)) for one in parts]

        def solve(run: QueryRun, rows: Iterator[SolutionRow]) -> Iterator[SolutionRow]:
            while batch := list(islice(rows, MOST)):
                for one in built:
                    yield from one.solve(run, iter(batch))

        slots = frozenset[int]().union(*(one.slots for one in built))
        return PlanPart(slots, certain, solve), [one for one in filters if one not in own]

    def _build_filter(self, part: Any, outer: Slots, filters: Sequence[RowFilter]) -> Built:
        own = [self._row_filter(one) for one in conjuncts(part.expr)]
        inner, left = self.build(part.p, outer, [*own, *filters])
        rest = [one for one in own if one in left]
        if any((one.slots & outer) - inner.certain for one in rest) and not self._correlated:
            return self._alone(part, outer, filters)
        return apply_filters(inner, rest), [one for one in left if one not in own]

    def _row_filter(self, expression: Any) -> RowFilter:
        evaluate, slots, is_local = self._expression(expression)
        equals = None
        if getattr(expression, "name", "") == "RelationalExpression" and expression["op"] == "=":
            pair = (part_of(expression, "expr"), part_of(expression, "other"))
            for one, other in (pair, pair[::-1]):
                if isinstance(one, Variable) and isinstance(other, URIRef):
                    equals = self.slot(one), self.constant(other)
        return RowFilter(lambda run, row: is_true(run, evaluate, row), slots, is_local, equals)

    def _expression(self, expression: Any) -> tuple[Evaluate, Slots, bool]:
        """An expression, the slots that it reads, and whether it reads those alone."""
        has_pattern = any(name.endswith("EXISTS") for name in names_of(expression))
        found = all_variables(expression) if has_pattern else variables_of(expression)
        slots = frozenset(self.slot(one) for one in found)
        return compile_expression(expression, self), slots, not has_pattern

    def _build_extend(self, part: Any, outer: Slots, filters: Sequence[RowFilter]) -> Built:
        inner, left = self.build(part.p, outer, filters)
        evaluate, slots, _ = self._expression(part.expr)
        slot = self.slot(part.var)
        outside = (slots & outer) - inner.certain
        if slot in outer or (outside and not self._correlated):
            return self._alone(part, outer, filters)

        def solve(run: QueryRun, rows: Iterator[SolutionRow]) -> Iterator[SolutionRow]:
            for row in inner.solve(run, rows):
                value = value_or_none(run, evaluate, row)
                yield row if value is None else put(row, slot, value) or row

        return PlanPart(inner.slots | {slot}, inner.certain, solve), left

    def _build_leftjoin(self, part: Any, outer: Slots, filters: Sequence[RowFilter]) -> Built:
        first, left = self.build(part.p1, outer, filters)
        second = self.plan_within(part.p2, outer | first.slots)
        tests = [self._row_filter(one) for one in conjuncts(part.expr)]
        reads = second.slots.union(*(one.slots for one in tests))
        if (reads & outer) - first.certain and not self._correlated:
            return self._alone(part, outer, filters)
        inner = apply_filters(second, tests).solve

        def solve(run: QueryRun, rows: Iterator[SolutionRow]) -> Iterator[SolutionRow]:
            for row in first.solve(run, rows):
                is_found = False
                for found in inner(run, iter((row,))):
                    is_found = True
                    yield found
                if not is_found:
                    yield row

        return PlanPart(first.slots | second.slots, first.certain, solve), left

    def plan_within(self, part: Any, outer: Slots) -> PlanPart:
        return apply_filters(*self.build(part, outer, ()))

    def _build_minus(self, part: Any, outer: Slots, filters: Sequence[RowFilter]) -> Built:
        first, left = self.build(part.p1, outer, filters)
        second = self.plan(part.p2)
        shared = first.slots & second.slots
        if (second.slots & outer) - first.certain:
            return self._alone(part, outer, filters)
        if not shared:
            return first, left
        if shared <= first.certain & second.certain:
            probe = self.plan_within(part.p2, shared).solve

            def is_left(run: QueryRun, row: SolutionRow) -> bool:
                bare = tuple(v if at in shared else None for at, v in enumerate(row))
                return not any(True for _ in probe(run, iter((bare,))))
        else:

            def is_left(run: QueryRun, row: SolutionRow) -> bool:
                if id(second) not in run.kept:
                    run.kept[id(second)] = keep_rows(run, second.solve(run, iter((run.empty,))))
                return not any(excludes(row, other, shared) for other in run.kept[id(second)])

        def solve(run: QueryRun, rows: Iterator[SolutionRow]) -> Iterator[SolutionRow]:
            return (row for row in first.solve(run, rows) if is_left(run, row))

        return PlanPart(first.slots, first.certain, solve), left

    def _build_graph(self, part: Any, outer: Slots, filters: Sequence[RowFilter]) -> Built:
        """There is one graph, which every name means."""
        if isinstance(part.term, Variable):
            raise UserError("GRAPH ?g is not served: there is one graph; leave GRAPH away")
        return self.build(part.p, outer, filters)

    def _build_tomultiset(self, part: Any, outer: Slots, filters: Sequence[RowFilter]) -> Built:
        if is_table(part):
            return self._values(part.p), list(filters)
        return self._alone(part.p, outer, filters)

    def _values(self, part: Any) -> PlanPart:
        given = cast(list[dict[Any, Any]], [] if isinstance(part, list) else part.res)
        rows = [
            [(self.slot(v), self.constant(t)) for v, t in one.items() if str(t) != "UNDEF"]
            for one in given
        ]
        bound = [frozenset(slot for slot, _ in row) for row in rows]

        def solve(run: QueryRun, found: Iterator[SolutionRow]) -> Iterator[SolutionRow]:
            for row in found:
                for values in rows:
                    made: SolutionRow | None = row
                    for slot, constant in values:
                        made = put(made, slot, run.constants[constant]) if made else None
                    if made is not None:
                        yield made

        certain = bound[0].intersection(*bound) if bound else NOTHING
        return PlanPart(NOTHING.union(*bound), certain, solve)

    def _alone(self, part: Any, outer: Slots, filters: Sequence[RowFilter]) -> Built:
        """The part solved by itself, and joined with the rows by what both bind."""
        before, self._correlated = self._correlated, False
        inner = self.plan(part)
        self._correlated = before
        keys = sorted(inner.certain & outer)
        return PlanPart(inner.slots, inner.certain, hash_join(inner, keys, outer)), list(filters)

    def _build_project(self, part: Any, outer: Slots, filters: Sequence[RowFilter]) -> Built:
        inner = self.plan(part.p)
        kept = frozenset(self.slot(one) for one in part.PV)

        def solve(run: QueryRun, rows: Iterator[SolutionRow]) -> Iterator[SolutionRow]:
            for row in inner.solve(run, rows):
                yield tuple(v if at in kept else None for at, v in enumerate(row))

        return PlanPart(kept, inner.certain & kept, solve), list(filters)

    def _build_distinct(self, part: Any, outer: Slots, filters: Sequence[RowFilter]) -> Built:
        inner = self.plan(part.p)

        def solve(run: QueryRun, rows: Iterator[SolutionRow]) -> Iterator[SolutionRow]:
            seen = set[SolutionRow]()
            for row in inner.solve(run, rows):
                if row not in seen:
                    run.terms.hold()
                    seen.add(row)
                    yield row

        return PlanPart(inner.slots, inner.certain, solve), list(filters)

    _build_reduced = _build_distinct

    def _build_slice(self, part: Any, outer: Slots, filters: Sequence[RowFilter]) -> Built:
        inner = self.plan(part.p)
        first = int(part.start or 0)
        last = None if part.length is None else first + int(part.length)

        def solve(run: QueryRun, rows: Iterator[SolutionRow]) -> Iterator[SolutionRow]:
            return islice(inner.solve(run, rows), first, last)

        return PlanPart(inner.slots, inner.certain, solve), list(filters)

    def _build_orderby(self, part: Any, outer: Slots, filters: Sequence[RowFilter]) -> Built:
        inner = self.plan(part.p)
        keys = [(self._expression(one.expr)[0], one.order == "DESC") for one in part.expr]

        def solve(run: QueryRun, rows: Iterator[SolutionRow]) -> Iterator[SolutionRow]:
            found = keep_rows(run, inner.solve(run, rows))
            for evaluate, is_descending in reversed(keys):
                found.sort(key=lambda row: _order(run, evaluate, row), reverse=is_descending)
            return iter(found)

        return PlanPart(inner.slots, inner.certain, solve), list(filters)

    def _build_aggregatejoin(self, part: Any, outer: Slots, filters: Sequence[RowFilter]) -> Built:
        inner, group = self.plan(part.p.p), part.p.expr
        keys = None if group is None else [self._key(one) for one in group]
        aggregates = [self._aggregate(one) for one in part.A]

        def solve(run: QueryRun, rows: Iterator[SolutionRow]) -> Iterator[SolutionRow]:
            return group_rows(run, inner.solve(run, rows), keys, aggregates)

        own = frozenset(one.slot for one in aggregates)
        own |= {slot for _, slot in keys or () if slot is not None}
        return PlanPart(own, NOTHING, solve), list(filters)

    def _key(self, expression: Any) -> tuple[Evaluate, int | None]:
        slot = self.slot(expression) if isinstance(expression, Variable) else None
        return self._expression(expression)[0], slot

    def _aggregate(self, part: Any) -> Aggregate:
        of = None if str(part.vars) == "*" else self._expression(part.vars)[0]
        separator = " " if part.separator is None else str(part.separator)
        name = part.name.removeprefix("Aggregate_")
        return Aggregate(name, of, bool(part.distinct), separator, self.slot(part.res))


def _order(run: QueryRun, evaluate: Evaluate, row: SolutionRow) -> Any:
    value = value_or_none(run, evaluate, row)
    return order_key(None if value is None else as_term(run, value))
