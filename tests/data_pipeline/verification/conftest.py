"""A small GraphSynth over the world, for all tests of certificates."""

from pathlib import Path

import pytest

from data_pipeline.config import SynthConfig
from data_pipeline.synthesize import synthesize
from support.oxigraph import load_store


@pytest.fixture(scope="session")
def made(world, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("made")
    mix = {"1-hop": 1, "2-hop": 2, "3-hop": 2, "2I": 2, "PI": 1, "IP": 1}
    synthesize(world / "graph", SynthConfig(count=27, mix=mix, sparql=True), out)
    return out


@pytest.fixture(scope="session")
def store(world):
    return load_store(sorted(world.glob("*.nt*")))
