"""The schema of Freebase: which types are mediators, what relations join, which are inverse."""

import gzip
import json
import logging
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from graphwalker.errors import UserError
from graphwalker.files import json_fault
from graphwalker.graphs.base import FLATTENED, Direction
from graphwalker.graphs.ntriples import FREEBASE

log = logging.getLogger(__name__)

MALFORMED = 0.01
"""Share of malformed lines from which a schema file is taken for another kind of file."""


@dataclass(frozen=True, slots=True)
class FreebaseSchema:
    """What is known of types and relations. Empty parts are unknown, not absent."""

    mediators: frozenset[str] = frozenset()
    """Types whose instances are CVT nodes, such as `people.marriage`."""
    domains: dict[str, str] = field(default_factory=dict[str, str])
    """The type of a relation's head."""
    ranges: dict[str, str] = field(default_factory=dict[str, str])
    """The type of a relation's tail."""
    inverses: dict[str, str] = field(default_factory=dict[str, str])
    """The inverse of a relation, both ways."""

    def end_type(self, relation: str, direction: Direction) -> str:
        """The type at the far end of a relation, `""` where it is not known."""
        if direction == Direction.OUT:
            return self.ranges.get(relation, "")
        # A Freebase relation is named after the type that it belongs to.
        return self.domains.get(relation, "") or relation.rpartition(".")[0]

    def ends_at_cvts(self, relation: str, direction: Direction) -> bool | None:
        """Whether the far end is a CVT node; `None` where the schema does not say."""
        if FLATTENED in relation:
            return False
        kind = self.end_type(relation, direction)
        if kind in self.mediators:
            return True
        known = direction == Direction.OUT or relation in self.domains
        return False if kind and known else None

    def inverse_of(self, relation: str) -> str:
        """The inverse of a relation, of a flattened one by its halves; `""` where there is none."""
        if FLATTENED not in relation:
            return self.inverses.get(relation, "")
        first, _, second = relation.partition(FLATTENED)
        back, forth = self.inverses.get(second, ""), self.inverses.get(first, "")
        return f"{back}{FLATTENED}{forth}" if back and forth else ""


def load_schema(folder: Path | str) -> FreebaseSchema:
    """Read a folder of `cvt_types.txt` (one type a line), `roles.tsv` (domain, relation, range)
    and `reverse_properties.tsv` (relation, inverse), each plain or .gz, each optional.

    A malformed line is reported and skipped (the published roles have two, where line breaks are
    missing); raises `UserError` naming file and line where more than `MALFORMED` of a file are, and
    naming the folder where none of the files is there.
    """
    folder = Path(folder)
    types, roles, reversed_ = (
        _find(folder, name) for name in ("cvt_types.txt", "roles.tsv", "reverse_properties.tsv")
    )
    if not (types or roles or reversed_):
        raise UserError(
            f"{folder}: no schema here; expected cvt_types.txt, roles.tsv or "
            "reverse_properties.tsv (plain or .gz)"
        )
    schema = FreebaseSchema(frozenset(row[0] for row in _rows(types, 1)))
    for domain, relation, end in _rows(roles, 3):
        schema.domains[relation] = domain
        schema.ranges[relation] = end
    for relation, inverse in _rows(reversed_, 2):
        schema.inverses[relation] = inverse
        schema.inverses.setdefault(inverse, relation)
    return schema


def load_predicates(path: Path | str) -> frozenset[str]:
    """A whitelist: a JSON list of relation ids or IRIs, plain or .gz. Raises `UserError`."""
    path = Path(path)
    try:
        data = json.loads(_read(path))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not JSON ({json_fault(error)})") from None
    if not isinstance(data, list) or not all(isinstance(item, str) for item in data):  # pyright: ignore[reportUnknownVariableType]
        raise UserError(f"{path}: a whitelist is a JSON list of relation ids or IRIs")
    return frozenset(item.removeprefix(FREEBASE) for item in cast(list[str], data))


def _find(folder: Path, name: str) -> Path | None:
    return next((p for p in (folder / name, folder / f"{name}.gz") if p.is_file()), None)


def _rows(path: Path | None, columns: int) -> Iterator[list[str]]:
    if path is None:
        return
    rows = [line.split() for line in _read(path).splitlines()]
    bad = [(k, len(row)) for k, row in enumerate(rows, start=1) if len(row) not in (0, columns)]
    for number, found in bad:
        problem = f"{path}:{number}: expected {columns} columns, found {found}"
        if len(bad) > MALFORMED * len(rows):
            raise UserError(problem)
        log.warning("%s; the line is skipped", problem)
    for row in rows:
        if len(row) == columns:
            yield [item.removeprefix(FREEBASE) for item in row]


def _read(path: Path) -> str:
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    try:
        raw = path.read_bytes()
        return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read ({error})") from None
