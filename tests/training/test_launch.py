"""`graphwalker sft` and `grpo`: the training scripts, by `accelerate launch` where they take more
than one process."""

import subprocess
import sys

import pytest

from graphwalker.cli.runs import train
from support.paths import ROOT


def run(*words):
    command = [sys.executable, "-m", "graphwalker", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


@pytest.mark.parametrize("stage", ["sft", "grpo"])
def test_one_process_is_the_training_script_itself(stage):
    done = run(stage, "--config", f"configs/{stage}.yaml", "lrr=3")
    assert done.returncode == 2
    assert (
        done.stderr
        == f"training/{stage}.py: command line: lrr is not a setting; did you mean lr?\n"
    )


def test_train_says_which():
    done = run("train", "--config", "configs/sft.yaml")
    assert done.returncode == 2 and "`graphwalker grpo` by rewards on questions" in done.stderr


@pytest.mark.slow
def test_a_refusal_of_several_processes_is_no_traceback():
    layout = ["--multi_gpu", "--num_processes", "2", "--num_machines", "1", "--mixed_precision"]
    layout += ["no", "--dynamo_backend", "no", "--main_process_port", "0"]
    done = run("sft", "--config", "configs/sft.yaml", "lrr=3", "allow_cpu=true", "--", *layout)
    assert done.returncode == 2 and "lrr is not a setting" in done.stderr
    assert "Traceback" not in done.stderr and len(done.stderr.splitlines()) <= 6


def test_the_layout_is_that_of_the_machine(tmp_path, monkeypatch):
    (tmp_path / "c.yaml").write_text("machine: {gpus: 4, layout: zero3}\nsft1: {lr: 1}\n")
    monkeypatch.chdir(ROOT)
    assert train._layout(f"{tmp_path}/c.yaml#sft1") == []  # no GPU here
    monkeypatch.setattr(train, "_sees_gpus", lambda: True)
    assert train._layout(f"{tmp_path}/c.yaml#sft1") == [
        "--config_file", "configs/accelerate/zero3.yaml", "--num_processes", "4",
    ]  # fmt: skip
    assert train._layout("configs/sft.yaml") == []
