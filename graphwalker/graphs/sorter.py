"""DuckDB as an external sorter: takes rows in any number, gives them back in order, in chunks."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from graphwalker.errors import GraphError, UserError
from graphwalker.graphs.sources import Sink

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

BATCH_ROWS = 50_000
CHUNK_ROWS = 500_000


class Sorter:
    """A scratch database in a folder. Memory stays under its limit; the rest goes to disk."""

    def __init__(self, folder: Path, memory_limit: str) -> None:
        folder.mkdir(parents=True)
        self._db = _connect(folder, memory_limit)
        self._tables: list[_Table] = []

    def __enter__(self) -> "Sorter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._db.close()

    def table(self, name: str, /, **columns: str) -> "_Table":
        """A new table; its `add` takes rows, one at a time."""
        self.run(f"CREATE TABLE {name} ({', '.join(f'{c} {t}' for c, t in columns.items())})")
        table = _Table(self._db, name, list(columns))
        self._tables.append(table)
        return table

    def run(self, sql: str) -> None:
        """Run a statement on all rows added so far."""
        self._execute(sql)

    def rows(self, table: str) -> int:
        return self.scalar(f"SELECT count(*) FROM {table}")

    def scalar(self, sql: str) -> int:
        row = self._execute(sql).fetchone()
        return int(row[0] or 0) if row else 0

    def strings(self, sql: str) -> list[str]:
        """A short list: relations or types, never nodes."""
        return [row[0] for row in self._execute(sql).fetchall()]

    def chunks(self, table: str, columns: Sequence[str]) -> Iterator[list[Any]]:
        """The table's rows in the order in which it was made, as numpy arrays by column."""
        rows = self.rows(table)
        picked = ", ".join(columns)
        for start in range(0, rows, CHUNK_ROWS):
            end = start + CHUNK_ROWS
            sql = f"SELECT {picked} FROM {table} WHERE rowid >= {start} AND rowid < {end}"
            arrays = self._execute(sql).fetchnumpy()
            yield [np.asarray(arrays[name]) for name in columns]

    def _execute(self, sql: str) -> "DuckDBPyConnection":
        for table in self._tables:
            table.flush()
        with _explained():
            return self._db.execute(sql)


class _Table:
    """Rows on their way into a table, in batches."""

    def __init__(self, db: "DuckDBPyConnection", name: str, columns: list[str]) -> None:
        self._db, self._name, self._columns = db, name, columns
        self._rows: list[tuple[str | int, ...]] = []

    def add(self, row: tuple[str | int, ...]) -> None:
        self._rows.append(row)
        if len(self._rows) >= BATCH_ROWS:
            self.flush()

    def flush(self) -> None:
        if self._rows:
            self.extend([_column(values) for values in zip(*self._rows, strict=True)])
            self._rows = []

    def extend(self, columns: Sequence[Any]) -> None:
        """Add many rows at once, as one numpy array for each column."""
        self._db.register("batch", dict(zip(self._columns, columns, strict=True)))
        with _explained():
            self._db.execute(f"INSERT INTO {self._name} SELECT * FROM batch")
        self._db.unregister("batch")


@contextmanager
def _explained() -> Generator[None, None, None]:
    """DuckDB's errors in our words."""
    import duckdb

    try:
        yield
    except duckdb.OutOfMemoryException:
        raise UserError("memory_limit is too small for this graph: raise it") from None
    except duckdb.IOException as error:
        raise GraphError(f"building the graph: {str(error).splitlines()[0]}") from error


def string_sink(sorter: Sorter) -> Sink:
    """Tables `fact`, `name` and `type` for what the source files hold."""
    fact = sorter.table("fact", h="VARCHAR", r="VARCHAR", t="VARCHAR")
    name = sorter.table("name", id="VARCHAR", name="VARCHAR", rank="BIGINT", line="BIGINT")
    kind = sorter.table("type", id="VARCHAR", type="VARCHAR")
    lines = iter(range(1 << 62))
    return Sink(fact.add, lambda row: name.add((*row, next(lines))), kind.add)


def _column(values: tuple[str | int, ...]) -> Any:
    if isinstance(values[0], int):
        return np.array(values, dtype=np.int64)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _connect(folder: Path, memory_limit: str) -> "DuckDBPyConnection":
    import duckdb

    settings: dict[str, str | bool | int | float | list[str]] = {
        "temp_directory": str(folder / "spill"),
        "memory_limit": memory_limit,
        # Without it DuckDB gives sorted rows back out of order.
        "preserve_insertion_order": "true",
        "autoinstall_known_extensions": "false",
    }
    try:
        return duckdb.connect(str(folder / "sort.duckdb"), config=settings)
    except (duckdb.ParserException, duckdb.InvalidInputException) as error:
        why = str(error).splitlines()[0]
        raise UserError(f"memory_limit={memory_limit!r}: {why}; write it as 2GB") from None
