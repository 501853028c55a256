"""Every example in a docstring runs and gives what it says."""

import doctest
from importlib import import_module

import pytest

from support.code import sources
from support.paths import ROOT


def modules_with_examples() -> list[str]:
    shown = [path for path in sources() if ">>> " in path.read_text(encoding="utf-8")]
    return [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in shown]


@pytest.mark.parametrize("module", modules_with_examples())
def test_the_examples_in_the_docstrings_hold(module: str) -> None:
    found = doctest.testmod(import_module(module))
    assert found.attempted and not found.failed
