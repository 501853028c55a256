"""The text of a query: Virtuoso's spellings made standard, and constants taken out of it."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from urllib.parse import urljoin

from graphwalker.errors import UserError
from graphwalker.graphs.literals import literal_id, unescape
from graphwalker.graphs.ntriples import XSD_STRING

XSD = "http://www.w3.org/2001/XMLSchema#"
PREFIXES = {
    "xsd": XSD,
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "wd": "http://www.wikidata.org/entity/",
    "wdt": "http://www.wikidata.org/prop/direct/",
    "p": "http://www.wikidata.org/prop/",
    "ps": "http://www.wikidata.org/prop/statement/",
    "pq": "http://www.wikidata.org/prop/qualifier/",
}
"""Those that need no declaration, as on Virtuoso and on Wikidata's endpoint."""
PLACE = "x-constant:"
"""The scheme of the IRIs that stand in place of constants."""
DEEPEST = 48
"""Brackets in brackets: parsers take ever longer for more, and more stack than they have."""
UPDATES = ("INSERT", "DELETE", "LOAD", "CLEAR", "CREATE", "DROP", "COPY", "MOVE", "ADD", "WITH")
_PRAGMA_GRAPH = re.compile(
    r"define\s+input:(?:default|named)-graph-uri\s+(?:\"([^\"]*)\"|<([^>]*)>)", re.IGNORECASE
)
_PRAGMAS = re.compile(r"(?:\s*define\s+[\w:-]+\s+(?:\"[^\"]*\"|<[^>]*>|[\w:-]+))+", re.IGNORECASE)
_LOCAL = r"(?:[\w:%-]|\\[!$&'()*+,;=/?#@%._~-]|\.+(?=[\w:%\\-]))*"
_IRI = r'<[^<>"{}|^`\\\x00-\x20]*>'
_TOKEN = re.compile(
    r"(?P<comment>\#[^\n\r]*|/\*.*?\*/)"
    rf"|(?P<prefix>\bPREFIX\s+(?P<short>[\w.-]*):\s*(?P<full>{_IRI}))"
    rf"|(?P<base>\bBASE\s*(?P<root>{_IRI}))"
    rf"|(?P<iri>{_IRI})"
    r"|(?P<text>\"{3}(?:\"{0,2}(?:[^\"\\]|\\.))*\"{3}|'{3}(?:'{0,2}(?:[^'\\]|\\.))*'{3}"
    r"|\"(?:[^\"\\\n\r]|\\.)*\"|'(?:[^'\\\n\r]|\\.)*')"
    rf"(?:@(?P<tag>[A-Za-z]+(?:-[A-Za-z0-9]+)*)|\^\^(?P<type>{_IRI}|[\w.-]*:{_LOCAL}))?"
    r"|(?P<variable>[?$]\w+)|(?P<blank>_:[\w.-]*\w)"
    rf"|(?P<name>(?P<before>[A-Za-z][\w.-]*)?:(?P<local>{_LOCAL}))"
    r"|(?P<word>[A-Za-z_]\w*)|(?P<bracket>[{}()])",
    re.DOTALL | re.IGNORECASE,
)
_CALLED = re.compile(r"\s*\(")
_SEPARATOR = re.compile(r"separator\s*=\s*$", re.IGNORECASE)
_KEYWORDS = {"OR": "||", "AND": "&&"}
_COUNTING = re.compile(r"(COUNT|SUM|MIN|MAX|AVG|SAMPLE)\s*\(([^()]*)\)", re.IGNORECASE)
_NAMED = re.compile(r"\s*(AS\s+\?\w+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class QueryShape:
    """A query in SPARQL 1.1 with `PLACE` IRIs, and the constants that belong there: `<IRI>`, or a
    literal's id. Queries that differ in their constants have one text, which is parsed once."""

    text: str
    constants: tuple[str, ...]

    def fill(self, write: Callable[[str], str] = str) -> str:
        """Return the query with its constants as `write` gives them: whole SPARQL 1.1."""
        return _PLACED.sub(lambda found: write(self.constants[int(found[1])]), self.text)


_PLACED = re.compile(rf"<{PLACE}(\d+)>")


def read_shape(query: str, prefixes: Mapping[str, str]) -> QueryShape:
    """Return the shape of a query. `prefixes` are known besides `PREFIXES`. Raises `UserError`.

    >>> read_shape("ASK { ns:m.1 ns:a ?x FILTER (?x OR 1) }", {"ns": "urn:"}).text
    'ASK { <x-constant:0> <x-constant:1> ?x FILTER (?x || 1) }'
    """
    return _Reader(query, prefixes).read()


def read_question(
    query: str, prefixes: Mapping[str, str], graph_names: Collection[str]
) -> QueryShape:
    """Return the shape of a SELECT or ASK of one graph, by its own names. Raises `UserError` for a
    query that changes the graph, or asks for another one or at another place."""
    reader = _Reader(query, prefixes, graph_names)
    for found in _PRAGMA_GRAPH.finditer(query[: reader.start]):
        reader.check_graph(found[1] or found[2] or "")
    return reader.read()


class _Reader:
    def __init__(
        self, query: str, prefixes: Mapping[str, str], graph_names: Collection[str] | None = None
    ) -> None:
        pragmas = _PRAGMAS.match(query)
        self.start = pragmas.end() if pragmas else 0
        self._query = query[self.start :]
        self._prefixes = {**PREFIXES, **prefixes}
        self._base, self._depth = "", 0
        self._constants: list[str] = []
        self._names, self._form, self._expects = graph_names, "", ""

    def read(self) -> QueryShape:
        text = _TOKEN.sub(self._write, self._query)
        # Escapes are read before words are: `\\u0053ERVICE` would become one behind our back.
        if self._names is not None and "\\" in text:
            near = text[text.index("\\") :][:20]
            raise UserError(f"{near!r}: a backslash stands outside of texts and names")
        return QueryShape(_name_counts(text), tuple(self._constants))

    def check_graph(self, iri: str) -> None:
        """Raise `UserError` for the name of another graph."""
        if self._names is not None and iri not in self._names:
            raise UserError(
                f"there is one graph here, <{min(self._names, key=len)}>; {iri or 'a variable'}"
                " names another: leave FROM, GRAPH and default-graph-uri away"
            )

    def _write(self, token: re.Match[str]) -> str:
        kind, found = token.lastgroup, token[0]
        if token["comment"]:
            return " "
        if token["prefix"]:
            self._prefixes[token["short"]] = self._absolute(token["full"])
            return " "
        if token["base"]:
            self._base = self._absolute(token["root"])
            return " "
        if token["iri"] or token["name"]:
            iri = self._absolute(found) if token["iri"] else self._expand(found)
            if self._expects:
                self.check_graph(iri)
                self._expects = ""
                return " "
            if _CALLED.match(self._query, token.end()):
                return f"<{iri}>"
            return self._place(f"<{iri}>")
        if self._expects and found.upper() != "NAMED":
            self.check_graph("")
        if token["text"]:
            return self._literal(token)
        if kind == "word":
            return self._word(found)
        if kind == "bracket":
            self._depth += 1 if found in "{(" else -1
            if self._depth > DEEPEST:
                raise UserError(f"brackets are nested {DEEPEST} deep or deeper: write it flatter")
        return found

    def _word(self, found: str) -> str:
        """Write a keyword as the standard has it. Raises `UserError` for what is not served."""
        upper = found.upper()
        if self._names is None:
            return _KEYWORDS.get(upper, found)
        if upper not in ("PREFIX", "BASE"):
            self._form = self._form or upper
        if self._form in UPDATES:
            raise UserError(f"{self._form} is an update: this endpoint only reads")
        if self._form not in ("SELECT", "ASK", ""):
            raise UserError(f"{found} is not served: ask by SELECT or ASK")
        if upper == "SERVICE":
            raise UserError("SERVICE is not served: this endpoint reads one graph and no other")
        if upper in ("FROM", "GRAPH") or (upper == "NAMED" and self._expects):
            self._expects = upper
            return " "
        return _KEYWORDS.get(upper, found)

    def _place(self, constant: str) -> str:
        self._constants.append(constant)
        return f"<{PLACE}{len(self._constants) - 1}>"

    def _literal(self, token: re.Match[str]) -> str:
        found = token["text"]
        marks = 3 if found[:3] in ('"""', "'''") else 1
        if self._names is None and _SEPARATOR.search(self._query, 0, token.start()):
            return literal_id(unescape(found[marks:-marks]))  # rdflib takes no IRI there
        suffix = f"@{token['tag']}" if token["tag"] else ""
        if kind := token["type"]:
            iri = self._absolute(kind) if kind.startswith("<") else self._expand(kind)
            suffix = "" if iri == XSD_STRING else f"^^<{iri}>"
        return self._place(literal_id(unescape(found[marks:-marks]), suffix))

    def _absolute(self, iri: str) -> str:
        return _standard(urljoin(self._base, iri[1:-1]) if self._base else iri[1:-1])

    def _expand(self, name: str) -> str:
        prefix, _, local = name.partition(":")
        if prefix not in self._prefixes:
            raise UserError(f"the prefix {prefix}: is not declared; write PREFIX {prefix}: <...>")
        return _standard(self._prefixes[prefix] + re.sub(r"\\(.)", r"\1", local))


def _standard(iri: str) -> str:
    return f"{XSD}dateTime" if iri == f"{XSD}datetime" else iri


def _name_counts(text: str) -> str:
    """Virtuoso takes `SELECT COUNT(?x)`: give such a column a name."""
    head, brace, rest = text.partition("{")
    written, depth, at, columns = "", 0, 0, 0
    while at < len(head):
        found = _COUNTING.match(head, at) if not depth and not head[at - 1 : at].isalnum() else None
        if found:
            named = _NAMED.match(head, found.end())
            written += f"({found[0]} {named[1] if named else f'AS ?callret{columns}'})"
            at, columns = (named or found).end(), columns + 1
            continue
        depth += {"(": 1, ")": -1}.get(head[at], 0)
        written, at = written + head[at], at + 1
    return written + brace + rest
