"""Published tables as data: the figures of the papers, to stand beside a run, marked as theirs.

The tables are TOML files in `eval/report/published_tables/`; `"-"` is a cell that the paper
leaves empty.
Every figure is copied as printed, errors included; `notes` says where one looks wrong.
"""

import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator

from graphwalker.errors import UserError

FOLDER = Path(__file__).parent / "published_tables"
MISSING = "-"


def _figure(cell: object) -> float | None:
    if cell == MISSING:
        return None
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        raise ValueError(f"{cell!r} is neither a number nor '-'")
    return float(cell)


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)


class Column(_Part):
    """One column: what was measured on what. `metric` is our name for it where we compute it."""

    key: str
    label: str
    dataset: str
    metric: str


class Method(_Part):
    """One method's figures: its cells, and `values` by column key (`None` where the paper gives
    none)."""

    group: str
    method: str
    backbone: str
    cells: list[Annotated[float | None, BeforeValidator(_figure)]]
    values: dict[str, float | None] = {}

    @property
    def label(self) -> str:
        """The method, with its backbone in brackets."""
        return f"{self.method} ({self.backbone})" if self.backbone else self.method


class PublishedTable(_Part):
    """A table of a paper. `source` names paper and table, `metric` how the figures were made."""

    name: str
    title: str
    paper: str
    source: str
    unit: str
    metric: str
    notes: list[str]
    columns: list[Column]
    rows: list[Method]

    @model_validator(mode="after")
    def _cells_by_column(self) -> "PublishedTable":
        keys = [column.key for column in self.columns]
        if len(set(keys)) != len(keys):
            raise ValueError("two columns share a key")
        if not self.rows or len({(row.group, row.label) for row in self.rows}) != len(self.rows):
            raise ValueError("rows must be there and differ in group, method or backbone")
        for row in self.rows:
            if len(row.cells) != len(keys):
                found = f"{len(row.cells)} cells for {len(keys)} columns"
                raise ValueError(f"row {row.method!r} has {found}")
            row.values.update(zip(keys, row.cells, strict=True))
        return self

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
        data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        return PublishedTable.model_validate({**data, "name": name})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not TOML ({error})") from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise UserError(f"{path}: {f'field {field!r}: ' if field else ''}{first['msg']}") from None
