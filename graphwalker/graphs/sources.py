"""Input files of a graph: triples, names and types as rows, and what to do with bad lines."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from graphwalker.errors import UserError
from graphwalker.graphs.blocks import Block, first_byte, read_blocks
from graphwalker.graphs.filters import Filters
from graphwalker.graphs.literals import is_literal, literal_name
from graphwalker.graphs.ntriples import language, parse_line, parse_lines, parse_literal
from graphwalker.graphs.rejects import Rejects

TYPE_RELATIONS = {"type.object.type", "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"}
NAME_RELATIONS = {"type.object.name": 0, "http://www.w3.org/2000/01/rdf-schema#label": 1}
_HEADERS = ({"mid", "id", "head", "subject"}, {"name", "type", "relation", "predicate"})
_NAMES, _TYPES, _DROPPED = -1, -2, -3


@dataclass(slots=True)
class Rows:
    """What was read and not yet stored. A relation is a number from `Relations`."""

    heads: list[str] = field(default_factory=list[str])
    relations: list[int] = field(default_factory=list[int])
    tails: list[str] = field(default_factory=list[str])
    names: list[tuple[str, str, int, int]] = field(default_factory=list[tuple[str, str, int, int]])
    """Id, name, rank (the lowest wins), and a number that grows from line to line."""
    types: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    edges: list[tuple[str, int, str, str]] = field(default_factory=list[tuple[str, int, str, str]])
    """The properties of relationships: head, relation, tail, and the properties as JSON."""

    def appends(self) -> tuple[Callable[[str], None], Callable[[int], None], Callable[[str], None]]:
        """What adds a head, a relation and a tail, for the loops that cannot wait for `add`."""
        return self.heads.append, self.relations.append, self.tails.append

    def add(self, head: str, relation: int, tail: str) -> None:
        self.heads.append(head)
        self.relations.append(relation)
        self.tails.append(tail)


class Relations(dict[str, int]):
    """What happens to a line, by its relation: a number from 0 on, or one of `_NAMES` and so on."""

    def __init__(self, filters: Filters, known: list[str]) -> None:
        super().__init__({relation: number for number, relation in enumerate(known)})
        self.listed = known
        self._keeps = filters.relation_test()

    def __missing__(self, relation: str) -> int:
        found = _DROPPED
        if self._keeps(relation):
            found = len(self.listed)
            self.listed.append(relation)
        self[relation] = found
        return found


@dataclass(frozen=True, slots=True)
class Source:
    """One input file: `kind` is triples, names, types or property; `number` is its place among
    all files."""

    path: Path
    kind: str
    number: int

    def reader(self, filters: Filters, relations: Relations, rejects: Rejects) -> "Reader":
        if self.kind == "names":
            return NameReader(self, filters, rejects)
        if self.kind == "types":
            return TypeReader(self, filters, rejects)
        if self.kind == "property":
            from graphwalker.graphs.property_files import property_reader

            return property_reader(self, filters, rejects, relations)
        if _is_ntriples(self.path):
            return NTriplesReader(self, filters, rejects, relations)
        return TsvReader(self, filters, rejects, relations)


class Reader(ABC):
    """Turns the blocks of one file into rows. `dropped` counts what the filters left out."""

    def __init__(self, source: Source, filters: Filters, rejects: Rejects) -> None:
        self.path, self.rejects = source.path, rejects
        self.kept: int = 0
        self.dropped: int = 0
        self._line_base = source.number << 40
        self._keeps_node = filters.node_test()
        self._keeps_language = filters.language_test()

    def blocks(self, after: int) -> Iterator[tuple[Block, Rows]]:
        """Each block with its rows; the lines up to `after` are skipped."""
        for block in read_blocks(self.path, after):
            rows = Rows()
            if block.broken:
                self._read_around(block, rows)
            else:
                self.read(block.first, block.text.split("\n"), rows)
            yield block, rows

    @abstractmethod
    def read(self, first: int, lines: list[str], rows: Rows) -> None:
        """Turn lines into rows; `first` is the number of the first of them."""

    def _read_around(self, block: Block, rows: Rows) -> None:
        """Lines that cannot be read are rejected in their turn."""
        lines, first = block.text.split("\n"), block.first
        for number, why, line in block.broken:
            self.read(first, lines[first - block.first : number - block.first], rows)
            self.rejects.add(self.path, number, why, line)
            first = number + 1
        self.read(first, lines[first - block.first :], rows)

    def _reject(self, number: int, why: str, line: str) -> None:
        self.rejects.add(self.path, number, why, line)

    def _keeps(self, head: str, tail: str) -> bool:
        """Whether the ends of a triple pass the filters of namespaces and languages."""
        if is_literal(tail):
            if self._keeps_language is not None:
                tag = language(tail)
                if tag is not None and not self._keeps_language(tag):
                    return False
        elif self._keeps_node is not None and not self._keeps_node(tail):
            return False
        return self._keeps_node is None or self._keeps_node(head)


class NameReader(Reader):
    """Names: TSV with id and name in the first two columns, others ignored; the first one wins."""

    def read(self, first: int, lines: list[str], rows: Rows) -> None:
        for number, line in enumerate(lines, start=first):
            fields = line.split("\t", 2)
            if len(fields) < 2 or not fields[0]:
                if line:
                    self._reject(number, "expected id<TAB>name", line)
            elif fields[1] and not is_literal(fields[0]) and not _is_header(number, fields):
                rows.names.append((fields[0], fields[1], 0, self._line_base + number))
                self.kept += 1


class TypeReader(Reader):
    """Types: TSV of id and type, one pair on each line."""

    def read(self, first: int, lines: list[str], rows: Rows) -> None:
        for number, line in enumerate(lines, start=first):
            fields = line.split("\t", 2)
            if len(fields) < 2 or not fields[0] or not fields[1]:
                if line:
                    self._reject(number, "expected id<TAB>type", line)
            elif not _is_header(number, fields):
                rows.types.append((fields[0], fields[1]))
                self.kept += 1


class TripleReader(Reader):
    """What the two forms of triples share."""

    def __init__(
        self, source: Source, filters: Filters, rejects: Rejects, relations: Relations
    ) -> None:
        super().__init__(source, filters, rejects)
        self._relations = relations
        self._sifts = self._keeps_node is not None or self._keeps_language is not None

    def _add(self, rows: Rows, head: str, number: int, tail: str) -> None:
        if number < 0 or (self._sifts and not self._keeps(head, tail)):
            self.dropped += 1
        else:
            rows.add(head, number, tail)


class TsvReader(TripleReader):
    """Triples as head, relation, tail; a literal is written as in N-Triples."""

    def read(self, first: int, lines: list[str], rows: Rows) -> None:
        relations, sifts, before = self._relations, self._sifts, len(rows.heads)
        add_head, add_relation, add_tail = rows.appends()
        for number, line in enumerate(lines, start=first):
            fields = line.split("\t")
            # The common line, without a call: most of a build's time is spent here.
            if len(fields) == 3 and number > 1 and not sifts:
                head, relation, tail = fields
                if head and relation and tail and head[0] != '"' != tail[0]:
                    found = relations[relation]
                    if found < 0:
                        self.dropped += 1
                        continue
                    add_head(head)
                    add_relation(found)
                    add_tail(tail)
                    continue
            self._read_odd(number, line, fields, rows)
        self.kept += len(rows.heads) - before

    def _read_odd(self, number: int, line: str, fields: list[str], rows: Rows) -> None:
        if not line or _is_header(number, fields):
            return
        if len(fields) != 3 or not all(fields):
            found = f"found {len(fields)} columns"
            self._reject(number, f"expected head<TAB>relation<TAB>tail, {found}", line)
            return
        head, relation, tail = fields
        try:
            if is_literal(head):
                raise UserError(f"a literal cannot be a head: {head[:80]}")
            tail = parse_literal(tail) if is_literal(tail) else tail
        except UserError as error:
            self._reject(number, str(error), line)
            return
        self._add(rows, head, self._relations[relation], tail)


class NTriplesReader(TripleReader):
    """Triples as N-Triples, the names and types of the graph among them."""

    def __init__(
        self, source: Source, filters: Filters, rejects: Rejects, relations: Relations
    ) -> None:
        super().__init__(source, filters, rejects, relations)
        self._routes = _Routes(relations)

    def read(self, first: int, lines: list[str], rows: Rows) -> None:
        routes, add, special = self._routes, self._add, self._special
        sifts, before = self._sifts, len(rows.heads)
        add_head, add_relation, add_tail = rows.appends()
        for number, fields in enumerate(parse_lines("\n".join(lines)), start=first):
            head, relation, tail, literal, line = fields
            if not head:
                if line:
                    self._read_odd(number, line, rows)
                continue
            route = routes[relation]
            if route >= 0:
                if sifts:
                    add(rows, head, route, tail or literal)
                    continue
                add_head(head)
                add_relation(route)
                add_tail(tail or literal)
            elif route == _DROPPED:
                self.dropped += 1
            else:
                special(rows, number, head, relation, tail or literal)
        self.kept += len(rows.heads) - before

    def _read_odd(self, number: int, line: str, rows: Rows) -> None:
        try:
            triple = parse_line(line)
        except UserError as error:
            self._reject(number, str(error), line)
            return
        if triple is not None:
            self._special(rows, number, *triple)

    def _special(self, rows: Rows, number: int, head: str, relation: str, tail: str) -> None:
        """A line whose relation names or types its subject, or is left out, or is not seen yet."""
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

    def _name(self, rows: Rows, number: int, head: str, relation: str, literal: str) -> None:
        tag = language(literal) or ""
        if not self._keeps(head, literal):
            self.dropped += 1
            return
        self.kept += 1
        if name := literal_name(literal):
            rank = _preference(tag) + NAME_RELATIONS[relation]
            rows.names.append((head, name, rank, self._line_base + number))


class _Routes(dict[str, int]):
    """The number of a relation, below 0 for one whose lines need a closer look."""

    def __init__(self, relations: Relations) -> None:
        super().__init__(
            dict.fromkeys(TYPE_RELATIONS, _TYPES) | dict.fromkeys(NAME_RELATIONS, _NAMES)
        )
        self._relations = relations

    def __missing__(self, relation: str) -> int:
        self[relation] = found = self._relations[relation]
        return found


def check_read(reader: Reader, source: Source, rejected: int) -> None:
    """Raises `UserError` for a file of triples that had none; `rejected` lines were malformed."""
    if source.kind in ("triples", "property") and not reader.kept and not reader.dropped:
        why = f"; {reader.rejects.first}" if rejected else ""
        raise UserError(f"{source.path}: no triples{why}")


def _preference(tag: str) -> int:
    """Names from a names file come first (0), then English, then no language, then the others."""
    if tag == "en":
        return 2
    if tag.startswith("en-"):
        return 4
    return 8 if tag else 6


def _is_header(number: int, fields: list[str]) -> bool:
    if number != 1 or len(fields) < 2:
        return False
    first, second = (field.strip().lower() for field in fields[:2])
    return first in _HEADERS[0] and second in _HEADERS[1]


def _is_ntriples(path: Path) -> bool:
    name = path.name.removesuffix(".gz")
    if name.endswith((".nt", ".tsv", ".txt")):
        return name.endswith(".nt")
    return first_byte(path) in (b"<", b"_", b"#")
