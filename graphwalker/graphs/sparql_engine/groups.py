"""Groups of rows, and what COUNT, SUM, AVG, MIN, MAX, SAMPLE and GROUP_CONCAT make of each."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rdflib import Literal

from graphwalker.graphs.sparql_engine.expressions import (
    FAULTS,
    LONGEST,
    Evaluate,
    as_term,
    value_or_none,
)
from graphwalker.graphs.sparql_engine.patterns import QueryRun, SolutionRow
from graphwalker.graphs.sparql_engine.values import (
    INTEGER,
    ValueFault,
    calculate,
    number,
    number_literal,
    order_key,
)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One column of groups: which function, of what (`None`: of the row), into which slot."""

    function: str
    of: Evaluate | None
    is_distinct: bool
    separator: str
    slot: int


def group_rows(
    run: QueryRun,
    rows: Iterator[SolutionRow],
    keys: Sequence[tuple[Evaluate, int | None]] | None,
    aggregates: Sequence[Aggregate],
) -> Iterator[SolutionRow]:
    """A row for each group: its keys that are variables, and its aggregates. Without keys all rows
    are one group, even where there is none."""
    groups: dict[tuple[Any, ...], list[_Column]] = {}
    if keys is None:
        groups[()] = [_Column(one) for one in aggregates]
    for row in rows:
        key = tuple(value_or_none(run, one, row) for one, _ in keys or ())
        columns = groups.get(key)
        if columns is None:
            run.terms.hold()
            columns = groups[key] = [_Column(one) for one in aggregates]
        for column in columns:
            column.add(run, row)
    for key, columns in groups.items():
        made = _key_row(run, key, keys or ())
        for column in columns:
            made[column.about.slot] = column.result(run)
        yield tuple(made)


def _key_row(run: QueryRun, key: Sequence[Any], keys: Sequence[tuple[Any, Any]]) -> list[Any]:
    made: list[Any] = [None] * run.width
    for value, (_, slot) in zip(key, keys, strict=True):
        if slot is not None:
            made[slot] = value
    return made


class _Column:
    """One aggregate of one group."""

    def __init__(self, about: Aggregate) -> None:
        self.about, self.count = about, 0
        self._seen: set[Any] = set()
        self._value: Any = None
        self._texts: list[str] = []
        self._size, self._failed = 0, False

    def add(self, run: QueryRun, row: SolutionRow) -> None:
        about = self.about
        value: Any = row if about.of is None else value_or_none(run, about.of, row)
        if value is None:  # left out, as SQL and Virtuoso do
            return
        if about.is_distinct:
            if value in self._seen:
                return
            run.terms.hold()
            self._seen.add(value)
        self.count += 1
        if about.function != "Count":
            try:
                _STEPS[about.function](self, run, value)
            except FAULTS:
                self._failed = True

    def total(self, run: QueryRun, value: Any) -> None:
        self._value = calculate("+", self._value or (INTEGER, 0), number(as_term(run, value)))

    def first(self, run: QueryRun, value: Any) -> None:
        self._value = value if self._value is None else self._value

    def extreme(self, run: QueryRun, value: Any) -> None:
        if self._value is None:
            self._value = value
        elif value != self._value:
            is_more = order_key(as_term(run, value)) > order_key(as_term(run, self._value))
            if is_more is (self.about.function == "Max"):
                self._value = value

    def text(self, run: QueryRun, value: Any) -> None:
        found = str(as_term(run, value))
        self._size += len(found)
        if self._size > LONGEST:
            raise ValueFault
        self._texts.append(found)

    def result(self, run: QueryRun) -> int | None:
        """The number of its term, nothing where it has no value."""
        function, value = self.about.function, self._value
        if function == "Count":
            return run.terms.encode(number_literal(INTEGER, self.count))
        if self._failed:
            return None
        if function == "GroupConcat":
            return run.terms.encode(Literal(self.about.separator.join(self._texts)))
        if function in ("Sum", "Avg"):
            total = value or (INTEGER, 0)
            if function == "Avg" and self.count:
                total = calculate("/", total, (INTEGER, self.count))
            return run.terms.encode(number_literal(*total))
        return value


_STEPS: dict[str, Callable[[_Column, QueryRun, Any], None]] = {
    "Sum": _Column.total,
    "Avg": _Column.total,
    "Min": _Column.extreme,
    "Max": _Column.extreme,
    "Sample": _Column.first,
    "GroupConcat": _Column.text,
}
