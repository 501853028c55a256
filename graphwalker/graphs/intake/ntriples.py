"""The reader of N-Triples: facts, names and types of the graph, and facts about facts."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import file_digest
from pathlib import Path
from typing import Any, cast

from graphwalker.errors import UserError
from graphwalker.graphs.intake.blocks import Block, open_input, peek, plain_name
from graphwalker.graphs.intake.rows import (
    DROPPED,
    NAMES,
    TYPES,
    UNWANTED_LANGUAGE,
    FileReader,
    IntakeRows,
    ReaderInput,
    Relations,
    Source,
)
from graphwalker.graphs.literals import is_literal, literal_name
from graphwalker.graphs.ntriples import (
    STATEMENT,
    language,
    parse_annotation,
    parse_line,
    parse_lines,
)

TYPE_RELATIONS = {"type.object.type", "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"}
NAME_RELATIONS = {"type.object.name": 0, "http://www.w3.org/2000/01/rdf-schema#label": 1}
RELATIVE = "file:///"
"""The base of IRIs that a file gives without a scheme and without a base."""
_ANNOTATED = "facts about facts (RDF-star) are kept at a node of their own"
_ODD = DROPPED - 1
"""What happens to a line that is not a common one: it is read on its own."""


class NTriplesReader(FileReader):
    """Triples as N-Triples, the names and types of the graph among them."""

    def __init__(self, given: ReaderInput) -> None:
        super().__init__(given)
        self._routes, self._scope = _Routes(given.relations), given.source.scope
        self._is_converted = given.source.origin is not None

    def rows_of(self, block: Block) -> IntakeRows:
        if self._is_converted and (times := block.text.count(f"<{RELATIVE}")):
            example = block.text.partition(f"<{RELATIVE}")[2].partition(">")[0]
            what = f"addresses without a scheme are read as {RELATIVE}..."
            self._note(what, block.first, RELATIVE + example, times)
        rows = super().rows_of(block) if block.broken else IntakeRows()
        if not block.broken:
            self._read_text(block.first, block.text, rows)
        # A dump says most types twice, and a type that is known adds nothing.
        rows.types = list(dict.fromkeys(rows.types))
        return rows

    def read(self, first: int, lines: list[str], rows: IntakeRows) -> None:
        self._read_text(first, "\n".join(lines), rows)

    def _read_text(self, first: int, text: str, rows: IntakeRows) -> None:
        """Most of a build's time is spent here: what is common is done without a call."""
        routes, special, keeps_node = self._routes, self._special, self._keeps_node
        before, dropped, types = len(rows.heads), 0, 0
        add_head, add_relation, add_tail = rows.appends()
        add_type = rows.types.append
        seen, stays = "", True  # subjects come in runs of lines
        for number, (head, relation, tail, literal, line) in enumerate(parse_lines(text), first):
            route = routes[relation]
            if route == DROPPED:
                dropped += 1
                continue
            if route == _ODD:
                if line:
                    self._read_odd(number, line, rows)
                continue
            if keeps_node is not None and head != seen:
                seen, stays = head, keeps_node(head)
            if route >= 0:
                if not stays or not (
                    (keeps_node is None or keeps_node(tail)) if tail else self._keeps_text(literal)
                ):
                    dropped += 1
                    continue
                add_head(head)
                add_relation(route)
                add_tail(tail or literal)
            elif route == TYPES and tail:
                if not stays:
                    dropped += 1
                    continue
                types += 1
                add_type((head, tail))
            else:
                special(rows, number, head, relation, tail or literal)
        self.dropped += dropped
        self.kept += len(rows.heads) - before + types

    def _read_odd(self, number: int, line: str, rows: IntakeRows) -> None:
        try:
            triple, about = parse_line(line), ()
        except UserError as error:
            triple, about = None, parse_annotation(line)
            if not about:
                self._reject(number, str(error), line)
        if about:
            self._note(_ANNOTATED, number, line)
        for head, relation, tail in about or filter(None, [triple]):
            self._special(rows, number, self._scoped(head), relation, self._scoped(tail))

    def _scoped(self, node: str) -> str:
        """Return a blank node with the scope of its file, any other node as it is."""
        is_blank = self._scope and node.startswith("_:") and not node.startswith(STATEMENT)
        return f"_:{self._scope}-{node[2:]}" if is_blank else node

    def _special(self, rows: IntakeRows, number: int, head: str, relation: str, tail: str) -> None:
        """Handle a line whose relation names or types its subject, is dropped, or is not seen
        yet."""
        if relation in NAME_RELATIONS and is_literal(tail) and language(tail) is not None:
            self._name(rows, number, head, relation, tail)
        elif relation in TYPE_RELATIONS and not is_literal(tail):
            if self._keeps_node is not None and not self._keeps_node(head):
                self.dropped += 1
                return
            rows.types.append((head, tail))
            self.kept += 1
        else:
            self._add(rows, head, self._relations[relation], tail)

    def _name(self, rows: IntakeRows, number: int, head: str, relation: str, literal: str) -> None:
        tag = language(literal) or ""
        if self._keeps_node is not None and not self._keeps_node(head):
            self.dropped += 1
            return
        self.kept += 1
        if name := literal_name(literal):
            rank = _preference(tag) + NAME_RELATIONS[relation]
            if not self._keeps_text(literal):
                rank += UNWANTED_LANGUAGE
            rows.names.append((head, name, rank, self._line_base + number))


class _Routes(dict[str, int]):
    """The number of a relation, below 0 for one whose lines need a closer look."""

    def __init__(self, relations: Relations) -> None:
        super().__init__(
            dict.fromkeys(TYPE_RELATIONS, TYPES) | dict.fromkeys(NAME_RELATIONS, NAMES)
        )
        self[""] = _ODD
        self._relations = relations

    def __missing__(self, relation: str) -> int:
        self[relation] = found = self._relations[relation]
        return found


def _preference(tag: str) -> int:
    """Names from a names file come first (0), then English, then no language, then the others."""
    if tag == "en":
        return 2
    if tag.startswith("en-"):
        return 4
    return 8 if tag else 6


def is_ntriples(path: Path) -> bool:
    """Return whether a file of triples is N-Triples, by its name or its first byte."""
    name = plain_name(path)
    if name.endswith((".nt", ".tsv", ".txt")):
        return name.endswith(".nt")
    return peek(path, 1) in (b"<", b"_", b"#")


def scope_blank_nodes(sources: Sequence[Source]) -> list[Source]:
    """Give each of several files of RDF a scope for its blank nodes: the digest of what it holds,
    so that the ids do not depend on the order of the files. The blank nodes of one file alone keep
    their labels."""
    scoped = [
        source.kind == "triples" and not source.is_json and is_ntriples(source.path)
        for source in sources
    ]
    if sum(scoped) < 2:
        return list(sources)
    return [
        replace(source, scope=_digest(source.shown)) if is_rdf else source
        for source, is_rdf in zip(sources, scoped, strict=True)
    ]


def _digest(path: Path) -> str:
    """Return the digest of the content: a file and its packed copy have the same."""
    with open_input(path) as file:
        return file_digest(cast(Any, file), "sha256").hexdigest()[:12]
