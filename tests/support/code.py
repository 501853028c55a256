"""The code of the four packages as syntax trees, each file parsed once."""

import ast
from functools import cache
from pathlib import Path

from support.paths import ROOT

PACKAGES = ("graphwalker", "data_pipeline", "training", "eval")


def sources() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def label(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def parsed(path: Path) -> ast.Module:
    """Its tree, shared by all tests: none of them changes it."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Every node of the file's tree, as `ast.walk` gives them."""
    return tuple(ast.walk(parsed(path)))
