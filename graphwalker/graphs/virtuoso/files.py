"""Files for Virtuoso: any input as clean N-Triples, counted, with an index of folded names."""

import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TextIO

from graphwalker.errors import UserError
from graphwalker.graphs.intake.blocks import plain_name, read_blocks
from graphwalker.graphs.intake.rows import Rejects
from graphwalker.graphs.literals import is_literal, literal_name
from graphwalker.graphs.names import fold
from graphwalker.graphs.ntriples import parse_line, parse_literal
from graphwalker.graphs.sparql.client import SENTINELS, Pair
from graphwalker.graphs.sparql.terms import Vocabulary, is_plain, text

IdTriple = tuple[str, str, str]
_XSD = re.escape("http://www.w3.org/2001/XMLSchema#")
_KEPT = re.compile(
    r'".*"(?:@[a-z-]+)?'  # texts; tags of languages in lower case
    rf'|"-?(?:0|[1-9]\d{{0,8}})"\^\^<{_XSD}integer>'
    rf'|"[12]\d{{3}}"\^\^<{_XSD}gYear>'
    rf'|"[12]\d{{3}}-\d\d-\d\d"\^\^<{_XSD}date>'
    rf'|".*"\^\^<(?!{_XSD}).*>',
    re.DOTALL,
)
"""Literals that Virtuoso 7.2.5 gives back as they were written; numbers, dates and times in other
spellings come back in its own."""
_HEADERS = ("mid", "id", "head", "subject")


@dataclass(frozen=True, slots=True)
class LoadSummary:
    """What a load will bring: lines written, and how many of them differ."""

    lines: int
    distinct: int
    folded: int
    """Distinct lines of the index of folded names."""
    rewritten: int
    """Lines with a value that Virtuoso stores in its own spelling (`1.50` as `1.5`), by which two
    of them may become one."""
    rejected: int
    fingerprint: str = ""
    """Of the distinct lines, whatever their order."""
    sentinels: tuple[Pair, ...] = ()
    """Triples that must be found again, as subject and predicate."""


class Preparer:
    """Writes N-Triples that Virtuoso reads without a loss: it skips malformed lines in silence."""

    def __init__(self, out: TextIO, vocabulary: Vocabulary, rejects: Rejects) -> None:
        self._out, self._vocabulary, self._rejects = out, vocabulary, rejects
        self._seen, self._folded = array("Q"), array("Q")
        self._sentinels: list[tuple[int, Pair]] = []
        self._rewritten = 0

    def add_triples(self, path: Path) -> None:
        """Add a TSV file of head, relation, tail, or N-Triples; plain or .gz."""
        is_nt = plain_name(path).endswith(".nt")
        self._read(path, parse_line if is_nt else _tsv_fact)

    def add_names(self, path: Path) -> None:
        """TSV: id, name; further columns are ignored."""
        name = self._vocabulary.name
        self._read(
            path, lambda line: _pair(line, lambda i, n: (i, name, f'"{_escape_name(n)}"@en'))
        )

    def add_types(self, path: Path) -> None:
        """TSV: id, type."""
        self._read(path, lambda line: _pair(line, lambda i, t: (i, self._vocabulary.type, t)))

    def finish(self) -> LoadSummary:
        """Counts, exact up to collisions of 64-bit hashes."""
        distinct, folded = _distinct(self._seen), _distinct(self._folded)
        lines, rejected = len(self._seen), self._rejects.count
        return LoadSummary(
            lines,
            distinct,
            folded,
            self._rewritten,
            rejected,
            _fingerprint(self._seen),
            tuple(sorted(pair for _, pair in self._sentinels)),
        )

    def _read(self, path: Path, parse: Callable[[str], IdTriple | None]) -> None:
        for number, line in self._lines(path):
            if number == 1 and line.split("\t")[0].strip().lower() in _HEADERS:
                continue
            try:
                fact = parse(line)
                if fact is not None:
                    self._write(fact)
            except UserError as error:
                self._rejects.add(path, number, str(error), line)

    def _lines(self, path: Path) -> Iterator[tuple[int, str]]:
        for block in read_blocks(path):
            broken = {number: (why, line) for number, why, line in block.broken}
            for number, line in enumerate(block.text.split("\n"), start=block.first):
                if number in broken:
                    self._rejects.add(path, number, *broken[number])
                else:
                    yield number, line.removesuffix("\r")

    def _write(self, fact: IdTriple) -> None:
        line = " ".join((self._node(fact[0]), self._node(fact[1]), self._node(fact[2]))) + " .\n"
        self._out.write(line)
        hashed = _hash(line)
        self._seen.append(hashed)
        self._add_sentinel(hashed, line)
        self._rewritten += is_literal(fact[2]) and not _KEPT.fullmatch(fact[2])
        if fact[1] == self._vocabulary.name and is_literal(fact[2]):
            folded = fold(literal_name(fact[2]))
            line = f"{self._node(fact[0])} <{self._vocabulary.folded}> {text(folded)} .\n"
            self._out.write(line)
            self._folded.append(_hash(line))

    def _add_sentinel(self, hashed: int, line: str) -> None:
        """Keep those of the least hashes: a sample that no order of the input changes."""
        if len(self._sentinels) == SENTINELS and hashed >= self._sentinels[-1][0]:
            return
        subject, predicate, _ = line.split(" ", 2)
        if subject.startswith("<"):
            one = (hashed, (subject[1:-1], predicate[1:-1]))
            self._sentinels = sorted({*self._sentinels, one})[:SENTINELS]

    def _node(self, node_id: str) -> str:
        if is_literal(node_id):
            return _literal(node_id)
        if node_id.startswith("_:"):
            return node_id
        iri = self._vocabulary.iri(node_id)
        if iri is None or not is_plain(node_id):
            raise UserError(f"no IRI can be written for the id {node_id[:80]!r}")
        return iri


def prepare(
    triples: Sequence[Path],
    names: Sequence[Path],
    types: Sequence[Path],
    out: Path,
    vocabulary: Vocabulary,
    rejects: Rejects,
) -> LoadSummary:
    """Write all inputs into one file. Raises `UserError` naming file and line."""
    with out.open("w", encoding="utf-8", newline="\n") as file:
        preparer = Preparer(file, vocabulary, rejects)
        for path in names:
            preparer.add_names(path)
        for path in types:
            preparer.add_types(path)
        for path in triples:
            preparer.add_triples(path)
    return preparer.finish()


def _tsv_fact(line: str) -> IdTriple | None:
    fields = line.split("\t")
    if not line:
        return None
    if len(fields) != 3 or not all(fields) or is_literal(fields[0]):
        raise UserError(f"expected head<TAB>relation<TAB>tail, found {len(fields)} columns")
    tail = parse_literal(fields[2]) if is_literal(fields[2]) else fields[2]
    return fields[0], fields[1], tail


def _pair(line: str, fact: Callable[[str, str], IdTriple]) -> IdTriple | None:
    fields = line.split("\t", 2)
    if not line:
        return None
    if len(fields) < 2 or not fields[0]:
        raise UserError("expected two columns")
    return fact(fields[0], fields[1]) if fields[1] else None


def _escape_name(name: str) -> str:
    return (text(name) or '""')[1:-1]


def _literal(literal: str) -> str:
    """Return a literal in plain N-Triples: Virtuoso cannot hold the character NUL."""
    lexical = literal_name(literal)
    written = None if "\0" in lexical else text(lexical)
    if written is None:
        raise UserError("a literal with a NUL character or half a surrogate pair")
    return written + literal[literal.rfind('"') + 1 :]


def _hash(line: str) -> int:
    return int.from_bytes(blake2b(line.encode(), digest_size=8).digest())


def _fingerprint(hashes: "array[int]") -> str:
    """Return the same text for the same set of lines."""
    import numpy

    distinct = numpy.unique(numpy.frombuffer(hashes, dtype=numpy.uint64)) if hashes else b""
    return blake2b(bytes(distinct), digest_size=12).hexdigest()


def _distinct(hashes: "array[int]") -> int:
    import numpy

    return len(numpy.unique(numpy.frombuffer(hashes, dtype=numpy.uint64))) if hashes else 0
