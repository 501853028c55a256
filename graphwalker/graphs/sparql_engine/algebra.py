"""rdflib's algebra of a query, made ready for our joins: what each part binds, which joins are
solved row by row, and where a pattern may start."""

from collections.abc import Iterator
from types import MethodType
from typing import Any, cast

from pyparsing import ParseException
from rdflib import BNode, Literal, URIRef, Variable
from rdflib.paths import AlternativePath, InvPath, MulPath, NegatedPath, SequencePath
from rdflib.plugins.sparql.algebra import (
    Extend,
    translateGroupGraphPattern,
    translateQuery,
    traverse,  # pyright: ignore[reportUnknownVariableType]
)
from rdflib.plugins.sparql.operators import UnaryNot
from rdflib.plugins.sparql.parser import parseQuery
from rdflib.plugins.sparql.parserutils import CompValue, Expr

from graphwalker.errors import UserError
from graphwalker.graphs.sparql_engine.functions import FORMS, Expression, is_known

Variables = frozenset[Any]
NONE: Variables = frozenset()
_ANY = Variable("any variable")
"""Among those that a part reads which is never solved for a row: a sub-select."""


def translate(text: str) -> Any:
    """rdflib's query of a SELECT or ASK. Each part has the variables that `some` solution and that
    `every` one binds, and those that it `reads` without binding them: where a row has one already,
    the part means another thing. Joins are `lazy` where the second part is solved for each row of
    the first. Raises `UserError`."""
    try:
        parsed = parseQuery(text)
        known = dict[Any, Any]()  # one object of each variable: it is looked up in every row
        traverse(parsed[1], _keep_constant_filter, lambda one: _one_of(known, one))
        query = translateQuery(parsed)
        name = query.algebra.name.removesuffix("Query").upper()
        if name not in ("SELECT", "ASK"):
            raise UserError(f"{name} is not served: ask by SELECT or ASK")
        query.algebra["p"] = prepare(query.algebra.p)
    except UserError:
        raise
    except ParseException as error:
        near = text[error.loc :][:60].split("\n")[0]
        where = f"at {near!r}" if near.strip() else "at its end"
        raise UserError(f"37000: the query is not SPARQL 1.1 {where}: {error.msg}") from None
    except RecursionError:
        raise UserError("the query is nested too deeply: write it flatter") from None
    except Exception as error:  # what its translation raises is not documented
        raise UserError(f"37000: {' '.join(str(error).split())[:200]}") from None
    return query


def prepare(part: Any) -> Any:
    """The part with what our joins need to know. Raises `UserError` for what is not served."""
    inner: Any = part.p
    if part.name == "ToMultiSet" and (isinstance(inner, list) or inner.name == "values"):
        rows: list[Any] = [] if isinstance(inner, list) else inner.res
        made = [{v: term for v, term in row.items() if str(term) != "UNDEF"} for row in rows]
        bound = [frozenset[Any](row) for row in made]
        every = bound[0].intersection(*bound) if bound else NONE
        return _mark(CompValue("values", rows=made), NONE.union(*bound), every)
    if part.name == "Graph" and isinstance(part.term, Variable):
        raise UserError("GRAPH ?g is not served: there is one graph; leave GRAPH away")
    if part.name in ("ToMultiSet", "Graph"):  # there is one graph, which every name means
        return prepare(inner)
    make = _PREPARE.get(part.name)
    if make is None:
        raise UserError(f"{part.name} is not served: this endpoint reads one graph")
    return make(part)


def _mark(
    part: Any, some: Variables, every: Variables, reads: Variables = NONE, **more: Any
) -> Any:
    part.update(some=some, every=every, reads=reads, **more)
    return part


def _pattern(part: Any) -> Any:
    triples = [one for triple in part.triples for one in _plain(*triple)]
    found = frozenset(end for triple in triples for end in triple if isinstance(end, Variable))
    return _mark(part, found, found, triples=triples, starts={})


def _plain(head: Any, over: Any, tail: Any) -> Iterator[Any]:
    """A triple, without the paths that are several triples, or one back."""
    if isinstance(over, SequencePath):
        middle: list[Any] = [BNode() for _ in over.args[1:]]
        for triple in zip((head, *middle), over.args, (*middle, tail), strict=True):
            yield from _plain(*triple)
    elif isinstance(over, InvPath):
        yield from _plain(tail, over.arg, head)
    else:
        yield head, _path(over), tail


def _path(path: Any) -> Any:
    """A path as `walk` reads it."""
    if isinstance(path, InvPath):
        return "back", _path(path.arg)
    if isinstance(path, MulPath):
        return "repeat", _path(path.path), bool(path.zero), bool(path.more)
    if isinstance(path, NegatedPath):
        if not all(isinstance(one, URIRef) for one in path.args):
            raise UserError("`^` in `!(...)` is not served: rdflib does not read it")
        return "not", list(path.args)
    if isinstance(path, SequencePath | AlternativePath):
        kind = "chain" if isinstance(path, SequencePath) else "either"
        return kind, [_path(one) for one in path.args]
    return path


def _join(part: Any) -> Any:
    """The parts with all plain patterns in one, the cheapest first."""
    parts = [one for one in _flatten(part, "Join") if one.name != "BGP" or one.triples]
    plain = [triple for one in parts if one.name == "BGP" for triple in one.triples]
    parts = [one for one in parts if one.name != "BGP"]
    if plain or not parts:
        parts.append(CompValue("BGP", triples=plain))
    first, *others = sorted(map(prepare, parts), key=_rank)
    for one in others:
        bound = first.some | one.some, first.every | one.every, first.reads | one.reads
        first = _mark(CompValue("Join", p1=first, p2=one, lazy=_is_lazy(first, one)), *bound)
    return first


def _flatten(part: Any, name: str) -> Iterator[Any]:
    if part.name != name:
        yield part
        return
    yield from _flatten(part.p1, name)
    yield from _flatten(part.p2, name)


def _rank(part: Any) -> int:
    if part.name == "values" or _ANY in part.reads:
        return int(part.name != "values")
    if part.name != "BGP":
        return 3
    fixed = (end for head, _, tail in part.triples for end in (head, tail))
    return 2 if any(not isinstance(end, Variable | BNode) for end in fixed) else 4


def _is_lazy(first: Any, second: Any) -> bool:
    return not second.reads & (first.some | {_ANY})


def _union(part: Any) -> Any:
    parts = [prepare(one) for one in _flatten(part, "Union")]
    some, every, reads = ([one[key] for one in parts] for key in ("some", "every", "reads"))
    bound = NONE.union(*some), every[0].intersection(*every), NONE.union(*reads)
    return _mark(CompValue("Union", parts=parts), *bound)


def _left_join(part: Any) -> Any:
    first, second = prepare(part.p1), prepare(part.p2)
    reads = first.reads | second.reads | ((second.some | _reads(part.expr)) - first.every)
    more = {"p1": first, "p2": second, "lazy": _is_lazy(first, second), "tests": _tests(part.expr)}
    return _mark(part, first.some | second.some, first.every, reads, **more)


def _minus(part: Any) -> Any:
    first, second = prepare(part.p1), prepare(part.p2)
    shared = first.some & second.some
    lazy = shared <= first.every & second.every and not second.reads & {*shared, _ANY}
    more = {"p1": first, "p2": second, "shared": shared, "lazy": lazy}
    reads = first.reads | second.reads | (second.some - first.every)
    return _mark(part, first.some, first.every, reads, **more)


def _filter(part: Any) -> Any:
    inner, tests = prepare(part.p), _tests(part.expr)
    for one, _ in tests:
        if getattr(one, "name", "") == "RelationalExpression" and one["op"] == "=":
            pair = (one["expr"], one["other"])
            for a, b in (pair, pair[::-1]):
                if isinstance(a, Variable) and isinstance(b, URIRef):
                    _start(inner, a, b)
    reads = inner.reads | (_reads(part.expr) - inner.every)
    return _mark(part, inner.some, inner.every, reads, p=inner, tests=tests)


def _start(part: Any, variable: Any, constant: Any) -> None:
    """Let patterns start from a filter `?x = <IRI>`, which is tested all the same."""
    if part.name == "BGP" and variable in part.some:
        part.starts[variable] = constant
    inner = {"Join": ("p1", "p2"), "LeftJoin": ("p1",), "Minus": ("p1",), "Filter": ("p",)}
    for key in inner.get(part.name, ()):
        _start(part[key], variable, constant)
    for one in part.parts if part.name == "Union" else ():
        _start(one, variable, constant)


def _extend(part: Any) -> Any:
    inner = prepare(part.p)
    reads = inner.reads | (_reads(part.expr) - inner.every) | {part.var}
    return _mark(part, inner.some | {part.var}, inner.every, reads, p=inner)


def _aggregate(part: Any) -> Any:
    """Keys and what is counted become variables, unbound where an expression has no value."""
    inner, by = part.p.p, list[Any]()
    for one in part.p.expr or ():
        inner, variable = _as_variable(inner, one)
        by.append(variable)
    for one in part.A:
        if str(one.vars) != "*":
            inner, one["vars"] = _as_variable(inner, one.vars)
    results = frozenset(one.res for one in part.A)
    return _mark(part, results, NONE, frozenset((_ANY,)), p=prepare(inner), by=by)


def _as_variable(part: Any, expression: Any) -> tuple[Any, Any]:
    if isinstance(expression, Variable):
        return part, expression
    fresh = Variable(f"_{BNode()}")
    return Extend(part, expression, fresh), fresh


def _sort(part: Any) -> Any:
    for one in part.expr:
        _reads(one.expr)
    return _modify(part)


def _modify(part: Any) -> Any:
    inner = prepare(part.p)
    kept = frozenset(part.PV) if part.name == "Project" else inner.some
    return _mark(part, inner.some & kept, inner.every & kept, frozenset((_ANY,)), p=inner)


_PREPARE = {
    "BGP": _pattern,
    "Join": _join,
    "Union": _union,
    "LeftJoin": _left_join,
    "Minus": _minus,
    "Filter": _filter,
    "Extend": _extend,
    "AggregateJoin": _aggregate,
    "OrderBy": _sort,
    **dict.fromkeys(("Project", "Distinct", "Reduced", "Slice"), _modify),
}


def _tests(expression: Any) -> list[tuple[Any, Any]]:
    """The conditions that all hold, each with the variable that alone decides it, if one does."""
    if getattr(expression, "name", "") == "ConditionalAndExpression":
        parts = (expression["expr"], *expression["other"])
        return [test for one in parts for test in _tests(one)]
    if getattr(expression, "name", "") == "TrueFilter":
        return []
    reads = _reads(expression)
    return [(expression, next(iter(reads)) if len(reads) == 1 else None)]


def _reads(expression: Any) -> Variables:
    """The variables of an expression with its patterns; both are prepared. Raises `UserError` for a
    function that is not known."""
    if isinstance(expression, Variable):
        return frozenset((expression,))
    if isinstance(expression, list):
        return NONE.union(*(_reads(one) for one in cast(list[Any], expression)))
    if not isinstance(expression, CompValue):
        return NONE
    node = cast(Any, expression)
    if isinstance(expression, Expr) and not isinstance(expression, Expression):
        function = FORMS.get(node.name) or node._evalfn.__func__
        node.__class__, node._evalfn = Expression, MethodType(function, node)
        if node.name.endswith("EXISTS"):
            pattern = node.graph
            if pattern.name in ("GroupGraphPatternSub", "SubSelect"):
                pattern = translateGroupGraphPattern(pattern)
            node.graph = prepare(pattern)
    if node.name.endswith("EXISTS"):
        return node.graph.some | node.graph.reads
    if node.name == "Function" and not is_known(str(node["iri"]), node["expr"]):
        raise UserError(f"the function <{node['iri']}> is not known to this SPARQL endpoint")
    return NONE.union(*map(_reads, node.values()))


def _one_of(known: dict[Any, Any], part: Any) -> Any:
    return known.setdefault(part, part) if isinstance(part, Variable) else None


def _keep_constant_filter(part: Any) -> None:
    """Write the constant of a parsed filter as `!!constant`: translating drops a false one."""
    if getattr(part, "name", "") != "Filter":
        return
    expression: Any = part["expr"]
    inner = expression
    while hasattr(inner, "name") and list(inner) == ["expr"]:
        inner = inner["expr"]
    if isinstance(inner, Literal) or getattr(inner, "name", "") == "literal":
        part["expr"] = Expr("UnaryNot", UnaryNot, expr=Expr("UnaryNot", UnaryNot, expr=expression))
