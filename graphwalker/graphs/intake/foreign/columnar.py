"""Tables in Parquet or Arrow files, written as CSV by DuckDB."""

import shutil
from pathlib import Path
from typing import Any

from graphwalker.errors import UserError
from graphwalker.graphs.intake.blocks import open_input

_MAGIC = (b"PAR1", b"ARRO", b"\xff\xff\xff\xff")


def write_csv(path: Path, form: str, out: Path) -> None:
    """Write the table with its header. Raises `UserError` for a column of lists or records, and
    for a file that cannot be read."""
    import duckdb

    with path.open("rb") as file:
        is_packed = file.read(4) not in _MAGIC
    if is_packed:
        unpacked = out.with_suffix(".unpacked")
        with open_input(path) as packed, unpacked.open("wb") as plain:
            shutil.copyfileobj(packed, plain)
        path = unpacked
    try:
        with duckdb.connect() as database:
            table: Any = _arrow_table(path) if form == "Arrow" else None
            if table is not None:
                database.register("input", table)
            else:
                quoted = str(path).replace("'", "''")
                database.execute(f"CREATE VIEW input AS SELECT * FROM read_parquet('{quoted}')")
            for column, kind, *_ in database.execute("DESCRIBE input").fetchall():
                if kind.endswith("]") or kind.startswith(("STRUCT", "MAP", "BLOB")):
                    raise UserError(
                        f"{path}: column {column} has values of type {kind[:40]}; a table of facts "
                        "has one value a field: unnest it first"
                    )
            target = str(out).replace("'", "''")
            database.execute(f"COPY input TO '{target}' (FORMAT csv, HEADER)")
    except duckdb.Error as error:
        raise UserError(
            f"{path}: {form} that cannot be read: {str(error).splitlines()[0]}"
        ) from None


def _arrow_table(path: Path) -> Any:
    try:
        import pyarrow  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        raise UserError(
            f"{path}: Arrow needs pyarrow: pip install 'graphwalker-kgqa[formats]'"
        ) from None
    library: Any = pyarrow
    try:
        with path.open("rb") as file:
            is_stream = file.read(6) != b"ARROW1"
        source = library.memory_map(str(path))
        reader = library.ipc.open_stream if is_stream else library.ipc.open_file
        return reader(source).read_all()
    except (OSError, library.ArrowException) as error:
        raise UserError(f"{path}: Arrow that cannot be read: {error}") from None
