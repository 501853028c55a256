"""Published tables as data: the figures of the papers, to stand beside a run, marked as theirs.

The tables are TOML files in `eval/report/published_tables/`; `"-"` is a cell that the paper
leaves empty.
Every figure is copied as printed, errors included; `notes` says where one looks wrong.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from graphwalker.errors import UserError

FOLDER = Path(__file__).parent / "published_tables"
MISSING = "-"


@dataclass(frozen=True, slots=True)
class Column:
    """One column: what was measured on what. `metric` is our name for it where we compute it."""

    key: str
    label: str
    dataset: str
    metric: str


@dataclass(frozen=True, slots=True)
class Row:
    """One method's figures by column key; `None` where the paper gives none."""

    group: str
    method: str
    backbone: str
    values: dict[str, float | None]

    @property
    def label(self) -> str:
        """The method, with its backbone in brackets."""
        return f"{self.method} ({self.backbone})" if self.backbone else self.method


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A table of a paper. `source` names paper and table, `metric` how the figures were made."""

    name: str
    title: str
    paper: str
    source: str
    unit: str
    metric: str
    notes: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    def column(self, key: str) -> list[float | None]:
        """The figures of one column, in the order of the rows."""
        return [row.values[key] for row in self.rows]


def published_names(folder: Path = FOLDER) -> list[str]:
    """The names that `load_published` knows, in order."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def load_published(name: str, folder: Path = FOLDER) -> PublishedTable:
    """A table by its name, such as `graphwalker-table2`, checked.

    Raises `UserError` for an unknown name (listing the known ones) and for a damaged file.

    >>> table = load_published("graphwalker-table2")
    >>> table.rows[-1].label, table.rows[-1].values["cwq_em"]
    ('GraphWalker-7B-SFT-RL (Qwen2.5-7B-Instruct)', 79.6)
    """
    known = published_names(folder)
    if name not in known:
        raise UserError(f"no published table is named {name!r}; known: {', '.join(known)}")
    path = folder / f"{name}.toml"
    try:
        return _table(name, tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not TOML ({error})") from None
    except KeyError as error:
        raise UserError(f"{path}: field {error.args[0]!r} is missing") from None
    except (TypeError, ValueError) as error:
        raise UserError(f"{path}: {error}") from None


def _table(name: str, data: dict[str, Any]) -> PublishedTable:
    columns = tuple(
        Column(
            key=_text(column, "key"),
            label=_text(column, "label"),
            dataset=_text(column, "dataset"),
            metric=_text(column, "metric"),
        )
        for column in data["columns"]
    )
    keys = [column.key for column in columns]
    if len(set(keys)) != len(keys):
        raise ValueError("two columns share a key")
    rows = tuple(_row(row, keys) for row in data["rows"])
    labels = [(row.group, row.label) for row in rows]
    if not rows or len(set(labels)) != len(labels):
        raise ValueError("rows must be there and differ in group, method or backbone")
    return PublishedTable(
        name=name,
        title=_text(data, "title"),
        paper=_text(data, "paper"),
        source=_text(data, "source"),
        unit=_text(data, "unit"),
        metric=_text(data, "metric"),
        notes=tuple(map(str, data["notes"])),
        columns=columns,
        rows=rows,
    )


def _row(row: dict[str, Any], keys: list[str]) -> Row:
    cells = cast("list[Any]", row["cells"])
    method = _text(row, "method")
    if len(cells) != len(keys):
        raise ValueError(f"row {method!r} has {len(cells)} cells for {len(keys)} columns")
    values = {key: _cell(cell, method, key) for key, cell in zip(keys, cells, strict=True)}
    return Row(_text(row, "group"), method, _text(row, "backbone"), values)


def _cell(cell: Any, method: str, key: str) -> float | None:
    if cell == MISSING:
        return None
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        raise ValueError(f"row {method!r}, column {key!r}: {cell!r} is neither a number nor '-'")
    return float(cell)


def _text(data: dict[str, Any], key: str) -> str:
    value = data[key]
    if not isinstance(value, str):
        raise ValueError(f"field {key!r} must be text, got {value!r}")
    return value
