"""rdflib's algebra, read: joins as lists, filters as conjuncts, the variables of an expression."""

from collections.abc import Iterator
from typing import Any, cast

from rdflib import BNode, Literal, Variable
from rdflib.plugins.sparql.parserutils import CompValue


def part_of(expression: Any, key: str) -> Any:
    """A part as it was parsed; rdflib's own look-up would evaluate it. The pattern of EXISTS is the
    translated one, an attribute: translating took the filters out of what was parsed."""
    if key == "graph" and key in vars(expression):
        return expression.graph
    return dict[str, Any].__getitem__(expression, key)


def keep_constant_filter(part: Any) -> None:
    """Write the constant of a parsed filter as `!!constant`: translating drops a false one."""
    if getattr(part, "name", "") != "Filter":
        return
    inner = expression = part["expr"]
    while isinstance(inner, CompValue) and list(inner) == ["expr"]:
        inner = dict[str, Any].__getitem__(inner, "expr")
    if isinstance(inner, Literal) or getattr(inner, "name", "") == "literal":
        part["expr"] = CompValue("UnaryNot", expr=CompValue("UnaryNot", expr=expression))


def flatten(part: Any, name: str) -> Iterator[Any]:
    if getattr(part, "name", "") == name:
        yield from flatten(part.p1, name)
        yield from flatten(part.p2, name)
    else:
        yield part


def is_table(part: Any) -> bool:
    """Whether a part is VALUES, and no sub-select; rdflib has a list where there are none."""
    inner: Any = part.p
    return isinstance(inner, list) or inner.name == "values"


def merge_plain(parts: list[Any]) -> Iterator[Any]:
    """The parts, with all plain patterns in one."""
    plain = [part for part in parts if part.name == "BGP" and part.triples]
    yield from (part for part in parts if part.name != "BGP" or not part.triples)
    if plain:
        merged = plain[0].clone()
        merged["triples"] = [triple for part in plain for triple in part.triples]
        yield merged


def join_rank(part: Any) -> int:
    """Which part of a join is solved first: tables, sub-selects, what starts at a constant."""
    if part.name == "ToMultiSet":
        return 0 if is_table(part) else 1
    if part.name != "BGP":
        return 3
    fixed = (end for head, _, tail in part.triples for end in (head, tail))
    return 2 if any(not isinstance(end, Variable | BNode) for end in fixed) else 4


def conjuncts(expression: Any) -> Iterator[Any]:
    name = getattr(expression, "name", "")
    if name == "ConditionalAndExpression":
        for one in (expression["expr"], *expression["other"]):
            yield from conjuncts(one)
    elif name != "TrueFilter":
        yield expression


def variables_of(expression: Any) -> Iterator[Any]:
    """The variables of an expression, but for those of patterns in it."""
    if isinstance(expression, Variable):
        yield expression
    elif isinstance(expression, list):
        for one in cast(list[Any], expression):
            yield from variables_of(one)
    elif hasattr(expression, "name") and not expression.name.endswith("EXISTS"):
        for key in expression:
            yield from variables_of(part_of(expression, key))


def names_of(expression: Any) -> Iterator[str]:
    if isinstance(expression, list):
        for one in cast(list[Any], expression):
            yield from names_of(one)
    elif hasattr(expression, "name"):
        yield expression.name
        for key in expression:
            yield from names_of(part_of(expression, key))


def all_variables(expression: Any) -> set[Any]:
    """Every variable in an expression with its patterns."""
    found = set[Any]()
    stack: list[Any] = [expression]
    while stack:
        one = stack.pop()
        if isinstance(one, Variable):
            found.add(one)
        elif isinstance(one, dict):
            stack.extend(part_of(one, key) for key in cast(dict[str, Any], one))
        elif isinstance(one, list | tuple | set):
            stack.extend(cast(list[Any], one))
    return found
