"""The disk tier of a cache of look-ups: a SQLite file that many processes may share."""

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from graphwalker.errors import GraphError, UserError
from graphwalker.graphs.cache.calls import GraphCall, decode, encode

FILE_NAME = "graph_cache.sqlite"
_AT_ONCE = 400
_VERSION = 1


class DiskTier:
    """Results of calls by the name of their graph. The oldest go once `max_bytes` are reached.

    Raises `UserError` for a file that is not such a cache, `GraphError` when the disk fails.
    """

    def __init__(self, folder: Path | str, max_bytes: int = 4 << 30) -> None:
        self.path = Path(folder) / FILE_NAME
        self._max_bytes = max_bytes
        self._lock = Lock()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(self.path, timeout=30, check_same_thread=False)
            self._open()
        except (sqlite3.DatabaseError, OSError) as error:
            raise UserError(
                f"{self.path}: cannot be used as a cache of graph calls ({error}); "
                "delete it or choose another folder"
            ) from None

    def read(self, keys: Sequence[tuple[str, GraphCall]]) -> dict[tuple[str, GraphCall], Any]:
        """Return the results of those calls that are known."""
        texts = {_text(key): key for key in keys}
        rows: list[tuple[str, str]] = []
        wanted = list(texts)
        with self._lock:
            for start in range(0, len(wanted), _AT_ONCE):
                some = wanted[start : start + _AT_ONCE]
                marks = ",".join("?" * len(some))
                rows += self._run(f"SELECT key, result FROM asks WHERE key IN ({marks})", some)
        return {texts[t]: decode(texts[t][1].method, json.loads(result)) for t, result in rows}

    def write(self, found: dict[tuple[str, GraphCall], Any]) -> None:
        """Keep the results; other processes see them."""
        rows = [(_text(key), json.dumps(encode(result))) for key, result in found.items()]
        with self._lock:
            try:
                with self._database:
                    self._database.executemany("INSERT OR REPLACE INTO asks VALUES (?, ?)", rows)
                    self._make_room()
            except sqlite3.Error as error:
                raise GraphError(f"{self.path}: {error}") from None

    def close(self) -> None:
        """Close the file; nothing may be asked any more."""
        with self._lock:
            self._database.close()

    def _open(self) -> None:
        version = self._database.execute("PRAGMA user_version").fetchone()[0]
        tables = self._database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if version != _VERSION and tables:
            raise sqlite3.DatabaseError("it is another kind of file")
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=NORMAL")
        self._database.execute(f"PRAGMA user_version={_VERSION}")
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS asks (key TEXT PRIMARY KEY, result TEXT NOT NULL)"
        )
        self._database.commit()

    def _make_room(self) -> None:
        """Drop an eighth of the rows, the oldest, when the file is full."""
        pages, size, free = (
            self._database.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "page_size", "freelist_count")
        )
        if (pages - free) * size > self._max_bytes:
            self._database.execute(
                "DELETE FROM asks WHERE rowid IN (SELECT rowid FROM asks ORDER BY rowid "
                "LIMIT max(1, (SELECT count(*) FROM asks) / 8))"
            )

    def _run(self, query: str, values: Sequence[str]) -> list[Any]:
        try:
            return self._database.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise GraphError(f"{self.path}: {error}") from None


def _text(key: tuple[str, GraphCall]) -> str:
    return json.dumps([key[0], key[1].method, key[1].arguments])
