"""A query as SPARQL: the same answers from any RDF store that holds the graph's triples."""

from collections.abc import Collection, Iterator

from graphwalker.errors import UserError
from graphwalker.graphs.base import FLATTENED, Direction
from graphwalker.graphs.sparql.terms import Vocabulary, is_plain
from graphwalker.query.constraint import DATE_FORM, NUMBER_FORM, Constraint
from graphwalker.query.query import Hop, Query

FREEBASE_VOCABULARY = Vocabulary()
_DOUBLE = "<http://www.w3.org/2001/XMLSchema#double>"
_SIGNS = {"above": ">", "below": "<", "in": "="}
_ID_FOR_A_NAME = "^[mg][.][0-9a-z_]+$"
"""A Freebase id in the place of a name names nothing (`graphs/names.py`)."""


def render(
    query: Query,
    relations: Collection[str] | None = None,
    vocabulary: Vocabulary = FREEBASE_VOCABULARY,
) -> str:
    """Return the query in SPARQL 1.1; its answers are the values of `?x`, each once.

    It means what `execute` does: nodes without a name are CVT nodes and never stood on; a
    flattened hop is the stored relation of that id where the entity has it, else the way through
    a CVT node to another entity. `relations` are those that the graph stores: with them only the
    cases that it needs are written, without them both. Ids go in as IRIs; raises `UserError` for
    an id that no IRI can be: such a query is one of our own form only.
    """
    writer = _Writer(
        frozenset(relations) if relations is not None else None, vocabulary, query.avoided_ids
    )
    meet = "?meet" if query.tail else "?x"
    lines: list[str] = []
    for number, branch in enumerate(query.branches, start=1):
        lines += writer.path(writer.iri(branch.topic.id), branch.hops, f"b{number}", meet)
    lines += writer.path(meet, query.tail, "tail", "?x")
    if query.constraint:
        lines += writer.constraint_lines(query.constraint, lines)
    return "\n".join(["SELECT DISTINCT ?x WHERE {", *(f"  {line}" for line in lines), "}"])


class _Writer:
    """Hops as lines of a group graph pattern."""

    def __init__(
        self,
        relations: frozenset[str] | None,
        vocabulary: Vocabulary,
        avoided: frozenset[str] = frozenset(),
    ) -> None:
        self._relations = relations
        self._vocabulary = vocabulary
        self._avoided = avoided

    def iri(self, node_id: str) -> str:
        found = self._vocabulary.iri(node_id)
        if found is None or not is_plain(node_id):
            raise UserError(f"{node_id!r} cannot be an IRI: no SPARQL can ask for it")
        return found

    def path(self, start: str, hops: tuple[Hop, ...], label: str, end: str) -> Iterator[str]:
        here = start
        for number, hop in enumerate(hops, start=1):
            there = end if number == len(hops) else f"?{label}_{number}"
            yield from self._hop(here, hop, there, f"?{label}_{number}_cvt")
            yield from (f"FILTER ({there} != {self.iri(i)})" for i in sorted(self._avoided))
            here = there

    def constraint_lines(self, constraint: Constraint, base: list[str]) -> Iterator[str]:
        """Yield the filter on `?x`, whose candidates the `base` lines give. A superlative's bound
        is a subquery: variables of the same name in it are others."""
        if constraint.kind == "type":
            kind = self.iri(self._vocabulary.type)
            yield _triple("?x", kind, self.iri(constraint.bound), Direction.OUT)
            return
        value = _key(constraint, "?value")
        yield from self._value("?x", constraint, "?value")
        if constraint.operator in ("highest", "lowest"):
            function = "MAX" if constraint.operator == "highest" else "MIN"
            inner = [*base, *self._value("?x", constraint, "?other")]
            best = f"{function}({_key(constraint, '?other')}) AS ?best"
            yield f"{{ SELECT ({best}) WHERE {{ {' '.join(inner)} }} }}"
            yield f"FILTER ({value} = ?best)"
        elif constraint.than:
            yield from self._value(self.iri(constraint.than.id), constraint, "?bound")
            yield f"FILTER ({value} {_SIGNS[constraint.operator]} {_key(constraint, '?bound')})"
        else:
            year = constraint.kind == "date"
            left = f"SUBSTR({value}, 1, {len(constraint.bound)})" if year else value
            right = f'"{constraint.bound}"' if year else f'{_DOUBLE}("{constraint.bound}")'
            yield f"FILTER ({left} {_SIGNS[constraint.operator]} {right})"

    def _value(self, here: str, constraint: Constraint, value: str) -> Iterator[str]:
        yield from self._hop(here, Hop(constraint.relation), value, f"{value}_cvt")
        form = DATE_FORM if constraint.kind == "date" else NUMBER_FORM
        yield f'FILTER (isLiteral({value}) && REGEX(STR({value}), "{form}"))'

    def _hop(self, here: str, hop: Hop, there: str, cvt: str) -> Iterator[str]:
        stored = [
            _triple(here, self.iri(hop.relation), there, hop.direction),
            self._name_filter(there),
        ]
        if FLATTENED not in hop.relation:
            yield from stored
            return
        crossed = self._cross_lines(here, hop, there, cvt)
        if self._relations is not None and hop.relation not in self._relations:
            yield from crossed
        elif self._relations is not None and not self._has_halves(hop.relation):
            yield from stored
        else:
            any_stored = _triple(here, self.iri(hop.relation), "?any", hop.direction)
            crossed.append(f"FILTER NOT EXISTS {{ {any_stored} }}")
            yield f"{{ {' '.join(stored)} }} UNION {{ {' '.join(crossed)} }}"

    def _cross_lines(self, here: str, hop: Hop, there: str, cvt: str) -> list[str]:
        first, _, second = hop.relation.partition(FLATTENED)
        out = hop.direction == Direction.OUT
        near, far = (first, second) if out else (second, first)
        return [
            _triple(here, self.iri(near), cvt, hop.direction),
            _triple(cvt, self.iri(far), there, hop.direction),
            f"FILTER NOT EXISTS {{ {self._name_of(cvt)} }}",
            f"FILTER ({there} != {here})",
            self._name_filter(there),
        ]

    def _name_filter(self, node: str) -> str:
        return f"FILTER (isLiteral({node}) || EXISTS {{ {self._name_of(node)} }})"

    def _name_of(self, node: str) -> str:
        name = f"{node}_name"
        pattern = f'FILTER (!REGEX(STR({name}), "{_ID_FOR_A_NAME}"))'
        return f"{node} {self.iri(self._vocabulary.name)} {name} . {pattern}"

    def _has_halves(self, relation: str) -> bool:
        assert self._relations is not None
        return all(half in self._relations for half in relation.split(FLATTENED))


def _key(constraint: Constraint, value: str) -> str:
    """Return what a value is ordered by: ISO dates by their text, numbers as doubles."""
    text = f"STR({value})"
    return text if constraint.kind == "date" else f"{_DOUBLE}({text})"


def _triple(here: str, relation: str, there: str, direction: Direction) -> str:
    ends = (here, there) if direction == Direction.OUT else (there, here)
    return f"{ends[0]} {relation} {ends[1]} ."
