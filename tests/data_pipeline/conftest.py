"""A world of 1,000 entities and its graph: made once, read by all tests of the pipeline."""

from pathlib import Path

import pytest

from graphwalker.world.generate import make_world


@pytest.fixture(scope="session")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    make_world(1000, 0, folder)
    return folder / "graph"


@pytest.fixture(scope="session")
def world(graph: Path) -> Path:
    return graph.parent
