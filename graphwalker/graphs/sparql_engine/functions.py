"""Functions of expressions where rdflib's are not SPARQL's, or less lenient than Virtuoso's."""

import re
from collections.abc import Callable
from decimal import Decimal
from threading import local
from typing import Any, cast

from rdflib import Literal, URIRef, Variable
from rdflib.plugins.sparql.parserutils import Expr
from rdflib.plugins.sparql.sparql import NotBoundError, SPARQLError

from graphwalker.graphs.sparql_engine.values import (
    FALSE,
    TRUE,
    ValueFault,
    cast_to,
    equal,
    kind_of,
    less,
    literal,
    moment_parts,
    truth,
)
from graphwalker.graphs.sparql_engine.wording import XSD

FAULTS = (SPARQLError, ValueError, TypeError, ArithmeticError, AttributeError, re.error)
LONGEST = 1 << 20
"""Characters of a text that a function may make."""
_CASTS = ("string", "boolean", "integer", "int", "long", "decimal", "float", "double")
_DATES = ("dateTime", "date")


class _Here(local):
    run: Any = None
    row: Any = None


_HERE = _Here()


def here() -> Any:
    """The row for which this thread evaluates an expression."""
    return _HERE.row


class Expression(Expr):
    """An expression of rdflib that many threads may evaluate, and whose faults are SPARQL's errors.
    rdflib's own writes the row at hand into each of its nodes."""

    def _value(self, val: Any, variables: bool = False, errors: bool = False) -> Any:
        if _HERE.row is None:
            return val
        if isinstance(val, list):
            return [self._value(one) for one in cast(list[Any], val)]
        if (found := value_of(_HERE.run, val, _HERE.row)) is not None:
            return found
        if variables:
            return val
        raise NotBoundError

    def evaluate(self, run: Any, row: Any) -> Any:
        """Its term, nothing where it has none."""
        before = _HERE.run, _HERE.row
        _HERE.run, _HERE.row = run, row
        try:
            found = cast(Any, self._evalfn)(run)
        except FAULTS:
            return None
        finally:
            _HERE.run, _HERE.row = before
        return None if isinstance(found, Literal) and len(found) > LONGEST else found


def value_of(run: Any, expression: Any, row: Any) -> Any:
    """The term that an expression is in a row, nothing where it has none."""
    if isinstance(expression, Variable):
        return row.get(expression)
    if isinstance(expression, URIRef):
        return run.constants.get(expression, expression)
    return expression.evaluate(run, row) if isinstance(expression, Expression) else expression


def is_true(run: Any, expression: Any, row: Any) -> bool:
    """Whether a filter lets the row pass; an error does not."""
    try:
        return truth(value_of(run, expression, row))
    except ValueFault:
        return False


def is_known(iri: str, arguments: Any) -> bool:
    """Whether there is such a function."""
    return iri.removeprefix(XSD) in (*_CASTS, *_DATES) and len(arguments) == 1


def _part(expression: Any, key: str) -> Any:
    """A part as it was parsed; rdflib's own look-up would evaluate it."""
    return dict[str, Any].__getitem__(expression, key)


def _relation(expression: Any, run: Any) -> Any:
    a, operator = expression._value(_part(expression, "expr")), _part(expression, "op")
    if operator in ("IN", "NOT IN"):
        return _member(expression, a, operator == "IN")
    b = expression._value(_part(expression, "other"))
    if operator in ("=", "!="):
        return TRUE if equal(a, b) is (operator == "=") else FALSE
    if ">" in operator:
        a, b = b, a
    return TRUE if less(a, b) or (len(operator) == 2 and equal(a, b)) else FALSE


def _member(expression: Any, value: Any, wanted: bool) -> Any:
    every, fault = _part(expression, "other"), False
    for one in cast(list[Any], every) if isinstance(every, list) else ():
        try:
            if equal(value, expression._value(one)):
                return TRUE if wanted else FALSE
        except FAULTS:
            fault = True
    if fault:
        raise ValueFault
    return FALSE if wanted else TRUE


def _connective(decisive: bool) -> "ExpressionForm":
    """OR, decided by one that is true, and AND, by one that is false; else an error counts."""

    def evaluate(expression: Any, run: Any) -> Any:
        fault = False
        for one in (_part(expression, "expr"), *_part(expression, "other")):
            try:
                if truth(expression._value(one)) is decisive:
                    return TRUE if decisive else FALSE
            except FAULTS:
                fault = True
        if fault:
            raise ValueFault
        return FALSE if decisive else TRUE

    return evaluate


def _multiply(expression: Any, run: Any) -> Any:
    """rdflib makes decimals of integers, and of a double that comes first."""
    total: Any = _number(expression.expr)
    for operator, term in zip(expression.op, expression.other, strict=True):
        other: Any = _number(term)
        if float in (type(total), type(other)):
            total, other = float(total), float(other)
        if operator == "*":
            total = total * other
        elif type(total) is float and total and not other:
            return literal("INF" if total > 0 else "-INF", f"{XSD}double")
        else:
            total = (Decimal(total) if type(total) is int else total) / other
    return Literal(total)


def _number(term: Any) -> Any:
    kind, value = kind_of(term) if isinstance(term, Literal) else ("", None)
    if kind != "number":
        raise ValueFault
    return value


def _moment_part(part: int) -> "ExpressionForm":
    def evaluate(expression: Any, run: Any) -> Any:
        return Literal(moment_parts(expression.arg)[part])

    return evaluate


def _function(expression: Any, run: Any) -> Any:
    return cast_to(str(expression.iri).removeprefix(XSD), expression.expr[0])


def _coalesce(expression: Any, run: Any) -> Any:
    for one in _part(expression, "arg"):
        if (found := value_of(run, one, here())) is not None:
            return found
    raise ValueFault


def _if(expression: Any, run: Any) -> Any:
    return expression.arg2 if truth(expression.arg1) else expression.arg3


def _not(expression: Any, run: Any) -> Any:
    return FALSE if truth(expression._value(_part(expression, "expr"))) else TRUE


ExpressionForm = Callable[[Any, Any], Any]
_PARTS = ("YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS")
FORMS: dict[str, ExpressionForm] = {
    "RelationalExpression": _relation,
    "ConditionalOrExpression": _connective(True),
    "ConditionalAndExpression": _connective(False),
    "MultiplicativeExpression": _multiply,
    "UnaryNot": _not,
    "Builtin_COALESCE": _coalesce,
    "Builtin_IF": _if,
    "Function": _function,
    **{f"Builtin_{name}": _moment_part(part) for part, name in enumerate(_PARTS)},
}
