"""Resuming: checkpoints are whole or not there, and a stopped run ends as it would have."""

import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM
from transformers.trainer_pt_utils import safe_globals

from graphwalker.errors import UserError
from support.run_toys import (
    ROOT,
    curve,
    grpo_config,
    kill_after,
    largest_difference,
    make_grpo_world,
    sft_config,
    stop_after,
    write_config,
)
from training.grpo import run_grpo
from training.models.lora import merge_adapter
from training.runs.checkpoints import (
    check_files,
    last_checkpoint,
    publish_checkpoint,
    publish_final,
    staging,
)
from training.runs.saving import DiskFullError
from training.sft import run_sft

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def whole(place) -> Path:
    """An undisturbed run of 12 steps with checkpoints at 4, 8 and 12."""
    run_sft(sft_config(place, place / "whole", keep_checkpoints=9))
    return place / "whole"


def written(folder: Path, step: int) -> None:
    checkpoint = staging(folder) / f"checkpoint-{step}"
    checkpoint.mkdir(parents=True)
    (checkpoint / "model.safetensors").write_bytes(b"weights")


def test_checkpoints_are_whole_or_not_there_and_only_the_last_are_kept(tmp_path, caplog):
    written(tmp_path, 4)
    (tmp_path / "checkpoint-4").mkdir()  # damaged: it is replaced
    assert last_checkpoint(tmp_path) == 0
    publish_checkpoint(tmp_path, 4, keep=2)
    assert last_checkpoint(tmp_path) == 4
    assert (tmp_path / "checkpoint-4" / "model.safetensors").read_bytes() == b"weights"
    for step in (8, 12):
        written(tmp_path, step)
        publish_checkpoint(tmp_path, step, keep=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint-12", "checkpoint-8"]
    os.truncate(tmp_path / "checkpoint-12" / "model.safetensors", 3)
    assert last_checkpoint(tmp_path) == 8
    check_files(tmp_path)
    assert "model.safetensors has 3 of 7 bytes" in caplog.text


def test_a_final_model_that_was_cut_is_refused_in_one_line(tmp_path):
    written(tmp_path, 4)
    publish_checkpoint(tmp_path, 4, keep=2)
    (tmp_path / "final.partial").mkdir()
    (tmp_path / "final.partial" / "model.safetensors").write_bytes(b"weights")
    publish_final(tmp_path / "final.partial", tmp_path)
    check_files(tmp_path)
    os.truncate(tmp_path / "final" / "model.safetensors", 0)
    with pytest.raises(UserError, match=r"final: damaged: model.safetensors has 0 of 7.*point-4"):
        check_files(tmp_path)


class Bomb:
    def __reduce__(self):
        return os.mkdir, (os.environ["BOMB"],)


def test_state_of_a_checkpoint_loads_without_running_code(place, whole, tmp_path, monkeypatch):
    files = {path.name for path in (whole / "checkpoint-4").iterdir()}
    states = {"optimizer.pt", "scheduler.pt", "rng_state.pth"}
    assert files >= {"model.safetensors", "trainer_state.json", *states}
    assert {name for name in files if name.endswith((".bin", ".pt", ".pth", ".pkl"))} == states
    with safe_globals():  # numpy's random state
        for name in states:
            assert torch.load(whole / "checkpoint-4" / name, weights_only=True)
    monkeypatch.setenv("BOMB", str(tmp_path / "exploded"))
    for name in states:
        config = sft_config(place, tmp_path / name, keep_checkpoints=9)
        run = stop_after(whole, config, 4)
        (run / "checkpoint-4" / name).write_bytes(pickle.dumps(Bomb(), protocol=2))
        (run / "checkpoint-4" / ".sizes.json").unlink()  # who writes the one file writes the other
        with pytest.raises(pickle.UnpicklingError):
            run_sft(config)
    assert not (tmp_path / "exploded").exists()


def test_a_run_that_goes_on_from_any_checkpoint_ends_bit_equal(place, whole, tmp_path):
    for step in (4, 8):
        config = sft_config(place, tmp_path / f"from-{step}", keep_checkpoints=9)
        run = stop_after(whole, config, step)
        run_sft(config)
        assert largest_difference(run, whole) == 0
        assert curve(run, "lr", "tokens") == curve(whole, "lr", "tokens")


@pytest.mark.slow
def test_a_lora_run_that_goes_on_ends_bit_equal_and_merges(place, tmp_path):
    values = {"lora": {"r": 4}, "keep_checkpoints": 9}
    run_sft(sft_config(place, tmp_path / "whole", **values))
    again = sft_config(place, tmp_path / "again", **values)
    stop_after(tmp_path / "whole", again, step=4)
    run_sft(again)
    name = "final/adapter_model.safetensors"
    assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    folders = (merge_adapter(tmp_path / "again", tmp_path / "merged"), place / "model")
    ours, base = (AutoModelForCausalLM.from_pretrained(folder).state_dict() for folder in folders)
    changed = {key.rsplit(".", 2)[1] for key in base if not torch.equal(ours[key], base[key])}
    assert {"q_proj", "up_proj"} <= changed and "embed_tokens" not in changed


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 2.5 MiB: one checkpoint fits, two do not."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2560k", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("this user may not mount a tmpfs")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.skipif(shutil.which("mount") is None, reason="no mount here")
def test_a_full_disk_leaves_a_checkpoint_and_more_room_ends_the_run(place, whole, small_disk):
    config = sft_config(place, small_disk / "run", keep_checkpoints=1)
    with pytest.raises(DiskFullError, match="no room on the disk for checkpoint-8; checkpoint-4"):
        run_sft(config)
    left = {path.name for path in (small_disk / "run").glob("checkpoint-*")}
    assert left == {"checkpoint-4"}
    subprocess.run(["mount", "-o", "remount,size=32m", str(small_disk)], check=True)
    run_sft(config)
    assert largest_difference(small_disk / "run", whole) == 0
    assert curve(small_disk / "run") == curve(whole)


SLOW_DISK = """
import os, sys, time
from training.runs import checkpoints
sync = checkpoints._sync
def slow(path):
    time.sleep(60 if "checkpoint-8" in str(path) else 0)
    sync(path)
checkpoints._sync = slow
from training.runs.command import run_command
from training.config import SftConfig
from training.sft import run_sft
run_command("sft", SftConfig, run_sft, sys.argv[1:])
"""


@pytest.mark.slow
def test_a_run_killed_while_it_saves_goes_on_from_the_checkpoint_before(place, whole, tmp_path):
    config = sft_config(place, tmp_path / "run", keep_checkpoints=9)
    path = write_config(config, tmp_path / "run.json")
    run = subprocess.Popen([sys.executable, "-c", SLOW_DISK, "--config", str(path)], cwd=ROOT)
    half = staging(tmp_path / "run") / "checkpoint-8" / "complete"
    deadline = time.monotonic() + 240
    while not half.exists():
        assert run.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    assert last_checkpoint(tmp_path / "run") == 4
    run_sft(config)
    assert largest_difference(tmp_path / "run", whole) == 0
    assert curve(tmp_path / "run") == curve(whole)


@pytest.mark.slow
@pytest.mark.parametrize("beta", [0.0, 0.1])
def test_a_killed_grpo_run_ends_bit_equal(tmp_path, beta):
    world = make_grpo_world(tmp_path)
    run_grpo(grpo_config(world, tmp_path / "whole", beta=beta))
    killed = grpo_config(world, tmp_path / "killed", beta=beta)
    kill_after("grpo.py", killed, step=3)
    run_grpo(killed)
    assert largest_difference(tmp_path / "killed", tmp_path / "whole") == 0
    keys = ("em", "entropy", "kl", "tokens", "turns", "mismatch_max")
    assert curve(tmp_path / "killed", *keys) == curve(tmp_path / "whole", *keys)
