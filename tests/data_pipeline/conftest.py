"""A world of 1,000 entities and its graph: made once, read by all tests of the pipeline."""

from pathlib import Path

import pytest

from data_pipeline.config import SynthConfig
from data_pipeline.synthesize import make_questions
from graphwalker.world.generate import make_world


@pytest.fixture(scope="session")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    make_world(1000, 0, folder)
    return folder / "graph"


@pytest.fixture(scope="session")
def world(graph: Path) -> Path:
    return graph.parent


@pytest.fixture(scope="session")
def exam(world: Path) -> Path:
    """The world with sixty questions about it, in `questions/questions.jsonl`."""
    mix = {"1-hop": 1.0, "2-hop": 4.0, "3-hop": 1.0, "4-hop": 1.0, "2I": 3.0}
    make_questions(world / "graph", SynthConfig(count=60, seed=1, mix=mix), world / "questions")
    return world
