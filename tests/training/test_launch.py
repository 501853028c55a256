"""`graphwalker sft` and `grpo`: the training scripts, by `accelerate launch` where they take more
than one process."""

import os
import subprocess
import sys

import pytest
import torch
from accelerate.commands.launch import _validate_launch_command, launch_command_parser

from graphwalker.cli.runs import train
from support.commands import code
from support.paths import ROOT
from support.poison import refusal
from training.launch import start_all_on_cpus


def run(*words):
    command = [sys.executable, "-m", "graphwalker", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


def test_one_process_is_the_training_script_itself():
    done = run("sft", "--config", "configs/sft.yaml", "lrr=3")
    said = "command line: lrr is not a setting; did you mean lr?"
    assert (done.returncode, done.stderr) == (2, f"training/sft.py: {said}\n")


def test_grpo_becomes_its_script_and_train_says_which(monkeypatch):
    monkeypatch.chdir(ROOT)
    started = []
    monkeypatch.setattr(os, "execv", lambda program, words: started.append(words[1:]))
    assert code("grpo", "--config", "configs/grpo.yaml", "lrr=3") == 0
    assert started == [["-m", "training.grpo", "--config", "configs/grpo.yaml", "lrr=3"]]
    assert "`graphwalker grpo` by rewards on questions" in refusal("train")


@pytest.mark.slow
def test_a_refusal_of_several_processes_is_no_traceback():
    layout = ["--multi_gpu", "--num_processes", "2", "--num_machines", "1", "--mixed_precision"]
    layout += ["no", "--dynamo_backend", "no", "--main_process_port", "0"]
    done = run("sft", "--config", "configs/sft.yaml", "lrr=3", "allow_cpu=true", "--", *layout)
    assert done.returncode == 2 and "lrr is not a setting" in done.stderr
    assert "Traceback" not in done.stderr and len(done.stderr.splitlines()) <= 6


@pytest.mark.parametrize(
    ("words", "several"),
    [
        (["--num_processes", "2"], True),
        (["--cpu", "--num_processes", "2"], True),
        (["--config_file", "configs/accelerate/cpu.yaml", "--num_processes", "2"], True),
        (["--config_file", "configs/accelerate/cpu.yaml"], False),
        (["--config_file", "configs/accelerate/zero2.yaml", "--num_processes", "2"], False),
        (["--num_processes", "1"], False),
    ],
)
def test_without_a_gpu_as_many_processes_start_as_were_wanted(words, several, monkeypatch):
    """`accelerate launch` would start one, and say nothing."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    parsed = launch_command_parser().parse_args([*words, "train.py"])
    start_all_on_cpus(parsed)
    assert bool(parsed.multi_gpu) is several
    args, _, _ = _validate_launch_command(parsed)
    assert bool(args.multi_gpu) is several and not (several and args.cpu)


def test_the_layout_is_that_of_the_machine(tmp_path, monkeypatch):
    (tmp_path / "c.yaml").write_text("machine: {gpus: 4, layout: zero3}\nsft1: {lr: 1}\n")
    monkeypatch.chdir(ROOT)
    assert train._layout(f"{tmp_path}/c.yaml#sft1") == []  # no GPU here
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert train._layout(f"{tmp_path}/c.yaml#sft1") == [
        "--config_file", "configs/accelerate/zero3.yaml", "--num_processes", "4",
    ]  # fmt: skip
    assert train._layout("configs/sft.yaml") == []
