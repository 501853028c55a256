"""What many tests share: the toy graph, compiled once and in a store; a small world."""

import pytest

from support.backends import compiled, write
from support.toy import TOY_NAMES, TOY_TRIPLES, TOY_TYPES


@pytest.fixture(scope="session")
def toy_lines(tmp_path_factory):
    """The toy graph as a file of N-Triples."""
    return write(tmp_path_factory.mktemp("toy"), TOY_TRIPLES, TOY_NAMES, TOY_TYPES)


@pytest.fixture(scope="session")
def toy_folder(toy_lines):
    """The compiled toy graph; no test changes a file of it."""
    return compiled(toy_lines).path.parent


@pytest.fixture(scope="session")
def toy_store(toy_lines):
    from support.oxigraph import load_store

    return load_store([toy_lines])


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    """A world, and two trajectories that were made in it."""
    from graphwalker.api.calls import make_world, synthesize

    folder = tmp_path_factory.mktemp("corpus")
    make_world(folder, entities=1000)
    synthesize(folder / "graph", folder / "synth", count=2, mix={"2-hop": 1.0})
    return folder
