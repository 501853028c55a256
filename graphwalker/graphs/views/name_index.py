"""An index of names and aliases: what people search in when they do not know a name exactly."""

import difflib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any

from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph
from graphwalker.graphs.literals import is_literal, literal_name
from graphwalker.graphs.names import fold, names_nothing
from graphwalker.graphs.views.filtered import FilteredGraph

FILE_NAME = "names.sqlite"
ALIAS_RELATIONS = ("common.topic.alias", "http://www.w3.org/2004/02/skos/core#altLabel")
_KIND = "graphwalker names 1"
_CANDIDATES = 300
_TRIGRAMS = 48
SEARCHED_AT_ONCE = 100_000
"""Entities of a graph whose names are searched without an index made beforehand."""
_BATCH = 10_000

NameRow = tuple[str, str, bool, int]
"""Id, a name of the entity, whether that is an alias, and the entity's number of types."""


@dataclass(frozen=True, slots=True)
class Found:
    """An entity that a search found: `score` is 1 for its very name; `alias` is what matched,
    where that is not the name."""

    entity: Entity
    score: float
    alias: str = ""


class NameIndex:
    """Names and aliases in a SQLite database, found exactly, case-folded, or by their look."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._lock = Lock()

    def about(self, key: str) -> str:
        """Return what was noted when the index was made, such as its graph's `checksum`."""
        rows = self._rows("SELECT value FROM about WHERE key = ?", (key,))
        return rows[0][0] if rows else ""

    def resolve(self, name: str) -> list[Entity]:
        """Return all entities of that name or alias: names before aliases, exact before
        case-folded, most types, then id."""
        query = "SELECT id, name, alias, types FROM names WHERE folded = ?"
        rows = self._rows(query, (_searchable(name),))
        rows.sort(key=lambda row: (row[2], row[1] != name, -row[3], row[0].encode()))
        return self._entities(dict.fromkeys(row[0] for row in rows)) if name else []

    def search(self, text: str, limit: int = 10) -> list[Found]:
        """Return entities whose name or alias looks most like `text`, the best first."""
        wanted = _searchable(text)
        best: dict[str, tuple[float, bool, int, str]] = {}
        for entity_id, name, alias, types in self._candidates(wanted):
            score = _likeness(wanted, fold(name))
            rank = (score, not alias, types, name)
            best[entity_id] = max(best.get(entity_id, rank), rank)
        order = sorted(best, key=lambda i: (*(-x for x in best[i][:3]), i.encode()))[:limit]
        names = {entity.id: entity for entity in self._entities(order)}
        return [
            Found(names[i], round(best[i][0], 3), "" if best[i][1] else best[i][3]) for i in order
        ]

    def _candidates(self, wanted: str) -> list[tuple[str, str, int, int]]:
        if not wanted:
            return []
        columns = "SELECT id, name, alias, types FROM names"
        found = self._rows(
            f"{columns} WHERE folded >= ? AND folded < ? ORDER BY folded, types DESC LIMIT ?",
            (wanted, wanted + "\U0010ffff", _CANDIDATES),
        )
        trigrams = list(dict.fromkeys(wanted[i : i + 3] for i in range(len(wanted) - 2)))
        if trigrams:
            quoted = (f'"{t.replace(chr(34), chr(34) * 2)}"' for t in trigrams[:_TRIGRAMS])
            found += self._rows(
                f"{columns} WHERE rowid IN (SELECT rowid FROM looks WHERE looks MATCH ? "
                "ORDER BY rank LIMIT ?)",
                (" OR ".join(quoted), _CANDIDATES),
            )
        return found

    def _entities(self, ids: Iterable[str]) -> list[Entity]:
        query = "SELECT name FROM names WHERE id = ? AND NOT alias"
        found = [(i, self._rows(query, (i,))) for i in ids]
        return [Entity(i, rows[0][0] if rows else "") for i, rows in found]

    def _rows(self, query: str, values: tuple[Any, ...]) -> list[Any]:
        with self._lock:
            return self._database.execute(query, values).fetchall()


def open_index(path: Path | str, checksum: str = "") -> NameIndex:
    """Open what `build_index` wrote; `checksum` is that of the graph which it must belong to.

    Raises `UserError` for a file that is not such an index.
    """
    if not Path(path).is_file():
        raise UserError(f"{path}: no such index; make it with `graphwalker graph index`")
    try:
        database = sqlite3.connect(f"file:{Path(path)}?mode=ro", uri=True, check_same_thread=False)
        kind = database.execute("SELECT value FROM about WHERE key = 'kind'").fetchone()
    except sqlite3.DatabaseError as error:
        raise UserError(f"{path}: not an index of names ({error})") from None
    if kind != (_KIND,):
        raise UserError(f"{path}: an index of another version; make it again")
    index = NameIndex(database)
    if checksum and index.about("checksum") not in ("", checksum):
        raise UserError(
            f"{path}: the index of another graph; make it with `graphwalker graph index`"
        )
    return index


def build_index(rows: Iterable[NameRow], path: Path | str = ":memory:", **about: str) -> NameIndex:
    """Write an index; a file replaces an older one only once it is whole."""
    in_memory = path == ":memory:"
    partial = path if in_memory else Path(f"{path}.partial")
    if not in_memory:
        Path(partial).unlink(missing_ok=True)
    database = sqlite3.connect(str(partial), check_same_thread=False)
    database.executescript(_TABLES)
    notes = [("kind", _KIND), *about.items()]
    database.executemany("INSERT INTO about VALUES (?, ?)", notes)
    numbered = ((i, name, fold(name), int(alias), types) for i, name, alias, types in rows)
    while batch := list(islice(numbered, _BATCH)):
        database.executemany("INSERT INTO names VALUES (?, ?, ?, ?, ?)", batch)
    database.executescript(_INDEXES)
    database.commit()
    if in_memory:
        return NameIndex(database)
    database.close()
    Path(partial).replace(path)
    return open_index(path)


def name_rows(graph: KnowledgeGraph, aliases: Iterable[Sequence[str]] = ()) -> Iterator[NameRow]:
    """Yield the names of a graph, its alias triples, and `aliases` (id, alias) from elsewhere."""
    known = set(graph.relation_ids())
    relations = [relation for relation in ALIAS_RELATIONS if relation in known]
    for index in range(graph.size):
        entity = graph.entity_at(index)
        types = len(graph.types(entity.id))
        yield entity.id, entity.name, False, types
        for relation in relations:
            for other in graph.neighbors(entity.id, relation, Direction.OUT):
                if is_literal(other.id) and other.name:
                    yield entity.id, literal_name(other.id), True, types
    for entity_id, alias in aliases:
        if alias and not names_nothing(graph.name(entity_id)):
            yield entity_id, alias, True, len(graph.types(entity_id))


def _searchable(text: str) -> str:
    """Return what is typed, folded, without what SQLite cannot take: NUL and half characters."""
    return fold(text.replace("\0", " ").encode("utf-8", "replace").decode())


def _likeness(wanted: str, name: str) -> float:
    """0 to 1; a name that begins with what was typed counts as near."""
    if wanted == name:
        return 1.0
    ratio = difflib.SequenceMatcher(None, wanted, name, autojunk=False).ratio()
    return max(ratio, 0.9 * (0.5 + len(wanted) / len(name) / 2) if name.startswith(wanted) else 0)


_TABLES = """
PRAGMA journal_mode=OFF;
PRAGMA synchronous=OFF;
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE names (id TEXT, name TEXT, folded TEXT, alias INTEGER, types INTEGER);
"""
_INDEXES = """
CREATE INDEX by_folded ON names (folded);
CREATE INDEX by_id ON names (id);
CREATE VIRTUAL TABLE looks USING fts5(
    folded, content='names', tokenize="trigram case_sensitive 1", detail=none
);
INSERT INTO looks (looks) VALUES ('rebuild');
"""


class AliasedGraph(FilteredGraph):
    """`graph` whose `resolve` also finds the aliases of an index: names first, then aliases,
    each exact before case-folded, most types, then id."""

    def __init__(self, graph: KnowledgeGraph, index: NameIndex) -> None:
        super().__init__(graph)
        self._index = index

    def resolve(self, name: str) -> list[Entity]:
        by_name = self.graph.resolve(name)
        known = {entity.id for entity in by_name}
        by_alias = [e.id for e in self._index.resolve(name) if e.id not in known]
        names = self.graph.names_many(by_alias) if by_alias else []
        return by_name + [Entity(i, n) for i, n in zip(by_alias, names, strict=True)]


def index_of(graph: KnowledgeGraph, index: NameIndex | None = None) -> NameIndex:
    """Return the index given, else the one beside the graph, else one made now of a small graph."""
    beside = graph.path.parent / FILE_NAME if graph.path else None
    if index is None and beside is not None and beside.is_file():
        index = open_index(beside, graph.checksum)
    if index is None and graph.size <= SEARCHED_AT_ONCE:
        index = build_index(name_rows(graph))
    return index or build_index([])
