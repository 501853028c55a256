"""What tests of training share."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trajectories of unequal lengths, and a tiny model; runs stand beside them."""
    from support.run_toys import make_sft_place

    return make_sft_place(tmp_path_factory.mktemp("sft"))
