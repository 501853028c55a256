"""How OpenMP's threads wait: set before torch is loaded, unless the user has chosen."""

import os
import subprocess
import sys

import pytest

from support.paths import ROOT

ASK = """
import os, sys
import {module}
assert "torch" not in sys.modules
print(os.environ.get("OMP_WAIT_POLICY"))
"""


def policy(module: str, **chosen: str) -> str:
    names = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"}
    plain = {key: value for key, value in os.environ.items() if key not in names}
    command = [sys.executable, "-c", ASK.format(module=module)]
    run = subprocess.run(
        command, cwd=ROOT, env=plain | chosen, capture_output=True, text=True, check=True
    )
    return run.stdout.strip()


@pytest.mark.long
def test_threads_sleep_while_they_wait_unless_the_user_has_chosen() -> None:
    for module in ("training.sft", "training.grpo", "graphwalker.policies.local"):
        assert policy(module) == "passive"
    assert policy("training.sft", OMP_WAIT_POLICY="active") == "active"
    assert policy("training.sft", GOMP_SPINCOUNT="100") == "None"
