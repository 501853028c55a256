"""Expressions: rdflib's parse of one as a function of a row; functions of texts are rdflib's."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from types import SimpleNamespace
from typing import Any, Protocol, cast

from rdflib import BNode, Literal, URIRef, Variable
from rdflib.plugins.sparql import operators
from rdflib.plugins.sparql.sparql import SPARQLError

from graphwalker.errors import UserError
from graphwalker.graphs.sparql_engine.algebra import part_of
from graphwalker.graphs.sparql_engine.patterns import QueryRun, SolutionRow
from graphwalker.graphs.sparql_engine.values import (
    FALSE,
    INTEGER,
    TRUE,
    ValueFault,
    calculate,
    equal,
    less,
    moment_parts,
    number,
    number_literal,
    truth,
)
from graphwalker.graphs.sparql_engine.values import cast as cast_to
from graphwalker.graphs.sparql_engine.wording import XSD

Evaluate = Callable[[QueryRun, SolutionRow], Any]
"""The value of an expression: a term's number, or a term of rdflib. Raises one of `FAULTS`."""
FAULTS = (ValueFault, SPARQLError, ValueError, TypeError, ArithmeticError, AttributeError, re.error)
LONGEST = 1 << 20
"""Characters of a text that a function may make."""
_CASTS = ("string", "boolean", "integer", "int", "long", "decimal", "float", "double")
_DATES = ("dateTime", "date")
_PARTS = ("YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS")


class PlanSlots(Protocol):
    """What an expression asks of the plan that it is a part of."""

    def slot(self, variable: Any) -> int: ...
    def constant(self, term: Any) -> int: ...
    def exists(self, expression: Any) -> Callable[[QueryRun, SolutionRow], bool]: ...


def as_term(run: QueryRun, value: Any) -> Any:
    """A value as a term of rdflib."""
    return run.terms.decode(value) if isinstance(value, int) else value


def as_number(run: QueryRun, value: Any) -> int:
    """A value as the number of a term."""
    return value if isinstance(value, int) else run.terms.encode(value)


def is_true(run: QueryRun, evaluate: Evaluate, row: SolutionRow) -> bool:
    """Whether a filter lets the row pass; an error does not."""
    try:
        return truth(as_term(run, evaluate(run, row)))
    except FAULTS:
        return False


def value_or_none(run: QueryRun, evaluate: Evaluate, row: SolutionRow) -> Any:
    """The value as a number of a term, nothing where there is none."""
    try:
        return as_number(run, evaluate(run, row))
    except FAULTS:
        return None


def compile_expression(expression: Any, slots: PlanSlots) -> Evaluate:
    """The function that computes it. Raises `UserError` for what is not known here."""
    if isinstance(expression, Variable | BNode):
        return _variable(slots.slot(expression))
    if isinstance(expression, URIRef | Literal):
        at = slots.constant(expression)
        return lambda run, row: run.constants[at]
    name = str(expression.name)
    parts = {str(key): part_of(expression, key) for key in expression}
    if name in ("Builtin_EXISTS", "Builtin_NOTEXISTS"):
        finds, wanted = slots.exists(expression), name == "Builtin_EXISTS"
        return lambda run, row: TRUE if finds(run, row) is wanted else FALSE
    compiled = {key: _compile(part, slots) for key, part in parts.items()}
    if make := _FORMS.get(name):
        return make(compiled, slots)
    if name == "Function":
        return _function(str(parts["iri"]), compiled["expr"])
    if name.startswith("Builtin_") and hasattr(operators, name):
        return _builtin(getattr(operators, name), compiled, parts)
    raise UserError(f"{name.removeprefix('Builtin_')} is not known to this SPARQL endpoint")


def _compile(part: Any, slots: PlanSlots) -> Any:
    if isinstance(part, list):
        return [_compile(one, slots) for one in cast(list[Any], part)]
    if isinstance(part, Variable | URIRef | Literal | BNode) or hasattr(part, "name"):
        return compile_expression(part, slots)
    return part


def _variable(slot: int) -> Evaluate:
    def evaluate(run: QueryRun, row: SolutionRow) -> Any:
        if (value := row[slot]) is None:
            raise ValueFault
        return value

    return evaluate


def _builtin(function: Any, compiled: Mapping[str, Any], parts: Mapping[str, Any]) -> Evaluate:
    """One of rdflib's functions, given values in place of expressions."""

    def evaluate(run: QueryRun, row: SolutionRow) -> Any:
        given: dict[str, Any] = {"arg": None, "flags": None, "length": None}
        for key, part in compiled.items():
            if isinstance(part, list):
                values = cast(list[Evaluate], part)
                given[key] = [as_term(run, one(run, row)) for one in values]
            else:
                given[key] = as_term(run, part(run, row)) if callable(part) else part
        context = SimpleNamespace(now=datetime.now(UTC), bnodes={}, prologue=_Plain())
        found = function(SimpleNamespace(**given), context)
        if len(found) > LONGEST:
            raise ValueFault
        return found

    return evaluate


class _Plain:
    def absolutize(self, iri: Any) -> Any:
        return iri


def _function(iri: str, arguments: list[Evaluate]) -> Evaluate:
    kind = iri.removeprefix(XSD)
    if kind not in (*_CASTS, *_DATES) or len(arguments) != 1:
        raise UserError(f"the function <{iri}> is not known to this SPARQL endpoint")
    (argument,) = arguments
    return lambda run, row: cast_to(kind, as_term(run, argument(run, row)))


def _relation(parts: Mapping[str, Any], slots: PlanSlots) -> Evaluate:
    left, operator, right = parts["expr"], parts["op"], parts["other"]
    if operator in ("IN", "NOT IN"):
        every = cast(list[Evaluate], right if isinstance(right, list) else [])
        return _member(left, every, operator == "IN")

    def same(run: QueryRun, row: SolutionRow) -> bool:
        a, b = left(run, row), right(run, row)
        if isinstance(a, int) and isinstance(b, int):
            is_literal = run.terms.is_literal
            if not (is_literal(a) and is_literal(b)):
                return a == b
        return equal(as_term(run, a), as_term(run, b))

    def compare(run: QueryRun, row: SolutionRow) -> bool:
        a, b = as_term(run, left(run, row)), as_term(run, right(run, row))
        if operator in ("<", ">"):
            return less(a, b) if operator == "<" else less(b, a)
        return (less(a, b) if operator == "<=" else less(b, a)) or equal(a, b)

    if operator == "=":
        return lambda run, row: TRUE if same(run, row) else FALSE
    if operator == "!=":
        return lambda run, row: FALSE if same(run, row) else TRUE
    return lambda run, row: TRUE if compare(run, row) else FALSE


def _member(left: Evaluate, every: list[Evaluate], wanted: bool) -> Evaluate:
    def evaluate(run: QueryRun, row: SolutionRow) -> Any:
        value, fault = as_term(run, left(run, row)), False
        for one in every:
            try:
                if equal(value, as_term(run, one(run, row))):
                    return TRUE if wanted else FALSE
            except FAULTS:
                fault = True
        if fault:
            raise ValueFault
        return FALSE if wanted else TRUE

    return evaluate


def _connective(decisive: bool) -> "MakeForm":
    """OR, decided by one that is true, and AND, by one that is false; else an error counts."""

    def make(parts: Mapping[str, Any], slots: PlanSlots) -> Evaluate:
        every: list[Evaluate] = [parts["expr"], *parts["other"]]

        def evaluate(run: QueryRun, row: SolutionRow) -> Any:
            fault = False
            for one in every:
                try:
                    if truth(as_term(run, one(run, row))) is decisive:
                        return TRUE if decisive else FALSE
                except FAULTS:
                    fault = True
            if fault:
                raise ValueFault
            return FALSE if decisive else TRUE

        return evaluate

    return make


def _of_terms(function: Callable[..., Any], *keys: str) -> "MakeForm":
    """A form that is a function of the terms of its parts."""

    def make(parts: Mapping[str, Any], slots: PlanSlots) -> Evaluate:
        given: list[Evaluate] = [parts[key] for key in keys]
        return lambda run, row: function(*(as_term(run, one(run, row)) for one in given))

    return make


def _arithmetic(parts: Mapping[str, Any], slots: PlanSlots) -> Evaluate:
    def evaluate(run: QueryRun, row: SolutionRow) -> Any:
        total = number(as_term(run, parts["expr"](run, row)))
        for operator, one in zip(parts["op"], parts["other"], strict=True):
            total = calculate(str(operator), total, number(as_term(run, one(run, row))))
        return number_literal(*total)

    return evaluate


def _opposite(term: Any) -> Any:
    return FALSE if truth(term) else TRUE


def _with_sign(factor: int, term: Any) -> Any:
    return number_literal(*calculate("*", number(term), (INTEGER, factor)))


def _moment_part(part: int, term: Any) -> Any:
    return number_literal(INTEGER if part < 5 else 1, moment_parts(term)[part])


def _bound(parts: Mapping[str, Any], slots: PlanSlots) -> Evaluate:
    inner = parts["arg"]
    return lambda run, row: FALSE if value_or_none(run, inner, row) is None else TRUE


def _if(parts: Mapping[str, Any], slots: PlanSlots) -> Evaluate:
    test, yes, no = parts["arg1"], parts["arg2"], parts["arg3"]
    return lambda run, row: (yes if truth(as_term(run, test(run, row))) else no)(run, row)


def _coalesce(parts: Mapping[str, Any], slots: PlanSlots) -> Evaluate:
    def evaluate(run: QueryRun, row: SolutionRow) -> Any:
        for one in parts["arg"]:
            try:
                return one(run, row)
            except FAULTS:
                continue
        raise ValueFault

    return evaluate


def _is_literal(parts: Mapping[str, Any], slots: PlanSlots) -> Evaluate:
    inner = parts["arg"]

    def evaluate(run: QueryRun, row: SolutionRow) -> Any:
        value = inner(run, row)
        if isinstance(value, int):
            return TRUE if run.terms.is_literal(value) else FALSE
        return TRUE if isinstance(value, Literal) else FALSE

    return evaluate


def _same_term(parts: Mapping[str, Any], slots: PlanSlots) -> Evaluate:
    left, right = parts["arg1"], parts["arg2"]

    def evaluate(run: QueryRun, row: SolutionRow) -> Any:
        pair = as_number(run, left(run, row)), as_number(run, right(run, row))
        return TRUE if pair[0] == pair[1] else FALSE

    return evaluate


MakeForm = Callable[[Mapping[str, Any], PlanSlots], Evaluate]
_FORMS: dict[str, MakeForm] = {
    "RelationalExpression": _relation,
    "ConditionalOrExpression": _connective(True),
    "ConditionalAndExpression": _connective(False),
    "AdditiveExpression": _arithmetic,
    "MultiplicativeExpression": _arithmetic,
    "UnaryMinus": _of_terms(partial(_with_sign, -1), "expr"),
    "UnaryPlus": _of_terms(partial(_with_sign, 1), "expr"),
    "UnaryNot": _of_terms(_opposite, "expr"),
    "Builtin_BOUND": _bound,
    "Builtin_IF": _if,
    "Builtin_COALESCE": _coalesce,
    "Builtin_isLITERAL": _is_literal,
    "Builtin_sameTerm": _same_term,
    **{
        f"Builtin_{name}": _of_terms(partial(_moment_part, part), "arg")
        for part, name in enumerate(_PARTS)
    },
}
