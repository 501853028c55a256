"""Triple patterns joined: the cheapest next, by a count for the rows at hand."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Any

from rdflib import BNode, Literal, Variable
from rdflib.plugins.sparql.sparql import Prologue
from rdflib.term import Identifier

from graphwalker.graphs.sparql_engine.predicates import Predicates
from graphwalker.graphs.sparql_engine.terms import CHUNK, QueryTerms

NumberRow = tuple[int | None, ...]
"""The number of each term of a pattern by its slot, nothing where it is unbound; last comes the
place of the row that it was made from."""
FEWEST, MOST = 16, 1024
"""Rows that are joined together: few at first, so that a LIMIT stops early."""
SAMPLED = 4
ANYWHERE = 1e15


class QueryRun:
    """One execution of a query. rdflib's functions ask it for `now`, `bnodes` and `prologue`."""

    def __init__(self, terms: QueryTerms, constants: dict[Any, Any]) -> None:
        self.terms, self.predicates = terms, Predicates(terms)
        self.constants = constants
        """The terms that stand in the places of the query's shape."""
        self.kept: dict[int, Any] = {}
        """What was found for a part of the query, once for all rows."""
        self.now, self.prologue = datetime.now(UTC), Prologue()
        self.bnodes: dict[Any, Any] = defaultdict(BNode)

    def pattern(self, part: Any) -> "BasicPattern":
        """A basic pattern of rdflib as numbers."""
        if id(part) not in self.kept:
            self.kept[id(part)] = BasicPattern(self, part.triples, part.starts)
        return self.kept[id(part)]

    def encode(self, term: Any) -> int:
        return self.terms.encode(self.constants.get(term, term))


def put(row: NumberRow, slot: int, value: int) -> NumberRow | None:
    """The row with that value; nothing where it has another already."""
    known = row[slot]
    if known is None:
        return (*row[:slot], value, *row[slot + 1 :])
    return row if known == value else None


@dataclass(frozen=True, slots=True)
class TriplePattern:
    """The slots of subject, predicate and object."""

    head: int
    over: int
    tail: int

    @property
    def slots(self) -> tuple[int, ...]:
        return self.head, self.over, self.tail

    def cost(self, run: QueryRun, row: NumberRow) -> float:
        """About how many rows the pattern makes of one."""
        head, over, tail = row[self.head], row[self.over], row[self.tail]
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

    def extend(self, run: QueryRun, rows: Sequence[NumberRow]) -> Iterator[NumberRow]:
        """The rows, each with every way to match the pattern."""
        self._prepare(run, rows)
        head_at, over_at, tail_at = self.head, self.over, self.tail
        for row in rows:
            head, over, tail = row[head_at], row[over_at], row[tail_at]
            if over is None:
                yield from self._any(run, row, head, tail)
                continue
            predicate = run.predicates[over]
            if head is not None and tail is not None:
                if predicate.has(head, tail):
                    yield row
            elif head is not None:
                before, after = row[:tail_at], row[tail_at + 1 :]
                for end in predicate.forward(head):
                    yield (*before, end, *after)
            elif tail is not None:
                before, after = row[:head_at], row[head_at + 1 :]
                for end in predicate.backward(tail):
                    yield (*before, end, *after)
            else:
                for pair in predicate.scan():
                    first = put(row, head_at, pair[0])
                    if first is not None and (found := put(first, tail_at, pair[1])) is not None:
                        yield found

    def _prepare(self, run: QueryRun, rows: Sequence[NumberRow]) -> None:
        """Look for the heads of many literals at once."""
        tails = {row[self.tail] for row in rows if row[self.head] is None}
        literals = [tail for tail in tails if tail is not None and run.terms.graph.is_literal(tail)]
        if literals and (over := rows[0][self.over]) is not None:
            run.predicates[over].find_heads(literals)

    def _any(
        self, run: QueryRun, row: NumberRow, head: int | None, tail: int | None
    ) -> Iterator[NumberRow]:
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
        for triple in found:
            matched: NumberRow | None = row
            for slot, value in zip(self.slots, triple, strict=True):
                if matched is not None:
                    matched = put(matched, slot, value)
            if matched is not None:
                yield matched


PropertyPath = tuple[Any, ...]
"""`("link", k)`, `("back", path)`, `("chain", paths)`, `("either", paths)`, `("repeat", path,
zero, more)` or `("not", ks)`, where k is the number of a predicate."""


@dataclass(frozen=True, slots=True)
class PathPattern:
    """A property path between two positions."""

    head: int
    path: PropertyPath
    tail: int

    @property
    def slots(self) -> tuple[int, ...]:
        return self.head, self.tail

    def cost(self, run: QueryRun, row: NumberRow) -> float:
        unbound = (row[self.head] is None) + (row[self.tail] is None)
        return (20.0, 100.0, ANYWHERE / 2)[unbound]

    def extend(self, run: QueryRun, rows: Sequence[NumberRow]) -> Iterator[NumberRow]:
        for row in rows:
            head, tail = row[self.head], row[self.tail]
            if head is None and tail is not None:
                for end in walk(run, self.path, tail, False):
                    if (found := put(row, self.head, end)) is not None:
                        yield found
                continue
            for start in run.predicates.all_nodes() if head is None else (head,):
                run.terms.check()
                begun = (put(row, self.head, start) or row) if head is None else row
                for end in walk(run, self.path, start, True):
                    if (found := put(begun, self.tail, end)) is not None:
                        yield found


def walk(run: QueryRun, path: PropertyPath, node: int, out: bool) -> Iterable[int]:
    """The nodes at the end of a path, once for each way, but for repeated paths."""
    kind = path[0]
    if kind == "link":
        predicate = run.predicates[path[1]]
        return predicate.forward(node) if out else predicate.backward(node)
    if kind == "back":
        return walk(run, path[1], node, not out)
    if kind == "either":
        return chain.from_iterable(walk(run, part, node, out) for part in path[1])
    if kind == "chain":
        return _follow(run, path[1] if out else path[1][::-1], node, out)
    if kind == "repeat":
        return _repeat(run, path, node, out)
    around = run.predicates.around(node, out)
    return (end for over, ends in around if over not in path[1] for end in ends)


def _follow(run: QueryRun, parts: Sequence[PropertyPath], node: int, out: bool) -> Iterable[int]:
    middle = walk(run, parts[0], node, out)
    if len(parts) == 1:
        return middle
    return chain.from_iterable(_follow(run, parts[1:], one, out) for one in middle)


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


AnyPattern = TriplePattern | PathPattern


class BasicPattern:
    """The patterns of one group: `solve` joins rows of terms with their solutions."""

    def __init__(self, run: QueryRun, triples: Sequence[Any], starts: Mapping[Any, Any]) -> None:
        self._run, self._slots, self._row = run, dict[Any, int](), list[int | None]()
        patterns = [self._pattern(*triple) for triple in triples]
        self._patterns: tuple[AnyPattern, ...] = tuple(patterns)
        self._names = [(name, at) for name, at in self._slots.items() if isinstance(name, Variable)]
        for name, constant in starts.items():
            if not isinstance(run.constants.get(constant), Literal):  # it may equal others
                self._row[self._slots[name]] = run.encode(constant)

    def solve(self, rows: Iterator[dict[Any, Any]]) -> Iterator[dict[Any, Any]]:
        """Each row with each solution that fits it."""
        size, names, decode = FEWEST, self._names, self._run.terms.decode
        while batch := list(islice(rows, size)):
            begun = (self._begin(row, place) for place, row in enumerate(batch))
            starts = [row for row in begun if row is not None]
            made = _join(self._run, starts, self._patterns, (*self._row, None))
            for found in made if starts else ():
                solution = batch[found[-1] or 0].copy()
                for name, at in names:
                    solution[name] = decode(found[at] or 0)
                yield solution
            size = min(size * 4, MOST)

    def _begin(self, given: Mapping[Any, Any], place: int) -> NumberRow | None:
        row: NumberRow | None = (*self._row, place)
        for name, at in self._names:
            if row is not None and (term := given.get(name)) is not None:
                row = put(row, at, self._run.terms.encode(term))
        return row

    def _slot(self, term: Any) -> int:
        if term not in self._slots:
            self._slots[term] = len(self._row)
            is_open = isinstance(term, Variable | BNode)
            self._row.append(None if is_open else self._run.encode(term))
        return self._slots[term]

    def _pattern(self, head: Any, over: Any, tail: Any) -> AnyPattern:
        if isinstance(over, tuple):
            return PathPattern(self._slot(head), self._path(over), self._slot(tail))
        return TriplePattern(self._slot(head), self._slot(over), self._slot(tail))

    def _path(self, path: Any) -> PropertyPath:
        if isinstance(path, Identifier):
            return "link", self._run.encode(path)
        kind, inner = path[:2]
        if kind == "not":
            return kind, [self._run.encode(one) for one in inner]
        made = self._path(inner) if kind in ("back", "repeat") else [*map(self._path, inner)]
        return kind, made, *path[2:]


def _join(
    run: QueryRun, rows: list[NumberRow], patterns: tuple[AnyPattern, ...], empty: NumberRow
) -> Iterator[NumberRow]:
    if not patterns:
        yield from rows
        return
    best = patterns[0] if len(patterns) == 1 else _cheapest(run, rows, patterns)
    left = tuple(pattern for pattern in patterns if pattern is not best)
    is_apart = len(rows) > 1 and _is_apart(run, rows, best, empty)
    made = _multiply(run, rows, best, empty) if is_apart else best.extend(run, rows)
    found: list[NumberRow] = []
    size = FEWEST
    for number, row in enumerate(made):
        if not number & 1023:
            run.terms.check()
        if not left:
            yield row
            continue
        found.append(row)
        if len(found) >= size:
            yield from _join(run, found, left, empty)
            found, size = [], min(size * 4, MOST)
    if found:
        yield from _join(run, found, left, empty)


def _is_apart(run: QueryRun, rows: list[NumberRow], pattern: AnyPattern, empty: NumberRow) -> bool:
    """Whether the pattern shares no variable with the rows, and matches little."""
    open_ends = [at for at in pattern.slots if empty[at] is None]
    if any(row[at] is not None for row in rows for at in open_ends):
        return False
    return pattern.cost(run, empty) <= CHUNK


def _multiply(
    run: QueryRun, rows: list[NumberRow], pattern: AnyPattern, empty: NumberRow
) -> Iterator[NumberRow]:
    """Every row with every match: the pattern is matched once."""
    found = list(pattern.extend(run, [empty]))
    for row in rows:
        for one in found:
            yield tuple(b if a is None else a for a, b in zip(row, one, strict=True))


def _cheapest(run: QueryRun, rows: list[NumberRow], patterns: tuple[AnyPattern, ...]) -> AnyPattern:
    """The pattern that makes the fewest rows of those at hand."""
    some = rows[:: max(1, len(rows) // SAMPLED)][:SAMPLED]
    return min(patterns, key=lambda pattern: sum(pattern.cost(run, row) for row in some))
