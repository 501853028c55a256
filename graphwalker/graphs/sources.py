"""Input files of a graph: triples, names and types as rows, and what to do with bad lines."""

import gzip
import logging
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from graphwalker.errors import UserError
from graphwalker.graphs.literals import is_literal, literal_name
from graphwalker.graphs.ntriples import language, parse_line, parse_literal

log = logging.getLogger(__name__)

FAULT_LIMIT = 100
"""Malformed lines that a build skips and counts; one more stops it."""

TYPE_RELATIONS = {"type.object.type", "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"}
NAME_RELATIONS = {"type.object.name": 0, "http://www.w3.org/2000/01/rdf-schema#label": 1}
_HEADERS = ({"mid", "id", "head", "subject"}, {"name", "type", "relation", "predicate"})


class Faults:
    """The malformed lines of a build: skipped, counted, named; too many stop it."""

    def __init__(self, limit: int = FAULT_LIMIT) -> None:
        self.count = 0
        self.first = ""
        self._limit = limit

    def add(self, path: Path, number: int, why: str) -> None:
        """Raises `UserError` once there are more than the limit."""
        self.count += 1
        where = f"{path}:{number}: {why}"
        self.first = self.first or where
        if self.count > self._limit:
            raise UserError(
                f"{where}; more than {self._limit} malformed lines, the first {self.first}"
            )
        if self.count <= 10:
            log.warning("skipped %s", where)


class Sink:
    """Where rows go: each field takes one row of that kind."""

    def __init__(
        self,
        fact: Callable[[tuple[str, str, str]], None],
        name: Callable[[tuple[str, str, int]], None],
        type: Callable[[tuple[str, str]], None],
    ) -> None:
        self.fact, self.name, self.type = fact, name, type


def read_triples(path: Path, sink: Sink, faults: Faults) -> None:
    """Send the rows of a TSV or N-Triples file to the sink. Raises `UserError` naming the file."""
    before, lines = faults.count, 0
    parse = _send_ntriple if _is_ntriples(path) else _send_tsv_triple
    for number, line in _lines(path, faults):
        if number == 1 and _is_header(line):
            continue
        try:
            lines += parse(line, sink)
        except UserError as error:
            faults.add(path, number, str(error))
    if not lines:
        raise UserError(
            f"{path}: no triples" + (f"; {faults.first}" if faults.count > before else "")
        )


def read_names(path: Path, sink: Sink, faults: Faults) -> None:
    """Names: TSV with id and name in the first two columns, others ignored. The first name wins."""
    for number, line in _lines(path, faults):
        fields = line.split("\t")
        if len(fields) < 2 or not fields[0]:
            if line:
                faults.add(path, number, "expected id<TAB>name")
        elif not (number == 1 and _is_header(line)) and fields[1] and not is_literal(fields[0]):
            sink.name((fields[0], fields[1], 0))


def read_types(path: Path, sink: Sink, faults: Faults) -> None:
    """Types: TSV of id and type, one pair on each line."""
    for number, line in _lines(path, faults):
        fields = line.split("\t")
        if len(fields) < 2 or not fields[0] or not fields[1]:
            if line:
                faults.add(path, number, "expected id<TAB>type")
        elif not (number == 1 and _is_header(line)):
            sink.type((fields[0], fields[1]))


def _send_tsv_triple(line: str, sink: Sink) -> int:
    fields = line.split("\t")
    if len(fields) != 3 or not all(fields):
        if not line:
            return 0
        raise UserError(f"expected head<TAB>relation<TAB>tail, found {len(fields)} columns")
    head, relation, tail = fields
    if is_literal(head):
        raise UserError(f"a literal cannot be a head: {head[:80]}")
    sink.fact((head, relation, parse_literal(tail) if is_literal(tail) else tail))
    return 1


def _send_ntriple(line: str, sink: Sink) -> int:
    triple = parse_line(line)
    if triple is None:
        return 0
    head, relation, tail = triple
    if is_literal(tail):
        if relation in NAME_RELATIONS and (tag := language(tail)) is not None:
            if name := literal_name(tail):
                sink.name((head, name, _preference(tag) + NAME_RELATIONS[relation]))
            return 1
    elif relation in TYPE_RELATIONS:
        sink.type((head, tail))
        return 1
    sink.fact(triple)
    return 1


def _preference(tag: str) -> int:
    """Names from a names file come first (0), then English, then no language, then the others."""
    if tag == "en":
        return 2
    if tag.startswith("en-"):
        return 4
    return 8 if tag else 6


def _is_header(line: str) -> bool:
    fields = [field.strip().lower() for field in line.split("\t")[:2]]
    return len(fields) == 2 and fields[0] in _HEADERS[0] and fields[1] in _HEADERS[1]


def _is_ntriples(path: Path) -> bool:
    name = path.name.removesuffix(".gz")
    if name.endswith((".nt", ".tsv", ".txt")):
        return name.endswith(".nt")
    with _open(path) as file:
        try:
            return file.read(1) in (b"<", b"_", b"#")
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise UserError(f"{path}: damaged gzip file ({error})") from None


def _lines(path: Path, faults: Faults) -> Iterator[tuple[int, str]]:
    number = 0
    with _open(path) as file:
        try:
            for number, raw in enumerate(file, start=1):
                if number == 1:
                    raw = raw.removeprefix(BOM_UTF8)
                try:
                    yield number, raw.rstrip(b"\r\n").decode()
                except UnicodeDecodeError as error:
                    faults.add(path, number, f"not UTF-8 text ({error.reason})")
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise UserError(f"{path}: damaged gzip file after line {number} ({error})") from None


def _open(path: Path) -> BinaryIO:
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    return cast(BinaryIO, gzip.open(path) if path.suffix == ".gz" else path.open("rb"))
