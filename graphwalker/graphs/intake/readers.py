"""Readers of a graph's input files: triples, names and types as rows; bad lines are rejected."""

import json
from functools import cached_property
from typing import Any, cast

from graphwalker.errors import UserError
from graphwalker.graphs.intake.blocks import Block, first_lines, is_csv
from graphwalker.graphs.intake.columns import (
    KEEP_WHOLE,
    SAMPLED,
    TABLE,
    TriplePlaces,
    blank_rule,
    find_columns,
    role_places,
)
from graphwalker.graphs.intake.filters import Filters
from graphwalker.graphs.intake.ntriples import NTriplesReader, is_ntriples
from graphwalker.graphs.intake.rows import (
    WANTED_JSON,
    BlockReader,
    FileReader,
    IntakeRows,
    ReaderInput,
    Rejects,
    Relations,
    Source,
)
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.ntriples import parse_literal
from graphwalker.graphs.properties import value_literal

_HEADERS = ({"mid", "id", "head", "subject"}, {"name", "type", "relation", "predicate"})
_PAIR_HEADERS = (
    _HEADERS[0]
    | {"entity", "entity_id", "entityid", "node", "node_id", "nodeid", "qid", "uri", "iri"},
    {"name", "label", "title", "type", "class", "kind"},
)


def open_reader(
    source: Source, filters: Filters, relations: Relations, rejects: Rejects
) -> FileReader:
    given = ReaderInput(source, filters, rejects, relations)
    if source.kind in _PAIRS:
        return _PAIRS[source.kind](given)
    if source.kind == "property":
        from graphwalker.graphs.intake.property_files import property_reader

        return property_reader(given)
    if source.table is not None:
        from graphwalker.graphs.intake.databases.reader import DatabaseReader

        return DatabaseReader(given, source.table)
    if source.is_json:
        return JsonTriplesReader(given)
    if is_csv(source.path) or source.form.columns == (TABLE,):
        from graphwalker.graphs.intake.tables import TableReader

        return TableReader(given)
    return NTriplesReader(given) if is_ntriples(source.path) else _tsv_reader(given)


class NameReader(FileReader):
    """Names: TSV with id and name in the first two columns, others ignored; the first one wins."""

    def read(self, first: int, lines: list[str], rows: IntakeRows) -> None:
        for number, line in enumerate(lines, start=first):
            fields = line.split("\t", 2)
            if len(fields) < 2 or not fields[0]:
                if line:
                    self._reject(number, _tell_expected("name", fields), line)
            elif is_literal(fields[0]) or _is_header(number, fields, _PAIR_HEADERS):
                continue
            elif name := fields[1].strip():
                rows.names.append((fields[0], name, 0, self._line_base + number))
                self.kept += 1


def _tell_expected(what: str, fields: list[str]) -> str:
    return f"expected id<TAB>{what}" + (", found no tab" if len(fields) < 2 else "")


class TypeReader(FileReader):
    """Types: TSV of id and type, one pair on each line."""

    def read(self, first: int, lines: list[str], rows: IntakeRows) -> None:
        for number, line in enumerate(lines, start=first):
            fields = line.split("\t", 2)
            if len(fields) < 2 or not fields[0] or not fields[1].strip():
                if line:
                    self._reject(number, _tell_expected("type", fields), line)
            elif is_literal(fields[0]):
                self._reject(number, f"a literal has no types: {fields[0][:80]}", line)
            elif not _is_header(number, fields, _PAIR_HEADERS):
                rows.types.append((fields[0], fields[1].strip()))
                self.kept += 1


_PAIRS: dict[str, type[FileReader]] = {"names": NameReader, "types": TypeReader}


class TsvReader(FileReader):
    """Triples as head, relation, tail; a literal is written as in N-Triples."""

    header_lines = 1

    def __init__(self, given: ReaderInput, has_header: bool = False) -> None:
        super().__init__(given)
        self._looks, self._has_header = False, has_header

    def rows_of(self, block: Block) -> IntakeRows:
        text = block.text
        marked = self._form.split != KEEP_WHOLE and any(
            mark in text for mark in (self._form.split or "|", ";")
        )
        commented = text.startswith("#") or "\n#" in text
        self._looks = marked or commented or (" " in text and self._blanks != "")
        return super().rows_of(block)

    @cached_property
    def _blanks(self) -> str:
        """The `blank_rule` of the file, by its beginning; the user's own goes before."""
        lines = first_lines(self.path, SAMPLED)[self._has_header :]
        facts = [fields for line in lines if len(fields := self._split(line)) == 3]
        return "" if self._form.split else blank_rule((head, tail) for head, _, tail in facts)

    def _split(self, line: str) -> list[str]:
        return line.split("\t")

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
            found = f"found {len(fields)} columns" + " with an empty one" * (len(fields) == 3)
            if len(fields) == 1:
                found = "found no tab (a file with commas is called .csv)"
            if len(fields) > 3:
                found += "; --columns 1,2,3 names three of them, --columns table reads entities"
            self._reject(number, f"expected head<TAB>relation<TAB>tail, {found}", line)
            return
        head, relation, tail = fields
        try:
            if is_literal(head):
                raise UserError(f"a literal cannot be a head: {head[:80]}")
            tail = parse_literal(tail) if is_literal(tail) else tail
            heads, tails = self._divide(number, head, tail, self._blanks)
        except UserError as error:
            self._reject(number, str(error), line)
            return
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
        if skipped and not self._form.columns:
            self._note_unread(lines[0].split("\t"), self._places)
        super().read(
            first, [""] * skipped + [self._select_columns(line) for line in lines[skipped:]], rows
        )

    def _select_columns(self, line: str) -> str:
        fields = line.split("\t")
        if len(fields) <= max(self._places):
            return line
        return "\t".join(fields[place] for place in self._places)

    def _split(self, line: str) -> list[str]:
        return self._select_columns(line).split("\t")

    def _is_header(self, number: int, fields: list[str]) -> bool:
        return False


def _tsv_reader(given: ReaderInput) -> TsvReader:
    """Return the reader of the columns that the user or the header names, or of the three."""
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
        self._others: list[str] = []
        if isinstance(record, dict):
            keys = list(map(str, cast("dict[Any, Any]", record)))
            places = role_places(keys)
            if self._form.columns:
                places = self._form.places(self.path, keys)
            if places is None and len(keys) < 3:
                raise UserError(
                    f"{self.path}:1: a record of {', '.join(keys)[:80] or 'nothing'}; {WANTED_JSON}"
                )
            if places is None:
                named = ",".join(keys) if len(keys) == 3 else "HEAD,RELATION,TAIL"
                raise UserError(
                    f"{self.path}:1: which of {', '.join(keys)[:80]} are head, relation and "
                    f"tail? Name them in that order, such as --columns {named}"
                )
            self._keys = (keys[places[0]], keys[places[1]], keys[places[2]])
            if not self._form.columns:
                self._others = [key for key in keys if key not in self._keys]

    def read(self, first: int, lines: list[str], rows: IntakeRows) -> None:
        before = len(rows.heads)
        if first == 1:
            self._note_unread(self._others, ())
        for number, line in enumerate(lines, start=first):
            try:
                facts = self._facts(line) if line.strip() else []
                self.divided += len(facts) > 1
                for fields in facts:
                    self._read_fields(number, line, fields, rows)
            except UserError as error:
                self._reject(number, str(error), line)
        self.kept += len(rows.heads) - before

    def _split(self, line: str) -> list[str]:
        """Return the fields of a record's first fact, none where it is not one."""
        try:
            return (self._facts(line) or [[]])[0]
        except UserError:
            return []

    def _facts(self, line: str) -> list[list[str]]:
        """Return the facts of a record: one for each item where the tail is a list. Raises
        `UserError`."""
        try:
            record: Any = json.loads(line)
            head, relation, tail = (record[key] for key in self._keys)
        except (ValueError, RecursionError, LookupError, TypeError):
            raise UserError("no JSON record with head, relation and tail") from None
        if not isinstance(head, str) or not head:
            raise UserError(f"the head is {json.dumps(head)[:80]}; a text, the id, is wanted")
        tails = cast("list[Any]", tail) if isinstance(tail, list) else [tail]
        return [[head, _field(relation), _field(one)] for one in tails]


def _field(value: Any) -> str:
    """Get a text as it is, a number as a literal of its type. Raises `UserError` for any other."""
    if isinstance(value, str) and value:
        return value
    if isinstance(value, int | float):
        return value_literal(value)
    raise UserError(f"a relation or tail is {json.dumps(value)[:80]}; a text or a number is wanted")


def check_read(reader: BlockReader, source: Source, rejected: int) -> None:
    """Raise `UserError` for a file of triples that had none, and for one of names or types that
    all are malformed; `rejected` lines were."""
    if (rejected or source.kind not in _PAIRS) and not reader.kept and not reader.dropped:
        why = f"; {reader.rejects.first}" if rejected else ""
        if not why and source.origin is None and not any(first_lines(source.path, SAMPLED)):
            why = "; the file is empty"
        elif not why and reader.header_lines:
            why = "; its one line was read as a header: --columns 1,2,3 where it is a fact"
        kind = source.kind if source.kind in _PAIRS else "triples"
        raise UserError(f"{source.path}: no {kind}{why}")


def _is_header(number: int, fields: list[str], known: tuple[set[str], set[str]] = _HEADERS) -> bool:
    if number != 1 or len(fields) < 2:
        return False
    first, second = (field.strip().lower() for field in fields[:2])
    return first in known[0] and second in known[1]
