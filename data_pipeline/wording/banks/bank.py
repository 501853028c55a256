"""The phrase bank: how people ask about the relations of real graphs, written by hand."""

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from graphwalker.graphs.base import Direction

FOLDERS = ("freebase",)
CASUAL = "casual"
"""Folder of the questions of one hop in the words that people type into a search box."""


@cache
def bank() -> dict[str, Any]:
    """All files of `banks/` as one table: `[kind]` and `[[relation]]`, as in `phrases.toml`; each
    wording has its `casual` questions."""
    kinds: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []
    for name, text in texts_of(".toml", FOLDERS):
        table = tomllib.loads(text)
        for kind, words in table.get("kind", {}).items():
            if kinds.setdefault(kind, words) != words:
                raise ValueError(f"{name}: the kind {kind!r} means something else in another file")
        rows += table.get("relation", ())
    add_casual(rows, casual())
    return {"kind": kinds, "relation": rows}


@cache
def casual() -> tuple[tuple[str, Direction, str], ...]:
    """Every casual question with its relation and direction, as written."""
    tables = [tomllib.loads(text) for _, text in texts_of(".toml", (CASUAL,))]
    return tuple(frame for table in tables for row in table["frames"] for frame in frames(row))


def frames(row: Mapping[str, Any]) -> Iterator[tuple[str, Direction, str]]:
    """The questions of one `[[frames]]`, one a line, for each of its `ids`; those of `in` start at
    the other end of the relation."""
    for relation in row["ids"]:
        for direction in Direction:
            for text in row.get(str(direction), "").split("\n"):
                if text:
                    yield relation, direction, text


def add_casual(rows: list[dict[str, Any]], found: tuple[tuple[str, Direction, str], ...]) -> None:
    """Put casual questions beside the other wordings of their hops. Raises `KeyError` for a hop
    that no row words."""
    wordings: dict[tuple[str, Direction], list[dict[str, Any]]] = {}
    for row in rows:
        for direction in Direction:
            if str(direction) not in row:
                continue
            wordings.setdefault((row["id"], direction), []).append(row[str(direction)])
            if "inverse" in row:
                wordings.setdefault((row["inverse"], direction.reverse), []).append(
                    row[str(direction)]
                )
    symmetric = [row for row in rows if row.get("out") == row.get("in")]
    for relation, direction, text in found:
        for wording in wordings[relation, direction]:
            texts = wording.setdefault("casual", [])
            if text not in texts:
                texts.append(text)
    for row in symmetric:  # one fact, asked alike from both ends
        texts = [*row["out"].get("casual", ()), *row["in"].get("casual", ())]
        if texts:
            row["out"]["casual"] = row["in"]["casual"] = list(dict.fromkeys(texts))


@cache
def not_asked() -> dict[str, str]:
    """Relations that nobody asks about (bookkeeping of the graph), each with its reason."""
    lines = [line for _, text in texts_of(".txt", FOLDERS) for line in text.splitlines()]
    return dict(line.split() for line in lines if line.strip())


def texts_of(suffix: str, folders: tuple[str, ...]) -> list[tuple[str, str]]:
    """Name and text of the bank's files of a kind, in their order."""
    folder = files("data_pipeline.wording").joinpath("banks")
    found = [path for name in folders for path in folder.joinpath(name).iterdir()]
    chosen = sorted((path.name, path) for path in found if path.name.endswith(suffix))
    return [(name, path.read_text(encoding="utf-8")) for name, path in chosen]
