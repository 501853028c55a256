"""Rows of terms through the parts of a query; its functions and aggregates are rdflib's."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, cast

from rdflib.plugins.sparql.aggregates import Aggregator, Average, Maximum, Sum

from graphwalker.graphs.sparql_engine.functions import FORMS, here, is_true, value_of
from graphwalker.graphs.sparql_engine.patterns import MOST, QueryRun
from graphwalker.graphs.sparql_engine.terms import CHUNK
from graphwalker.graphs.sparql_engine.values import FALSE, TRUE, is_number, order_key

TermRow = dict[Any, Any]
"""The terms of variables; none where one is unbound."""
Rows = Iterator[TermRow]


def solve(run: QueryRun, part: Any, rows: Rows) -> Rows:
    """The rows, each with every solution of the part that fits it."""
    return _SOLVE[part.name](run, part, rows)


def solutions(run: QueryRun, part: Any) -> Rows:
    """The solutions of a part by itself, found as they are read."""
    for number, row in enumerate(solve(run, part, iter((TermRow(),)))):
        if not number & 1023:
            run.terms.check()
        yield row


def _fits(row: TermRow, other: TermRow) -> bool:
    return all(row.get(name, term) == term for name, term in other.items())


def _pattern(run: QueryRun, part: Any, rows: Rows) -> Rows:
    return run.pattern(part).solve(rows)


def _values(run: QueryRun, part: Any, rows: Rows) -> Rows:
    made = [{name: run.constants.get(t, t) for name, t in row.items()} for row in part.rows]
    return ({**row, **one} for row in rows for one in made if _fits(row, one))


def _join(run: QueryRun, part: Any, rows: Rows) -> Rows:
    rows = solve(run, part.p1, rows)
    if part.lazy:
        return solve(run, part.p2, rows)
    return ({**row, **one} for row in rows for one in _matches(run, part, row))


def _matches(run: QueryRun, part: Any, row: TermRow) -> Rows:
    """The solutions of the second part that fit a row of the first; they are found once."""
    if id(part) not in run.kept:
        keys = sorted(part.p1.every & part.p2.every)
        index: dict[Any, list[TermRow]] = {}
        for one in _keep(run, solutions(run, part.p2)):
            index.setdefault(tuple([one[key] for key in keys]), []).append(one)
        run.kept[id(part)] = keys, index
    keys, index = run.kept[id(part)]
    run.terms.check()
    some = index.get(tuple([row[key] for key in keys]), ())
    return (one for one in some if _fits(row, one))


def _keep(run: QueryRun, rows: Rows) -> Rows:
    for row in rows:
        run.terms.hold()
        yield row


def _left_join(run: QueryRun, part: Any, rows: Rows) -> Rows:
    second, tests, is_lazy = part.p2, [test for test, _ in part.tests], part.lazy
    for row in solve(run, part.p1, rows):
        is_found = False
        found = solve(run, second, iter((row,))) if is_lazy else _matches(run, part, row)
        for one in found:
            both = one if is_lazy else {**row, **one}
            if all(is_true(run, test, both) for test in tests):
                is_found = True
                yield both
        if not is_found:
            yield row


def _minus(run: QueryRun, part: Any, rows: Rows) -> Rows:
    def is_left(row: TermRow) -> bool:
        if part.lazy:
            bare = {name: row[name] for name in part.shared}
            return not any(True for _ in solve(run, part.p2, iter((bare,))))
        found = _matches(run, part, row)
        return not any(name in row and name in one for one in found for name in part.shared)

    rows = solve(run, part.p1, rows)
    return filter(is_left, rows) if part.shared else rows


def _union(run: QueryRun, part: Any, rows: Rows) -> Rows:
    while batch := list(islice(rows, MOST)):
        yield from chain.from_iterable(solve(run, one, iter(batch)) for one in part.parts)


def _filter(run: QueryRun, part: Any, rows: Rows) -> Rows:
    tests = [(test, name, dict[Any, bool]()) for test, name in part.tests]
    found = solve(run, part.p, rows)
    return (row for row in found if all(_passes(run, row, *test) for test in tests))


def _passes(run: QueryRun, row: TermRow, test: Any, name: Any, known: dict[Any, bool]) -> bool:
    """Whether a row passes a test, once for each term where one variable decides."""
    if name is None:
        return is_true(run, test, row)
    term = row.get(name)
    if (found := known.get(term)) is None:
        found = is_true(run, test, row)
        if len(known) < CHUNK:
            known[term] = found
    return found


def _exists(expression: Any, run: QueryRun) -> Any:
    found = any(True for _ in solve(run, expression.graph, iter((here(),))))
    return TRUE if found is (expression.name == "Builtin_EXISTS") else FALSE


FORMS.update({"Builtin_EXISTS": _exists, "Builtin_NOTEXISTS": _exists})


def _extend(run: QueryRun, part: Any, rows: Rows) -> Rows:
    name, expression = part.var, part.expr
    for row in solve(run, part.p, rows):
        value = value_of(run, expression, row)
        yield row if value is None else {**row, name: value}


def _by_itself(answer: Callable[[QueryRun, Any], Iterable[TermRow]]) -> "Solve":
    """What a sub-select is made of: it does not see the rows that it is joined with."""

    def join_rows(run: QueryRun, part: Any, rows: Rows) -> Rows:
        for row in rows:
            found = answer(run, part)
            yield from ({**row, **one} for one in found if _fits(row, one)) if row else found

    return join_rows


def _project(run: QueryRun, part: Any) -> Rows:
    names = part.PV
    for row in solutions(run, part.p):
        yield {name: row[name] for name in names if name in row}


def _distinct(run: QueryRun, part: Any) -> Rows:
    seen = set[Any]()
    for row in solutions(run, part.p):
        key = frozenset(row.items())
        if key not in seen:
            run.terms.hold()
            seen.add(key)
            yield row


def _slice(run: QueryRun, part: Any) -> Rows:
    first = int(part.start or 0)
    last = None if part.length is None else first + int(part.length)
    return islice(solutions(run, part.p), first, last)


def _sort(run: QueryRun, part: Any) -> list[TermRow]:
    found = list(_keep(run, solutions(run, part.p)))
    for one in reversed(part.expr):
        found.sort(
            key=lambda row, key=one.expr: order_key(value_of(run, key, row)),
            reverse=one.order == "DESC",
        )
    return found


class _Largest(Maximum):
    """rdflib's makes a literal of an IRI, and orders by its own values."""

    def compare(self, val1: Any, val2: Any) -> Any:
        return max(val1, val2, key=order_key)

    def set_value(self, bindings: Any) -> None:
        bindings[self.var] = self.value


class _Smallest(_Largest):
    def compare(self, val1: Any, val2: Any) -> Any:
        return min(val1, val2, key=order_key)


class _Group(Aggregator):
    """The aggregates of one group; what has no value is left out, as SQL and Virtuoso do."""

    accumulator_classes = cast(Any, Aggregator).accumulator_classes | {
        "Aggregate_Min": _Smallest,
        "Aggregate_Max": _Largest,
    }

    def update(self, row: Any) -> None:
        for name, one in list(self.accumulators.items()):
            is_whole = str(one.expr) == "*"
            value: Any = frozenset(row.items()) if is_whole else row.get(one.expr)
            given: Any = value if is_whole else row
            if type(one) in (Sum, Average) and value is not None and not is_number(value):
                del self.accumulators[name]
            elif value is not None and one.use_row(given):
                one.update(given, self)


def _aggregate(run: QueryRun, part: Any) -> Rows:
    """A row for each group. Without keys all rows are one group, even where there is none."""
    by, aggregates = part.by, part.A
    groups: dict[Any, _Group] = {} if by else {(): _Group(aggregates)}
    for row in solutions(run, part.p):
        key = tuple([row.get(name) for name in by])
        if key not in groups:
            run.terms.hold()
            groups[key] = _Group(aggregates)
        groups[key].update(row)
    for group in groups.values():
        found = cast(TermRow, group.get_bindings())
        yield {name: term for name, term in found.items() if term is not None}


Solve = Callable[[QueryRun, Any, Rows], Rows]
_SOLVE: dict[str, Solve] = {
    "BGP": _pattern,
    "values": _values,
    "Join": _join,
    "LeftJoin": _left_join,
    "Minus": _minus,
    "Union": _union,
    "Filter": _filter,
    "Extend": _extend,
    "Project": _by_itself(_project),
    "Distinct": _by_itself(_distinct),
    "Reduced": _by_itself(_distinct),
    "Slice": _by_itself(_slice),
    "OrderBy": _by_itself(_sort),
    "AggregateJoin": _by_itself(_aggregate),
}
