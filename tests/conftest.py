"""What holds for every test: no network, no telemetry, no thread contention."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

# The same examples each time, without a time limit; other ones by night.
PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("same", derandomize=True, **PATIENT)
settings.register_profile("drawn", **PATIENT)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


@pytest.fixture(scope="session")
def grpo_world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A compiled toy graph, eight questions, and a tiny model that is right half of the time."""
    from support.run_toys import make_grpo_world

    return make_grpo_world(tmp_path_factory.mktemp("grpo_world"))
