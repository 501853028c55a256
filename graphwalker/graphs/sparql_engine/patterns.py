"""Triple patterns joined: the cheapest next, by a count for the rows at hand."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from graphwalker.graphs.sparql_engine.predicates import Predicates
from graphwalker.graphs.sparql_engine.terms import CHUNK, QueryTerms

SolutionRow = tuple[int | None, ...]
"""The number of each variable's term, by its slot; nothing where it is unbound."""
FEWEST, MOST = 16, 1024
"""Rows that are joined together: few at first, so that a LIMIT stops early."""
SAMPLED = 4
ANYWHERE = 1e15


@dataclass(slots=True)
class QueryRun:
    """One execution of a plan."""

    terms: QueryTerms
    constants: list[int]
    width: int
    predicates: Predicates = field(init=False)
    kept: dict[int, Any] = field(default_factory=dict[int, Any])
    """Results of parts that do not depend on the rows they are joined with."""

    def __post_init__(self) -> None:
        self.predicates = Predicates(self.terms)

    @property
    def empty(self) -> SolutionRow:
        return (None,) * self.width


Condition = Callable[[QueryRun, SolutionRow], bool]


@dataclass(frozen=True, slots=True)
class RowFilter:
    """A condition on rows, and the slots that it reads."""

    holds: Condition
    slots: frozenset[int]
    is_local: bool
    """Whether it reads those slots alone: EXISTS looks at others, too."""
    equals: tuple[int, int] | None = None
    """The slot and the constant where it is `?x = constant`."""


def put(row: SolutionRow, slot: int, value: int) -> SolutionRow | None:
    """The row with that value; nothing where it has another already."""
    known = row[slot]
    if known is None:
        return (*row[:slot], value, *row[slot + 1 :])
    return row if known == value else None


@dataclass(frozen=True, slots=True)
class TriplePattern:
    """Positions of subject, predicate, object: a slot, or `~k` for the constant k."""

    head: int
    over: int
    tail: int

    @property
    def slots(self) -> frozenset[int]:
        return frozenset(at for at in (self.head, self.over, self.tail) if at >= 0)

    def cost(self, run: QueryRun, row: SolutionRow) -> float:
        """About how many rows the pattern makes of one."""
        head, over, tail = (_at(run, row, at) for at in (self.head, self.over, self.tail))
        if head is not None and tail is not None:
            return 0.5
        if over is None:
            if head is None and tail is None:
                return ANYWHERE
            node, out = (head, True) if head is not None else (tail, False)
            return run.predicates.degree(node or 0, out)
        predicate = run.predicates[over]
        if head is not None:
            return predicate.count_forward(head)
        if tail is not None:
            return predicate.count_backward(tail)
        return 10.0 + predicate.total()

    def extend(self, run: QueryRun, rows: Sequence[SolutionRow]) -> Iterator[SolutionRow]:
        """The rows, each with every way to match the pattern."""
        self._prepare(run, rows)
        head_at, over_at, tail_at = self.head, self.over, self.tail
        predicates, constants = run.predicates, run.constants
        for row in rows:
            head = row[head_at] if head_at >= 0 else constants[~head_at]
            over = row[over_at] if over_at >= 0 else constants[~over_at]
            tail = row[tail_at] if tail_at >= 0 else constants[~tail_at]
            if over is None:
                yield from self._any(run, row, head, tail)
            elif head is not None:
                predicate = predicates[over]
                if tail is not None:
                    if predicate.has(head, tail):
                        yield row
                    continue
                before, after = row[:tail_at], row[tail_at + 1 :]
                for end in predicate.forward(head):
                    yield (*before, end, *after)
            elif tail is not None:
                before, after = row[:head_at], row[head_at + 1 :]
                for end in predicates[over].backward(tail):
                    yield (*before, end, *after)
            else:
                for pair in predicates[over].scan():
                    first = put(row, head_at, pair[0])
                    if first is not None and (found := put(first, tail_at, pair[1])) is not None:
                        yield found

    def _prepare(self, run: QueryRun, rows: Sequence[SolutionRow]) -> None:
        """Look for the heads of many literals at once."""
        over = run.constants[~self.over] if self.over < 0 else None
        if over is None or self.head < 0:
            return
        tails = {_at(run, row, self.tail) for row in rows if row[self.head] is None}
        literals = [tail for tail in tails if tail is not None and run.terms.graph.is_literal(tail)]
        if literals:
            run.predicates[over].find_heads(literals)

    def _any(
        self, run: QueryRun, row: SolutionRow, head: int | None, tail: int | None
    ) -> Iterator[SolutionRow]:
        """Over any predicate."""
        found: Iterable[tuple[int, int, int]]
        if head is not None and tail is not None:
            ways = run.predicates.around(head, True)
            found = ((head, over, tail) for over, _ in ways if run.predicates[over].has(head, tail))
        elif head is not None:
            ways = run.predicates.around(head, True)
            found = ((head, over, end) for over, ends in ways for end in ends)
        elif tail is not None:
            ways = run.predicates.around(tail, False)
            found = ((end, over, tail) for over, ends in ways for end in ends)
        else:
            found = run.predicates.all()
        slots = (self.head, self.over, self.tail)
        for triple in found:
            matched: SolutionRow | None = row
            for slot, value in zip(slots, triple, strict=True):
                if slot >= 0 and matched is not None:
                    matched = put(matched, slot, value)
            if matched is not None:
                yield matched


PropertyPath = tuple[Any, ...]
"""`("link", k)`, `("back", path)`, `("chain", paths)`, `("either", paths)`, `("repeat", path,
zero, more)` or `("not", ks)`, where k is a constant."""


@dataclass(frozen=True, slots=True)
class PathPattern:
    """A property path between two positions."""

    head: int
    path: PropertyPath
    tail: int

    @property
    def slots(self) -> frozenset[int]:
        return frozenset(at for at in (self.head, self.tail) if at >= 0)

    def cost(self, run: QueryRun, row: SolutionRow) -> float:
        unbound = (_at(run, row, self.head) is None) + (_at(run, row, self.tail) is None)
        return (20.0, 100.0, ANYWHERE / 2)[unbound]

    def extend(self, run: QueryRun, rows: Sequence[SolutionRow]) -> Iterator[SolutionRow]:
        for row in rows:
            head, tail = _at(run, row, self.head), _at(run, row, self.tail)
            if head is None and tail is not None:
                for end in walk(run, self.path, tail, False):
                    if (found := put(row, self.head, end)) is not None:
                        yield found
                continue
            for start in run.predicates.all_nodes() if head is None else (head,):
                run.terms.check()
                begun = (put(row, self.head, start) or row) if head is None else row
                for end in walk(run, self.path, start, True):
                    if self.tail < 0:
                        if end == tail:
                            yield begun
                    elif (found := put(begun, self.tail, end)) is not None:
                        yield found


def walk(run: QueryRun, path: PropertyPath, node: int, out: bool) -> Iterable[int]:
    """The nodes at the end of a path, once for each way, but for repeated paths."""
    kind = path[0]
    if kind == "link":
        predicate = run.predicates[run.constants[path[1]]]
        return predicate.forward(node) if out else predicate.backward(node)
    if kind == "back":
        return walk(run, path[1], node, not out)
    if kind == "either":
        return chain.from_iterable(walk(run, part, node, out) for part in path[1])
    if kind == "chain":
        return _follow(run, path[1] if out else path[1][::-1], node, out)
    if kind == "repeat":
        return _repeat(run, path, node, out)
    return _walk_others(run, path, node, out)


def _follow(run: QueryRun, parts: Sequence[PropertyPath], node: int, out: bool) -> Iterator[int]:
    for middle in walk(run, parts[0], node, out):
        if len(parts) == 1:
            yield middle
        else:
            yield from _follow(run, parts[1:], middle, out)


def _repeat(run: QueryRun, path: PropertyPath, node: int, out: bool) -> Iterator[int]:
    _, inner, zero, more = path
    seen, ring = set[int](), [node]
    if zero:
        seen.add(node)
        yield node
    while ring:
        found: list[int] = []
        for one in ring:
            for end in walk(run, inner, one, out):
                if end not in seen:
                    seen.add(end)
                    run.terms.hold()
                    found.append(end)
                    yield end
        ring = found if more else []


def _walk_others(run: QueryRun, path: PropertyPath, node: int, out: bool) -> Iterator[int]:
    """Over every predicate but those named."""
    refused: set[int] = {run.constants[k] for k in path[1]}
    for over, ends in run.predicates.around(node, out):
        if over not in refused:
            yield from ends


@dataclass(frozen=True, slots=True)
class ConstantHint:
    """A filter `?x = <IRI>`, from which a join may start; it is tested all the same. A literal may
    equal others, and is no start."""

    slot: int
    constant: int

    @property
    def slots(self) -> frozenset[int]:
        return frozenset((self.slot,))

    def cost(self, run: QueryRun, row: SolutionRow) -> float:
        return 2 * ANYWHERE if run.terms.is_literal(run.constants[self.constant]) else 0.1

    def extend(self, run: QueryRun, rows: Sequence[SolutionRow]) -> Iterator[SolutionRow]:
        for row in rows:
            yield put(row, self.slot, run.constants[self.constant]) or row


AnyPattern = TriplePattern | PathPattern | ConstantHint


@dataclass(frozen=True, slots=True)
class JoinedPatterns:
    """Patterns of one group with the filters that read their variables alone."""

    patterns: tuple[AnyPattern, ...]
    filters: tuple[RowFilter, ...]

    def solve(self, run: QueryRun, rows: Iterator[SolutionRow]) -> Iterator[SolutionRow]:
        """The rows joined with the solutions of the patterns."""
        size = FEWEST
        while batch := list(islice(rows, size)):
            yield from _join(run, batch, self.patterns, self.filters, frozenset())
            size = min(size * 4, MOST)


def _join(
    run: QueryRun,
    rows: list[SolutionRow],
    patterns: tuple[AnyPattern, ...],
    filters: tuple[RowFilter, ...],
    bound: frozenset[int],
) -> Iterator[SolutionRow]:
    if not patterns:
        yield from rows
        return
    best = patterns[0] if len(patterns) == 1 else _cheapest(run, rows, patterns)
    left = tuple(pattern for pattern in patterns if pattern is not best)
    bound |= best.slots
    made = best.extend(run, rows)
    tests = [one for one in filters if one.slots <= bound]
    if len(rows) > 1 and _is_apart(run, rows, best):
        made = _multiply(run, rows, best, [one for one in tests if one.slots <= best.slots])
        tests = [one for one in tests if not one.slots <= best.slots]
    ready = [one.holds for one in tests]
    later = tuple(one for one in filters if not one.slots <= bound)
    found: list[SolutionRow] = []
    size = FEWEST if left else 1
    for number, row in enumerate(made):
        if not number & 1023:
            run.terms.check()
        if ready and not all(holds(run, row) for holds in ready):
            continue
        if not left:
            yield row
            continue
        found.append(row)
        if len(found) >= size:
            yield from _join(run, found, left, later, bound)
            found, size = [], min(size * 4, MOST)
    if found:
        yield from _join(run, found, left, later, bound)


def _is_apart(run: QueryRun, rows: list[SolutionRow], pattern: AnyPattern) -> bool:
    """Whether the pattern shares no variable with the rows, and matches little."""
    slots = pattern.slots
    if any(row[at] is not None for row in rows for at in slots):
        return False
    return pattern.cost(run, run.empty) <= CHUNK


def _multiply(
    run: QueryRun, rows: list[SolutionRow], pattern: AnyPattern, tests: list[RowFilter]
) -> Iterator[SolutionRow]:
    """Every row with every match: the pattern is matched, and its filters are tested, once."""
    matches = pattern.extend(run, [run.empty])
    found = [one for one in matches if all(test.holds(run, one) for test in tests)]
    for row in rows:
        for one in found:
            yield tuple(b if a is None else a for a, b in zip(row, one, strict=True))


def _cheapest(
    run: QueryRun, rows: list[SolutionRow], patterns: tuple[AnyPattern, ...]
) -> AnyPattern:
    """The pattern that makes the fewest rows of those at hand."""
    some = rows[:: max(1, len(rows) // SAMPLED)][:SAMPLED]
    return min(patterns, key=lambda pattern: sum(pattern.cost(run, row) for row in some))


def _at(run: QueryRun, row: SolutionRow, position: int) -> int | None:
    return row[position] if position >= 0 else run.constants[~position]
