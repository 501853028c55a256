"""How Search-on-Graph writes ids, relations and tables of rows."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from graphwalker.graphs.literals import is_literal

FlavourName = Literal["freebase", "wikidata"]
_QID = re.compile(r"[QPL][1-9][0-9]*")
_PROPERTY = re.compile(r"(wdt|p|ps|pq)\.(P[1-9][0-9]*)(?:\.(\w*))?")


@dataclass(frozen=True, slots=True)
class Flavour:
    """`freebase` shows the graph's own ids (`m.07_m2`, or whatever they are); `wikidata` puts the
    usual prefixes before those of the Wikidata layer.

    >>> wikidata = Flavour("wikidata")
    >>> wikidata.show_id("Q42"), wikidata.entity_id("wd:Q42")
    ('wd:Q42', 'Q42')
    >>> wikidata.relation("wdt.P19.place_of_birth")
    ('wdt:P19', 'place of birth')
    """

    kind: FlavourName

    def show_id(self, entity_id: str) -> str:
        """The id as tables and calls write it."""
        item = self.kind == "wikidata" and _QID.fullmatch(entity_id)
        return f"wd:{entity_id}" if item else entity_id

    def entity_id(self, shown: str) -> str:
        """The graph's id of one that is written with its prefix or without."""
        return shown.removeprefix("wd:") if self.kind == "wikidata" else shown

    def relation(self, relation: str) -> tuple[str, str]:
        """A relation as tables and filters write it, and the label that its id holds, if it does.
        The parts of a flattened one are written one by one."""
        if self.kind == "wikidata":
            found = [_PROPERTY.fullmatch(part) for part in relation.split("..")]
            if all(found):
                parts = [f"{match[1]}:{match[2]}" for match in found if match]
                labels = [(match[3] or "").replace("_", " ") for match in found if match]
                return "..".join(parts), ", ".join(filter(None, labels))
        return relation, ""


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
