"""Tables in Parquet or Arrow files, written as CSV by DuckDB."""

import shutil
from pathlib import Path
from typing import Any

from graphwalker.errors import UserError, lacks_extra
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
            quoted = str(path).replace("'", "''")
            table: Any = _arrow_table(path) if form == "Arrow" else None
            if table is not None:
                database.register("input", table)
            else:
                database.execute(f"CREATE VIEW input AS SELECT * FROM read_parquet('{quoted}')")
            durations = {} if table is not None else _durations(path)
            shown: list[str] = []
            for column, kind, *_ in database.execute("DESCRIBE input").fetchall():
                if kind.endswith("]") or kind.startswith(("STRUCT", "MAP", "BLOB")):
                    raise UserError(
                        f"{path}: column {column} has values of type {kind[:40]}; a table of facts "
                        "has one value a field: unnest it first"
                    )
                shown.append(_as_text(database, column, kind, durations.get(column)))
            target = str(out).replace("'", "''")
            picked = f"SELECT {', '.join(shown)} FROM input"
            database.execute(f"COPY ({picked}) TO '{target}' (FORMAT csv, HEADER)")
    except duckdb.Error as error:
        raise UserError(
            f"{path}: {form} that cannot be read: {str(error).splitlines()[0]}"
        ) from None


def _as_text(database: Any, column: str, kind: str, unit: int | None) -> str:
    """Return the expression of a column as people mean it: no value for NaN, whole numbers without
    a point where all are whole, as pandas makes floats of ids with gaps, durations as such."""
    name = '"' + column.replace('"', '""') + '"'
    if unit:
        return f"to_microseconds(({name} * 1000000) // {unit})::VARCHAR AS {name}"
    if kind not in ("FLOAT", "DOUBLE"):
        return name
    whole = f"isfinite({name}) AND {name} = trunc({name}) AND abs({name}) < {1 << 53}"
    test = f"SELECT bool_and({whole}) FROM input WHERE NOT isnan({name})"
    kind = "::BIGINT" if database.execute(test).fetchone()[0] else ""
    return f"(CASE WHEN isnan({name}) THEN NULL ELSE {name} END){kind} AS {name}"


def _durations(path: Path) -> dict[str, int]:
    """Return the columns of a Parquet file that are durations, which its integers alone do not say,
    with how many of their units are a second."""
    try:
        import pyarrow.parquet as parquet  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        return {}
    units = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}
    library: Any = parquet
    try:
        schema = library.read_schema(path)
    except (OSError, ValueError):  # what DuckDB reads all the same, or says better
        return {}
    return {
        field.name: units[field.type.unit]
        for field in schema
        if str(field.type).startswith("duration")
    }


def _arrow_table(path: Path) -> Any:
    try:
        import pyarrow  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        raise lacks_extra(f"{path}: Arrow needs pyarrow", "formats") from None
    library: Any = pyarrow
    try:
        with path.open("rb") as file:
            is_stream = file.read(6) != b"ARROW1"
        source = library.memory_map(str(path))
        reader = library.ipc.open_stream if is_stream else library.ipc.open_file
        return reader(source).read_all()
    except (OSError, library.ArrowException) as error:
        raise UserError(f"{path}: Arrow that cannot be read: {error}") from None
