"""Readers of a graph's input files: triples, names and types as rows; bad lines are rejected."""

import json
from pathlib import Path
from typing import Any, cast

from graphwalker.errors import UserError
from graphwalker.graphs.intake.blocks import (
    Block,
    first_lines,
    is_csv,
    peek,
    plain_name,
)
from graphwalker.graphs.intake.columns import (
    KEEP_WHOLE,
    SAMPLED,
    TABLE,
    TriplePlaces,
    find_columns,
    role_places,
)
from graphwalker.graphs.intake.filters import Filters
from graphwalker.graphs.intake.rows import (
    DROPPED,
    NAMES,
    TYPES,
    UNWANTED_LANGUAGE,
    BlockReader,
    FileReader,
    IntakeRows,
    ReaderInput,
    Rejects,
    Relations,
    Source,
)
from graphwalker.graphs.literals import is_literal, literal_name
from graphwalker.graphs.ntriples import language, parse_line, parse_lines, parse_literal
from graphwalker.graphs.properties import value_literal

TYPE_RELATIONS = {"type.object.type", "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"}
NAME_RELATIONS = {"type.object.name": 0, "http://www.w3.org/2000/01/rdf-schema#label": 1}
_ODD = DROPPED - 1
"""What happens to a line that is not a common one: it is read on its own."""
_HEADERS = ({"mid", "id", "head", "subject"}, {"name", "type", "relation", "predicate"})


def open_reader(
    source: Source, filters: Filters, relations: Relations, rejects: Rejects
) -> FileReader:
    given = ReaderInput(source, filters, rejects, relations)
    if source.kind in _PAIRS:
        return _PAIRS[source.kind](given)
    if source.kind == "property":
        from graphwalker.graphs.intake.property_files import property_reader

        return property_reader(given)
    if source.is_json:
        return JsonTriplesReader(given)
    if is_csv(source.path) or source.form.columns == (TABLE,):
        from graphwalker.graphs.intake.tables import TableReader

        return TableReader(given)
    return NTriplesReader(given) if _is_ntriples(source.path) else _tsv_reader(given)


class NameReader(FileReader):
    """Names: TSV with id and name in the first two columns, others ignored; the first one wins."""

    def read(self, first: int, lines: list[str], rows: IntakeRows) -> None:
        for number, line in enumerate(lines, start=first):
            fields = line.split("\t", 2)
            if len(fields) < 2 or not fields[0]:
                if line:
                    self._reject(number, "expected id<TAB>name", line)
            elif fields[1] and not is_literal(fields[0]) and not _is_header(number, fields):
                rows.names.append((fields[0], fields[1], 0, self._line_base + number))
                self.kept += 1


class TypeReader(FileReader):
    """Types: TSV of id and type, one pair on each line."""

    def read(self, first: int, lines: list[str], rows: IntakeRows) -> None:
        for number, line in enumerate(lines, start=first):
            fields = line.split("\t", 2)
            if len(fields) < 2 or not fields[0] or not fields[1]:
                if line:
                    self._reject(number, "expected id<TAB>type", line)
            elif is_literal(fields[0]):
                self._reject(number, f"a literal has no types: {fields[0][:80]}", line)
            elif not _is_header(number, fields):
                rows.types.append((fields[0], fields[1]))
                self.kept += 1


_PAIRS: dict[str, type[FileReader]] = {"names": NameReader, "types": TypeReader}


class TsvReader(FileReader):
    """Triples as head, relation, tail; a literal is written as in N-Triples."""

    def __init__(self, given: ReaderInput, has_header: bool = False) -> None:
        super().__init__(given)
        self._looks, self._has_header = False, has_header

    def rows_of(self, block: Block) -> IntakeRows:
        self._looks = self._form.split != KEEP_WHOLE and any(
            mark in block.text for mark in (self._form.split or "|", ";")
        )
        return super().rows_of(block)

    def read(self, first: int, lines: list[str], rows: IntakeRows) -> None:
        relations, before = self._relations, len(rows.heads)
        sifts = self._sifts or self._looks
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

    def _is_header(self, number: int, fields: list[str]) -> bool:
        return number == 1 and (self._has_header or _is_header(1, fields))

    def _read_odd(self, number: int, line: str, fields: list[str], rows: IntakeRows) -> None:
        if line and not self._is_header(number, fields):
            self._read_fields(number, line, fields, rows)

    def _read_fields(self, number: int, line: str, fields: list[str], rows: IntakeRows) -> None:
        if len(fields) != 3 or not all(fields):
            found = f"found {len(fields)} columns"
            found += "; --columns 1,2,3 names three of them" if len(fields) > 3 else ""
            self._reject(number, f"expected head<TAB>relation<TAB>tail, {found}", line)
            return
        head, relation, tail = fields
        try:
            if is_literal(head):
                raise UserError(f"a literal cannot be a head: {head[:80]}")
            tail = parse_literal(tail) if is_literal(tail) else tail
            heads, tails = self._form.values(head), self._form.values(tail)
        except UserError as error:
            self._reject(number, str(error), line)
            return
        self.divided += len(heads) > 1 or len(tails) > 1
        for one in heads:
            for other in tails:
                self._add(rows, one, self._relations[relation], other)


class ColumnsReader(TsvReader):
    """Triples from three columns of a TSV file, which the user or its header names."""

    def __init__(self, given: ReaderInput, places: TriplePlaces, has_header: bool) -> None:
        super().__init__(given, has_header)
        self._places = places

    def read(self, first: int, lines: list[str], rows: IntakeRows) -> None:
        skipped = first == 1 and self._has_header
        super().read(
            first, [""] * skipped + [self._select_columns(line) for line in lines[skipped:]], rows
        )

    def _select_columns(self, line: str) -> str:
        fields = line.split("\t")
        if len(fields) <= max(self._places):
            return line
        return "\t".join(fields[place] for place in self._places)

    def _is_header(self, number: int, fields: list[str]) -> bool:
        return False


def _tsv_reader(given: ReaderInput) -> TsvReader:
    """The reader of the columns that the user names, or the header, or of the three there are."""
    source = given.source
    first, *rows = (line.split("\t") for line in first_lines(source.path, SAMPLED + 1))
    if source.form.columns:
        places = source.form.places(source.path, first)
        return ColumnsReader(given, places, source.form.has_header)
    is_known = len(first) == 3 and _is_header(1, first)
    places = None if is_known else find_columns(source.path, first, rows)
    if places in (None, (0, 1, 2)) and len(first) == 3:
        return TsvReader(given, places is not None)
    return ColumnsReader(given, places, True) if places else TsvReader(given)


class JsonTriplesReader(TsvReader):
    """Triples as JSON lines: records whose keys name head, relation and tail, or lists of three."""

    def __init__(self, given: ReaderInput) -> None:
        super().__init__(given)
        record = json.loads(first_lines(self.path, 1)[0])
        self._keys: tuple[Any, Any, Any] = (0, 1, 2)
        if isinstance(record, dict):
            keys = list(map(str, cast("dict[Any, Any]", record)))
            places = role_places(keys)
            if self._form.columns:
                places = self._form.places(self.path, keys)
            if places is None:
                raise UserError(
                    f"{self.path}:1: which of {', '.join(keys)[:80]} are head, relation and "
                    "tail? Add --columns with their names"
                )
            self._keys = (keys[places[0]], keys[places[1]], keys[places[2]])

    def read(self, first: int, lines: list[str], rows: IntakeRows) -> None:
        before = len(rows.heads)
        for number, line in enumerate(lines, start=first):
            try:
                record: Any = json.loads(line) if line.strip() else None
                fields = [_field(record[key]) for key in self._keys] if record else []
            except (ValueError, RecursionError, LookupError, TypeError):
                self._reject(number, "no JSON record with head, relation and tail", line)
                continue
            if fields:
                self._read_fields(number, line, fields, rows)
        self.kept += len(rows.heads) - before


def _field(value: Any) -> str:
    """A text as it is, a number as a literal of its type. Raises `TypeError` for any other."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return value_literal(value)
    raise TypeError


class NTriplesReader(FileReader):
    """Triples as N-Triples, the names and types of the graph among them."""

    def __init__(self, given: ReaderInput) -> None:
        super().__init__(given)
        self._routes = _Routes(given.relations)

    def rows_of(self, block: Block) -> IntakeRows:
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
            triple = parse_line(line)
        except UserError as error:
            self._reject(number, str(error), line)
            return
        if triple is not None:
            self._special(rows, number, *triple)

    def _special(self, rows: IntakeRows, number: int, head: str, relation: str, tail: str) -> None:
        """A line whose relation names or types its subject, or is dropped, or is not seen yet."""
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


def check_read(reader: BlockReader, source: Source, rejected: int) -> None:
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
    name = plain_name(path)
    if name.endswith((".nt", ".tsv", ".txt")):
        return name.endswith(".nt")
    return peek(path, 1) in (b"<", b"_", b"#")
