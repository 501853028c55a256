"""Tables of rows, as Markdown or as the JSON that SPARQL servers answer with."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from graphwalker.graphs.literals import is_literal

ROWS = ("property", "propertyLabel", "value", "valueLabel")
PROPERTIES = ROWS[:2]


class TableCell(NamedTuple):
    """A value of a table; `kind` is `uri`, or `literal` for labels and values."""

    text: str
    kind: str = "literal"


def id_cell(shown: str) -> TableCell:
    """An id, or a value, whose id is its N-Triples form."""
    return TableCell(shown, "literal" if is_literal(shown) else "uri")


def markdown(columns: Sequence[str], rows: Sequence[Sequence[TableCell]]) -> str:
    """Columns by `|`. A text that would break a row stands in JSON quotes, `|` as its escape.

    >>> print(markdown(PROPERTIES, [[TableCell("a.b"), TableCell('one|"two"')]]))
    property|propertyLabel
    --|--
    a.b|"one\\u007c\\"two\\""
    """
    lines = ["|".join(columns), "|".join(["--"] * len(columns))]
    return "\n".join([*lines, *("|".join(_bare(cell.text) for cell in row) for row in rows)])


def sparql_json(columns: Sequence[str], rows: Sequence[Sequence[TableCell]]) -> str:
    """The same as a SPARQL server's JSON; empty cells are left out, as servers do."""
    bindings = [
        {name: {"type": cell.kind, "value": cell.text} for name, cell in named if cell.text}
        for named in (zip(columns, row, strict=True) for row in rows)
    ]
    made: dict[str, Any] = {"head": {"vars": list(columns)}, "results": {"bindings": bindings}}
    return json.dumps(made, ensure_ascii=False)


def _bare(text: str) -> str:
    if not text or (text.isprintable() and text == text.strip() and not set('|"\\') & set(text)):
        return text
    return json.dumps(text, ensure_ascii=False).replace("|", "\\u007c")
