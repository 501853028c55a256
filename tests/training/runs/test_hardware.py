"""What a script finds on its machine: promised GPUs that are not there, and how threads wait."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from graphwalker.doctor.places import promised_gpus
from graphwalker.errors import UserError
from support.paths import ROOT
from training.runs.command import check_gpus

LAUNCHED = {"WORLD_SIZE": "2", "ACCELERATE_MIXED_PRECISION": "bf16"}


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({"SLURM_GPUS_ON_NODE": "2"}, "SLURM_GPUS_ON_NODE=2"),
        ({"CUDA_VISIBLE_DEVICES": "0,1"}, "CUDA_VISIBLE_DEVICES=0,1"),
        ({"ACCELERATE_USE_DEEPSPEED": "true"}, "accelerate's DeepSpeed layout"),
        (LAUNCHED, "accelerate's layout of 2 processes"),
        ({}, ""),
        ({"SLURM_GPUS_ON_NODE": ""}, ""),
        ({"CUDA_VISIBLE_DEVICES": "-1"}, ""),
        ({**LAUNCHED, "ACCELERATE_USE_CPU": "True"}, ""),
        ({"WORLD_SIZE": "2"}, ""),
    ],
)
def test_who_promises_gpus(environment, named):
    assert promised_gpus(environment) == named


@pytest.fixture
def promised(monkeypatch):
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has the GPUs that are promised")
    monkeypatch.setenv("SLURM_GPUS_ON_NODE", "2")


def test_the_setting_overrides_from_the_command_line_and_from_the_file(promised, tmp_path):
    file = tmp_path / "sft.yaml"
    file.write_text("allow_cpu: true\nlr: 1\n")
    check_gpus(str(file), [])
    check_gpus(None, ["lr=1", "allow_cpu=true"])
    sections = tmp_path / "sections.yaml"
    sections.write_text("run: runs/x\nsft1:\n  allow_cpu: true\n  output_dir: ${run}/sft1\n")
    check_gpus(f"{sections}#sft1", [])
    for path, words in ((str(file), ["allow_cpu=false"]), ("missing.yaml", []), (None, ["lr=1"])):
        with pytest.raises(UserError, match=r"SLURM_GPUS_ON_NODE=2 promises GPUs.*allow_cpu=true"):
            check_gpus(path, words)


@pytest.mark.long
@pytest.mark.parametrize("script", ["sft.py", "grpo.py"])
def test_a_script_ends_with_one_line_before_anything_is_read(promised, script):
    command = [sys.executable, str(Path("training") / script), "--config", "missing.yaml"]
    environment = {**os.environ, "SLURM_GPUS_ON_NODE": "2", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    (line,) = done.stderr.strip().splitlines()
    assert done.returncode == 2 and "promises GPUs" in line and not done.stdout


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
