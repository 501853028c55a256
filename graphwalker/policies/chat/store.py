"""What chat servers answered and were paid: one SQLite file for threads and processes."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from operator import add
from pathlib import Path
from threading import RLock

from graphwalker.errors import UserError
from graphwalker.files import read_json
from graphwalker.tokens.reasoning import holds_reasoning

FILE_NAME, SUMMARY = "answers.sqlite", "spent.json"
_COSTS = "prompt_tokens INTEGER, completion_tokens INTEGER, cost REAL"
_REASONING = "reasoning_tokens INTEGER"
_TABLES = (
    f"CREATE TABLE answers (key TEXT PRIMARY KEY, text TEXT NOT NULL, {_COSTS}, {_REASONING}, "
    "finish TEXT NOT NULL, stop_reason TEXT NOT NULL, purpose TEXT NOT NULL)",
    # Requests under way, at their worst price. Ids are never reused (AUTOINCREMENT), so a late
    # settlement finds its own request.
    "CREATE TABLE sent (id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT, owner TEXT, until REAL, "
    f"{_COSTS})",
    f"CREATE TABLE spent (state TEXT PRIMARY KEY, requests INTEGER, {_COSTS}, {_REASONING})",
    "INSERT INTO spent VALUES ('paid', 0, 0, 0, 0.0, 0), ('lost', 0, 0, 0, 0.0, 0)",
)
_LATER_TABLES = (
    "CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, value TEXT)",
    "CREATE TABLE IF NOT EXISTS models (model TEXT, fingerprint TEXT, answers INTEGER, "
    "PRIMARY KEY (model, fingerprint))",
)


@dataclass(frozen=True, slots=True)
class Usage:
    """Requests, tokens and money."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    reasoning_tokens: int = 0
    """Those of the completion tokens that no text shows."""

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(*map(add, astuple(self), astuple(other)))

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


def spent_by_shards(folder: Path | None) -> Usage:
    """Return what shards of the run that pays into `folder` have paid into their own stores."""
    if folder is None:
        return Usage()
    array = "shards/*-of-*"
    own = [*folder.glob(f"{array}/{SUMMARY}")]
    below = folder.parent.glob(f"{array}/{folder.name}/{SUMMARY}")
    read = [read_json(path, "delete the shard's folder") for path in (*own, *below)]
    keys = "requests", "prompt_tokens", "completion_tokens", "cost"
    return sum((Usage(*(one.get(key, 0) for key in keys)) for one in read), Usage())


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """What a server wrote, why it ended (`stop` or `length`), and what that cost when it was paid.

    `stop_reason` is the stop string that ended it, where the server names it (vLLM does)."""

    text: str
    finish: str = "stop"
    stop_reason: str = ""
    spent: Usage = Usage()
    purpose: str = ""
    hidden_reasoning: bool = False
    """Whether the server gave reasoning in a field of its own."""

    @property
    def reasoned(self) -> bool:
        """Whether the model reasoned before it wrote."""
        hidden = self.hidden_reasoning or self.spent.reasoning_tokens > 0
        return hidden or holds_reasoning(self.text)


class Store:
    """The file in a folder, in memory without one. The first answer to a request stands.

    Thread-safe. Raises `UserError` for a file that is not such a store, or that the disk refuses.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.path = folder / FILE_NAME if folder else None
        self._lock = RLock()
        try:
            if folder:
                folder.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(
                self.path or ":memory:", timeout=60, isolation_level=None, check_same_thread=False
            )
            self._database.execute("PRAGMA journal_mode=WAL")
            # In WAL mode this survives any kill of the process; only a power cut may lose the end.
            self._database.execute("PRAGMA synchronous=NORMAL")
        except (sqlite3.Error, OSError) as error:
            raise self._damage(error) from None
        with self.change() as database:
            if not database.execute("PRAGMA user_version").fetchone()[0]:
                for statement in _TABLES:
                    database.execute(statement)
                database.execute("PRAGMA user_version = 1")
            for statement in _LATER_TABLES:
                database.execute(statement)

    @contextmanager
    def change(self) -> Generator[sqlite3.Connection]:
        """Open a transaction that no other thread or process comes between."""
        with self._lock:
            try:
                self._database.execute("BEGIN IMMEDIATE")
                yield self._database
                self._database.execute("COMMIT")
            except sqlite3.Error as error:
                raise self._damage(error) from None
            finally:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")

    def find(self, key: str) -> StoredAnswer | None:
        """Return the answer that was paid for, if there is one."""
        query = (
            "SELECT text, finish, stop_reason, purpose, prompt_tokens, completion_tokens, cost, "
            "reasoning_tokens FROM answers WHERE key = ?"
        )
        with self._lock:
            try:
                row = self._database.execute(query, (key,)).fetchone()
            except sqlite3.Error as error:
                raise self._damage(error) from None
        if row is None:
            return None
        text, finish, stop_reason, purpose, *costs = row
        return StoredAnswer(text, finish, stop_reason, Usage(1, *costs), purpose)

    def note(self, name: str) -> str:
        """Return what was noted under that name, `""` for nothing."""
        with self.change() as database:
            row = database.execute("SELECT value FROM notes WHERE name = ?", (name,)).fetchone()
        return row[0] if row else ""

    def set_note(self, name: str, value: str) -> None:
        """Note a fact of the server for whoever opens the store next."""
        with self.change() as database:
            database.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, value))

    def models(self) -> dict[tuple[str, str], int]:
        """Return how many answers came from each model, by its name and fingerprint."""
        with self.change() as database:
            rows = database.execute("SELECT model, fingerprint, answers FROM models").fetchall()
        return {(model, fingerprint): answers for model, fingerprint, answers in rows}

    def count_model(self, model: str, fingerprint: str) -> None:
        """Count an answer of that model."""
        with self.change() as database:
            database.execute(
                "INSERT INTO models VALUES (?, ?, 1) "
                "ON CONFLICT DO UPDATE SET answers = answers + 1",
                (model, fingerprint),
            )

    def purposes(self) -> dict[str, int]:
        """Return how many answers are stored, by purpose."""
        query = "SELECT purpose, count(*) FROM answers GROUP BY purpose ORDER BY purpose"
        with self.change() as database:
            return dict(database.execute(query).fetchall())

    def close(self) -> None:
        """Close the file; nothing may be looked up any more."""
        with self._lock:
            self._database.close()

    def _damage(self, error: Exception) -> UserError:
        return UserError(f"{self.path}: no store of answers ({error}); delete it or choose another")


def keep(database: sqlite3.Connection, key: str, answer: StoredAnswer) -> None:
    """Store an answer, unless there is one."""
    _, *paid = astuple(answer.spent)
    about = answer.finish, answer.stop_reason, answer.purpose
    database.execute(
        "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (key, answer.text, *paid, *about),
    )


def book(database: sqlite3.Connection, state: str, spent: Usage) -> None:
    """Add to what is `paid`, or `lost`: sent and perhaps billed, but never answered."""
    database.execute(
        "UPDATE spent SET requests = requests + ?, prompt_tokens = prompt_tokens + ?, "
        "completion_tokens = completion_tokens + ?, cost = cost + ?, "
        "reasoning_tokens = reasoning_tokens + ? WHERE state = ?",
        (*astuple(spent), state),
    )
