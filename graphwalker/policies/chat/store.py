"""Answers of a chat API on disk: a SQLite file that threads and processes share."""

import sqlite3
from pathlib import Path
from threading import Lock

from graphwalker.errors import UserError
from graphwalker.policies.chat.budget import Spent

FILE_NAME = "answers.sqlite"
_TABLE = (
    "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, text TEXT NOT NULL, "
    "prompt_tokens INTEGER, completion_tokens INTEGER, cost REAL)"
)


class AnswerStore:
    """Answers by key; the first one that was stored stands. Thread-safe.

    Raises `UserError` for a file that is not such a store, or that the disk refuses.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        self._lock = Lock()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(self.path, timeout=60, check_same_thread=False)
            with self._database:
                self._database.execute("PRAGMA journal_mode=WAL")
                self._database.execute(_TABLE)
        except (sqlite3.Error, OSError) as error:
            raise self._damaged(error) from None

    def find(self, key: str) -> str | None:
        """The answer that was paid for, if there is one."""
        with self._lock:
            try:
                query = "SELECT text FROM answers WHERE key = ?"
                row = self._database.execute(query, (key,)).fetchone()
            except sqlite3.Error as error:
                raise self._damaged(error) from None
        return None if row is None else str(row[0])

    def keep(self, key: str, text: str, spent: Spent) -> str:
        """Store the answer; returns the one that stands, which may be another process's."""
        row = (key, text, spent.prompt_tokens, spent.completion_tokens, spent.cost)
        with self._lock:
            try:
                with self._database:
                    self._database.execute(
                        "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?)", row
                    )
            except sqlite3.Error as error:
                raise self._damaged(error) from None
        return self.find(key) or text

    def close(self) -> None:
        """Close the file; nothing may be asked any more."""
        with self._lock:
            self._database.close()

    def _damaged(self, error: Exception) -> UserError:
        return UserError(f"{self.path}: no store of answers ({error}); delete it or choose another")
