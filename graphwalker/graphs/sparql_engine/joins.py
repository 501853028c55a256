"""Parts of a plan, filtered and joined by hash."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from graphwalker.graphs.sparql_engine.patterns import QueryRun, RowFilter, SolutionRow

Slots = frozenset[int]
Solve = Callable[[QueryRun, Iterator[SolutionRow]], Iterator[SolutionRow]]
"""Joins rows with the solutions of a part."""
NOTHING: Slots = frozenset()


@dataclass(frozen=True, slots=True)
class PlanPart:
    """A part of a plan: what it may bind, what it binds in every solution, and how."""

    slots: Slots
    certain: Slots
    solve: Solve


def apply_filters(part: PlanPart, filters: Sequence[RowFilter]) -> PlanPart:
    if not filters:
        return part
    tests = [one.holds for one in filters if one.slots & part.slots]
    # What the part does not bind is tested before it: once, and not for each row of a product.
    before = [one.holds for one in filters if not one.slots & part.slots]

    def solve(run: QueryRun, rows: Iterator[SolutionRow]) -> Iterator[SolutionRow]:
        if before:
            rows = (row for row in rows if all(holds(run, row) for holds in before))
        for row in part.solve(run, rows):
            if all(holds(run, row) for holds in tests):
                yield row

    return PlanPart(part.slots, part.certain, solve)


def hash_join(inner: PlanPart, keys: list[int], outer: Slots) -> Solve:
    def solve(run: QueryRun, rows: Iterator[SolutionRow]) -> Iterator[SolutionRow]:
        if not outer:
            for row in rows:
                found = inner.solve(run, iter((run.empty,)))
                yield from (both for one in found if (both := merge_rows(row, one)))
            return
        if id(inner) not in run.kept:
            found = keep_rows(run, inner.solve(run, iter((run.empty,))))
            index: dict[Any, list[SolutionRow]] = {}
            for one in found:
                index.setdefault(tuple(one[at] for at in keys), []).append(one)
            run.kept[id(inner)] = found, index
        found, index = run.kept[id(inner)]
        for number, row in enumerate(rows):
            if not number & 255:
                run.terms.check()
            key = tuple(row[at] for at in keys)
            some = found if None in key else index.get(key, ())
            yield from (both for one in some if (both := merge_rows(row, one)))

    return solve


def keep_rows(run: QueryRun, rows: Iterable[SolutionRow]) -> list[SolutionRow]:
    kept: list[SolutionRow] = []
    for row in rows:
        run.terms.hold()
        kept.append(row)
    return kept


def merge_rows(row: SolutionRow, other: SolutionRow) -> SolutionRow | None:
    for a, b in zip(row, other, strict=True):
        if a is not None and b is not None and a != b:
            return None
    return tuple(b if a is None else a for a, b in zip(row, other, strict=True))


def excludes(row: SolutionRow, other: SolutionRow, shared: Slots) -> bool:
    both = [at for at in shared if row[at] is not None and other[at] is not None]
    return bool(both) and all(row[at] == other[at] for at in both)
