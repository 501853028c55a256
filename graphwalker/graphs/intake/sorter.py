"""DuckDB as an external sorter: takes rows in any number, gives them back in order, in chunks."""

import os
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphwalker.errors import GraphError, UserError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

CHUNK_ROWS = 500_000
STRING_ROWS = 50_000
THREAD_BYTES = 64 << 20
"""Of DuckDB's memory for each of its threads, which have blocks of their own while they spill."""
_SHARE = 0.6
"""Of the memory limit for DuckDB; the rest is for what stands in Python and numpy meanwhile."""
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?\s*", re.IGNORECASE)


class LimitError(UserError):
    """Memory or disk ran out, or reached its limit."""


class Sorter:
    """A scratch database in a folder. Memory stays under its limit; the rest goes to disk,
    `disk_limit` bytes of it at most (checked from statement to statement)."""

    def __init__(self, folder: Path, memory_limit: str, disk_limit: str | None = None) -> None:
        memory = size_of("memory_limit", memory_limit)
        self._disk = size_of("disk_limit", disk_limit) if disk_limit else None
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self.memory = max(1 << 20, int(memory * _SHARE))
        """Bytes that DuckDB may take."""
        with self._translate_errors():
            self._db = _connect(folder, self.memory)

    def __enter__(self) -> "Sorter":
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def table(self, name: str, /, **columns: str) -> "Table":
        """Return a new, empty table of that name."""
        listed = ", ".join(f"{column} {kind}" for column, kind in columns.items())
        self.run(f"CREATE TABLE {name} ({listed})")
        return Table(self, name, list(columns))

    def run(self, sql: str, **values: str | None) -> None:
        """Run a statement with values for its `$names`."""
        self._execute(sql, values)

    def replace(self, table: str, select: str) -> None:
        """Make a table anew. Rows that were deleted or changed in place would be numbered anew."""
        self.run(f"CREATE TABLE kept AS {select}")
        self.run(f"DROP TABLE {table}")
        self.run(f"ALTER TABLE kept RENAME TO {table}")

    def insert(self, table: str, columns: dict[str, Any]) -> None:
        """Append rows, given as one array for each column."""
        with self._translate_errors():
            self._db.register("batch", columns)
            self._execute(f"INSERT INTO {table} SELECT * FROM batch")
            self._db.unregister("batch")

    def rows(self, table: str) -> int:
        return self.scalar(f"SELECT count(*) FROM {table}")

    def scalar(self, sql: str) -> int:
        row = self._execute(sql).fetchone()
        return int(row[0] or 0) if row else 0

    def strings(self, sql: str) -> list[str]:
        """Return a short list: relations or types, never nodes."""
        return [row[0] for row in self._execute(sql).fetchall()]

    def records(self, sql: str) -> list[tuple[Any, ...]]:
        """Return a short result, row by row."""
        return self._execute(sql).fetchall()

    def columns(self, sql: str, *columns: str) -> list[Any]:
        """Return a result as numpy arrays by column."""
        arrays = self._execute(sql).fetchnumpy()
        return [np.asarray(arrays[name]) for name in columns]

    def chunks(self, table: str, columns: Sequence[str], rows: int = 0) -> Iterator[list[Any]]:
        """Yield the table's rows in the order in which it was made, as numpy arrays by column."""
        total, picked, step = self.rows(table), ", ".join(columns), rows or CHUNK_ROWS
        for start in range(0, total, step):
            sql = f"SELECT {picked} FROM {table} WHERE rowid >= {start} AND rowid < {start + step}"
            yield self.columns(sql, *columns)

    def _execute(
        self, sql: str, values: Mapping[str, str | None] | None = None
    ) -> "DuckDBPyConnection":
        with self._translate_errors():
            if self._disk is not None:
                self._db.execute(f"SET max_temp_directory_size = '{self._disk_left()}B'")
            return self._db.execute(sql, values or None)

    def _disk_left(self) -> int:
        assert self._disk is not None
        spill = self._folder / "spill"
        used = sum(f.stat().st_size for f in self._folder.iterdir() if f.is_file())
        if used > self._disk or spill.is_file():
            raise LimitError(f"disk_limit is too small for this graph: {used:,} bytes so far")
        return self._disk - used

    @contextmanager
    def _translate_errors(self) -> Generator[None, None, None]:
        """DuckDB's errors in our words."""
        import duckdb

        try:
            yield
        except duckdb.Error as error:
            text = str(error).splitlines()[0] if str(error) else type(error).__name__
            if "max_temp_directory_size" in str(error) and self._disk is not None:
                raise LimitError("disk_limit is too small for this graph: raise it") from None
            if "Could not write" in text or "max_temp_directory_size" in str(error):
                why = text.rpartition(": ")[2]
                raise LimitError(f"{self._folder.parent}: cannot be written to ({why})") from None
            if isinstance(error, duckdb.OutOfMemoryException):
                why = "memory_limit is too small for this graph: raise it"
                raise LimitError(why) from None
            raise GraphError(f"building the graph: {text}") from error


class Table:
    """A table that takes rows by column."""

    def __init__(self, sorter: Sorter, name: str, columns: list[str]) -> None:
        self._sorter, self._name, self._columns = sorter, name, columns

    def extend(self, columns: Sequence[Any]) -> None:
        """Add rows, as one list or numpy array for each column."""
        if len(columns[0]):
            arrays = map(_column, columns)
            self._sorter.insert(self._name, dict(zip(self._columns, arrays, strict=True)))


def size_of(setting: str, text: str) -> int:
    """Bytes of a size such as 2GB or 500 MiB, in steps of 1,024. Raises `UserError`."""
    match = _SIZE.fullmatch(text)
    if match is None or not float(match[1]):
        raise UserError(f"{setting}={text!r}: not a size; write it as 2GB")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def _column(values: Any) -> Any:
    if hasattr(values, "dtype"):
        return values
    if isinstance(values[0], int):
        return np.array(values, dtype=np.int64)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _connect(folder: Path, memory_bytes: int) -> "DuckDBPyConnection":
    import duckdb

    settings: dict[str, str | bool | int | float | list[str]] = {
        "temp_directory": str(folder / "spill"),
        "memory_limit": f"{memory_bytes}B",
        # Without it DuckDB gives sorted rows back out of order.
        "preserve_insertion_order": "true",
        "threads": max(1, min(len(os.sched_getaffinity(0)), memory_bytes // THREAD_BYTES)),
        "autoinstall_known_extensions": "false",
    }
    return duckdb.connect(str(folder / "sort.duckdb"), config=settings)
