"""The tiny model of all engines, made once; a key of chat servers."""

import pytest

KEY = "sk-secret-0123456789"


@pytest.fixture(scope="session")
def toy(tmp_path_factory):
    from support.engine_toy import Toy

    return Toy(tmp_path_factory.mktemp("model"))


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return KEY
