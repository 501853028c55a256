"""Constraints: a filter on the answers of a walk, by a date or a number that each of them has, or
by what kind of thing they are."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph
from graphwalker.graphs.literals import is_literal, literal_name

ValueKind = Literal["date", "number", "type"]
Operator = Literal["above", "below", "in", "highest", "lowest", "is"]

CONSTRAINED: tuple[str, ...] = ("comparative", "superlative", "date", "number", "type")
"""Structures beyond GraphWalker's: a walk of one or two hops, its answers filtered. 12 % of CWQ's
questions compare or take a superlative; of WebQSP's some ask for a type: `which countries border
France?`, beside which there are seas."""

TYPE = "type.object.type"
"""What a constraint of a type has as its relation. No tool lists it: that Spain is a country, an
agent must know by itself."""

DATE_FORM = "^[0-9]{4}(-|$)"
"""What can be ordered as a date: a year, or a date that begins with one (XSD's lexical forms)."""
NUMBER_FORM = r"^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$"
_DATE, _NUMBER = re.compile(DATE_FORM), re.compile(NUMBER_FORM)
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_DATES = ("date", "dateTime", "gYear", "gYearMonth")
_NUMBERS = (
    *("integer", "int", "long", "short", "decimal", "float", "double"),
    *("nonNegativeInteger", "positiveInteger", "unsignedInt", "unsignedLong"),
)


@dataclass(frozen=True, slots=True)
class Constraint:
    """Keeps the answers whose value of `relation` is above or below a bound or in a year, or is
    the highest or lowest of all, or those that are of a type. Later dates are higher ones."""

    relation: str
    """From an answer to its value; it may be flattened, through a CVT."""
    kind: ValueKind
    operator: Operator
    bound: str = ""
    """A year, or a number, in digits, or a type; `""` where the bound is the value of `than`."""
    than: Entity | None = None
    """An entity whose own value is the bound."""

    @property
    def structure(self) -> str:
        """The structure of a walk that has this constraint, one of `CONSTRAINED`."""
        if self.operator in ("highest", "lowest"):
            return "superlative"
        return "comparative" if self.than else self.kind

    @property
    def path(self) -> str:
        """What makes two constraints the same apart from their bounds."""
        return f"{self.relation} {self.operator}{' than' if self.than else ''}"

    @property
    def relations(self) -> tuple[str, ...]:
        """The relation of the graph that it asks for; none for a type."""
        return () if self.kind == "type" else (self.relation,)

    def to_json(self) -> dict[str, Any]:
        record = {"relation": self.relation, "kind": self.kind, "operator": self.operator}
        if self.bound:
            record["bound"] = self.bound
        than = {"than": {"id": self.than.id, "name": self.than.name}} if self.than else {}
        return {**record, **than}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "Constraint":
        """Inverse of `to_json`. Raises `KeyError` or `ValueError` for what is none."""
        than = record.get("than")
        kind, operator = record["kind"], record["operator"]
        if kind not in get_args(ValueKind):
            raise ValueError(f"a constraint is of a date, a number or a type, not {kind!r}")
        of_kind = ("is",) if kind == "type" else get_args(Operator)[:-1]
        if operator not in of_kind:
            raise ValueError(f"no constraint of a {kind} has the operator {operator!r}")
        bound = str(record.get("bound", ""))
        bounded = operator in ("above", "below", "in", "is")
        if bounded and not than and (not bound or key_of(kind, bound) is None):
            raise ValueError(f"a constraint {operator} {bound!r} has no bound")
        other = Entity(than["id"], than["name"]) if than else None
        return cls(record["relation"], kind, operator, bound, other)


SortKey = str | float


def key_of(kind: ValueKind, lexical: str) -> SortKey | None:
    """Return what a value is ordered by; `None` for one that is no such date or number."""
    if kind == "type":
        return lexical
    if kind == "date":
        return lexical if _DATE.match(lexical) else None
    return float(lexical) if _NUMBER.match(lexical) else None


def kind_of(literal: str) -> ValueKind | None:
    """Date or number, by the datatype of a literal's id; without one only a whole date is known."""
    if not is_literal(literal):
        return None
    name, datatype = literal_name(literal), literal.rpartition("#")[2].rstrip(">")
    if literal.endswith('"'):
        return "date" if _DAY.fullmatch(name) else None
    kind: ValueKind | None = "date" if datatype in _DATES else None
    kind = "number" if datatype in _NUMBERS else kind
    return kind if kind and key_of(kind, name) is not None else None


def values_of(graph: KnowledgeGraph, entity_id: str, constraint: Constraint) -> tuple[str, ...]:
    """Tell what the constraint filters the entity by: its types, or the values of the relation."""
    if constraint.kind == "type":
        return tuple(graph.types(entity_id))
    return literals_of(graph, entity_id, constraint.relation)


def literals_of(graph: KnowledgeGraph, entity_id: str, relation: str) -> tuple[str, ...]:
    """Return the lexical forms of the literals at the end of the relation."""
    found = graph.step(entity_id, relation, Direction.OUT)
    return tuple(literal_name(end.id) for end in found if is_literal(end.id))


def filter_candidates(
    graph: KnowledgeGraph, constraint: Constraint, candidates: Sequence[Entity]
) -> tuple[Entity, ...]:
    """Return the candidates that the constraint keeps, in order, by their values in the graph."""
    values = {c: values_of(graph, c.id, constraint) for c in candidates}
    than = constraint.than
    return choose_candidates(
        constraint, values, values_of(graph, than.id, constraint) if than else ()
    )


def choose_candidates(
    constraint: Constraint, values: Mapping[Entity, Sequence[str]], than: Sequence[str] = ()
) -> tuple[Entity, ...]:
    """Return the candidates that the constraint keeps, given the values of each (and of `than`).

    One without a value is never kept; of one with several, any may count.
    """
    keys = {c: _keys(constraint.kind, found) for c, found in values.items()}
    every = [key for found in keys.values() for key in found]
    if constraint.operator in ("highest", "lowest"):
        pick = max if constraint.operator == "highest" else min
        bounds = [pick(every)] if every else []  # pyright: ignore[reportArgumentType, reportCallIssue]
    else:
        bounds = _keys(constraint.kind, than if constraint.than else (constraint.bound,))
    return tuple(c for c, found in keys.items() if _holds(constraint, found, bounds))


def _keys(kind: ValueKind, lexicals: Iterable[str]) -> list[SortKey]:
    return [key for lexical in lexicals if (key := key_of(kind, lexical)) is not None]


def _holds(constraint: Constraint, found: Sequence[SortKey], bounds: Sequence[SortKey]) -> bool:
    return any(_compares(constraint, key, bound) for key in found for bound in bounds)


def _compares(constraint: Constraint, key: Any, bound: Any) -> bool:
    if constraint.kind == "date" and constraint.bound:
        key = key[: len(bound)]  # by years alone
    if constraint.operator == "above":
        return key > bound
    return key < bound if constraint.operator == "below" else key == bound


def constraint_fault(
    graph: KnowledgeGraph, constraint: Constraint, candidates: Sequence[Entity]
) -> str:
    """Return why the constraint does not settle which of the candidates are answers, or `""`.

    Every candidate (and `than`) has one value, and no two of those that decide are equal or, as
    1990 and 1990-05-01, such that neither comes first. Of a type: the types of each are known.
    """
    if len(candidates) < 2:
        return "single_candidate"
    than = [constraint.than] if constraint.than else []
    found = [values_of(graph, e.id, constraint) for e in (*candidates, *than)]
    if constraint.kind == "type":
        return "" if all(found) else "type_unknown"
    if any(len(values) > 1 for values in found):
        return "value_ambiguous"
    keys = [key for values in found for key in _keys(constraint.kind, values)]
    if len(keys) < len(found):
        return "value_missing"
    if than:
        values, bound = keys[:-1], keys[-1]
    elif constraint.bound:
        values, bound = keys, key_of(constraint.kind, constraint.bound)
    else:
        best = filter_candidates(graph, constraint, candidates)
        if len(best) != 1:
            return "value_tie"
        place = candidates.index(best[0])
        values, bound = keys[:place] + keys[place + 1 :], keys[place]
    inside = than and constraint.than in candidates
    if constraint.operator == "in" or sum(_is_tie(k, bound) for k in values) == bool(inside):
        return ""
    return "value_tie"


def _is_tie(one: SortKey, other: SortKey | None) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return one.startswith(other) or other.startswith(one)
    return one == other
