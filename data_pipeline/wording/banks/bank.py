"""The phrase bank: how people ask about the relations of real graphs, written by hand."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def bank() -> dict[str, Any]:
    """Return all files of `freebase/` as one table: `[kind]` and `[[relation]]`, as in
    `phrases.toml`; `out_casual` and `in_casual` are questions as people type them, one a line."""
    kinds: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []
    for name, text in texts_of(".toml"):
        table = tomllib.loads(text)
        for kind, words in table.get("kind", {}).items():
            if kinds.setdefault(kind, words) != words:
                raise ValueError(f"{name}: the kind {kind!r} means something else in another file")
        rows += table.get("relation", ())
    return {"kind": kinds, "relation": rows}


@cache
def not_asked() -> dict[str, str]:
    """Relations that nobody asks about (bookkeeping of the graph), each with its reason."""
    lines = [line for _, text in texts_of(".txt") for line in text.splitlines()]
    return dict(line.split() for line in lines if line.strip())


def texts_of(suffix: str) -> list[tuple[str, str]]:
    """Name and text of the bank's files of a kind, in their order."""
    folder = files("data_pipeline.wording").joinpath("banks", "freebase")
    found = sorted((path.name, path) for path in folder.iterdir() if path.name.endswith(suffix))
    return [(name, path.read_text(encoding="utf-8")) for name, path in found]
