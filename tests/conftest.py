"""What holds for every test: no network, no telemetry, no thread contention."""

import os
from pathlib import Path

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")


@pytest.fixture(scope="session")
def grpo_world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A compiled toy graph, eight questions, and a tiny model that is right half of the time."""
    from support.run_toys import make_grpo_world

    return make_grpo_world(tmp_path_factory.mktemp("grpo_world"))
