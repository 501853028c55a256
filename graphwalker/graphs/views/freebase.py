"""Freebase on any backend: its schema, mediators, whitelists, skip lists, languages, aliases."""

import fnmatch
import gzip
import json
import logging
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import cast

from graphwalker.errors import UserError
from graphwalker.files import json_fault
from graphwalker.graphs.base import FLATTENED, Direction, Entity, KnowledgeGraph
from graphwalker.graphs.literals import is_literal, literal_name
from graphwalker.graphs.names import names_nothing
from graphwalker.graphs.ntriples import FREEBASE, language
from graphwalker.graphs.views.filtered import FilteredGraph

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
        """Return the type at the far end of a relation, `""` where it is not known."""
        if direction == Direction.OUT:
            return self.ranges.get(relation, "")
        # A Freebase relation is named after the type that it belongs to.
        return self.domains.get(relation, "") or relation.rpartition(".")[0]

    def ends_at_cvts(self, relation: str, direction: Direction) -> bool | None:
        """Return whether the far end is a CVT node; `None` where the schema does not say."""
        if FLATTENED in relation:
            return False
        kind = self.end_type(relation, direction)
        if kind in self.mediators:
            return True
        known = direction == Direction.OUT or relation in self.domains
        return False if kind and known else None

    def inverse_of(self, relation: str) -> str:
        """Return the inverse of a relation, of a flattened one by its halves, `""` for none."""
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
    """Return a whitelist: a JSON list of relation ids or IRIs, plain or .gz. Raises `UserError`."""
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


ALIAS = "common.topic.alias"
_MID = re.compile(r"[mg]\.[0-9a-z_]+")
_NO_SCHEMA = FreebaseSchema()


class FreebaseGraph(FilteredGraph):
    """`graph` as Freebase is meant to be read.

    `schema`: CVT nodes are those at the mediated ends of relations, so an entity that merely has
    no name stays an entity; for relations that the schema does not know, a node without a name
    is a CVT node. `predicates`: the only relations shown; of a flattened one both halves must be
    among them. `skip`: patterns of relations that are hidden (`*` stands for anything).
    `languages`: texts tagged with other languages are hidden; empty: all are shown.
    """

    def __init__(
        self,
        graph: KnowledgeGraph,
        schema: FreebaseSchema = _NO_SCHEMA,
        predicates: Collection[str] | None = None,
        skip: Sequence[str] = (),
        languages: Sequence[str] = (),
    ) -> None:
        super().__init__(graph)
        self.schema = schema
        self._languages = frozenset(tag.lower() for tag in languages)
        self._keeps_relation = relation_test(predicates, skip)

    def keeps_relation(self, relation: str) -> bool:
        return self._keeps_relation(relation)

    def sifts(self, relation: str, direction: Direction) -> bool:
        if not self._languages or direction == Direction.IN:
            return False
        kind = self.schema.end_type(relation.rpartition(FLATTENED)[2], Direction.OUT)
        return not kind or kind.startswith("type.")

    def keeps(self, head_id: str, relation: str, tail_id: str) -> bool:
        return not is_literal(tail_id) or (language(tail_id) or "") in {"", *self._languages}

    def leads_to_cvts(self, relation: str, direction: Direction) -> bool:
        known = self.schema.ends_at_cvts(relation, direction)
        return super().leads_to_cvts(relation, direction) if known is None else known

    def is_cvt_end(self, end: Entity, relation: str, direction: Direction) -> bool:
        known = self.schema.ends_at_cvts(relation, direction)
        return super().is_cvt_end(end, relation, direction) if known is None else known

    def is_cvt(self, entity: Entity) -> bool:
        """Judge by its types where the schema knows some, else by the lack of a name."""
        if is_literal(entity.id):
            return False
        types = self.types(entity.id)
        if self.schema.mediators and types:
            return not self.schema.mediators.isdisjoint(types)
        return names_nothing(entity.name) and names_nothing(self.name(entity.id))

    def aliases(self, entity_id: str) -> list[str]:
        """Return its other names in the languages shown (`common.topic.alias`), each once."""
        found = self.graph.neighbors(entity_id, ALIAS, Direction.OUT)
        texts = [e.id for e in found if is_literal(e.id) and self.keeps(entity_id, ALIAS, e.id)]
        return list(dict.fromkeys(map(literal_name, texts)))

    def inverse_of(self, relation: str) -> str:
        return self.schema.inverse_of(relation)


def relation_test(predicates: Collection[str] | None, skip: Sequence[str]) -> Callable[[str], bool]:
    """Return whether a relation, or each half of a flattened one, is wanted and not skipped."""
    wanted = None if predicates is None else frozenset(predicates)
    skipped = re.compile("|".join(map(fnmatch.translate, skip)) or r"(?!)").match

    @lru_cache(maxsize=65_536)
    def keeps(relation: str) -> bool:
        if wanted is not None and relation in wanted:
            return not skipped(relation)
        halves = relation.split(FLATTENED)
        return all((wanted is None or h in wanted) and not skipped(h) for h in halves)

    return keeps


def machine_id(text: str) -> str:
    """Return the MID or relation id behind any usual spelling; other texts come back as they are.

    >>> machine_id("http://rdf.freebase.com/ns/m.02mjmr"), machine_id("/m/02mjmr")
    ('m.02mjmr', 'm.02mjmr')
    """
    short = text.strip().removeprefix("<").removesuffix(">").removeprefix(FREEBASE)
    short = short.removeprefix("ns:").removeprefix("fb:")
    if short.startswith("/"):
        dotted = short.strip("/").replace("/", ".")
        short = dotted if _MID.fullmatch(dotted) else short
    return short
