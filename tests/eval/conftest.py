"""The toy graph and its questions: made once, read by all tests of evaluations."""

from pathlib import Path

import pytest

from support.eval_toy import make_toy


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_toy(tmp_path_factory.mktemp("toy"))
