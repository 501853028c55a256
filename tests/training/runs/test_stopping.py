"""SIGTERM, SIGUSR1 and Ctrl-C end a run cleanly: no step is lost, and it resumes bit for bit."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.paths import ROOT
from support.run_toys import (
    curve,
    grpo_config,
    largest_difference,
    make_grpo_world,
    make_sft_place,
    sft_config,
    write_config,
)
from training.grpo import run_grpo
from training.runs.checkpoints import last_checkpoint
from training.sft import run_sft


def stopped(script: str, config, after: int, number: int) -> tuple[int, str]:
    """Send the signal once `after` steps are logged; the exit code, and what stderr says."""
    out = Path(config.output_dir)
    path = write_config(config, out.with_suffix(".json"))
    command = [sys.executable, str(ROOT / "training" / script), "--config", str(path)]
    run = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    metrics, deadline = out / "metrics.jsonl", time.monotonic() + 240
    while not (metrics.is_file() and metrics.read_bytes().count(b"\n") >= after):
        assert run.poll() is None and time.monotonic() < deadline
        time.sleep(0.005)
    os.kill(run.pid, number)
    _, error = run.communicate(timeout=240)
    assert not (out / "final").exists()
    return run.returncode, error.decode()


@pytest.mark.long
def test_a_terminated_sft_run_saves_its_step_and_ends_bit_equal(tmp_path):
    place = make_sft_place(tmp_path)
    run_sft(sft_config(place, tmp_path / "whole", max_steps=60, save_steps=50))
    config = sft_config(place, tmp_path / "cut", max_steps=60, save_steps=50)
    code, error = stopped("sft.py", config, after=3, number=signal.SIGTERM)
    step = last_checkpoint(tmp_path / "cut")
    assert code == 128 + signal.SIGTERM and 3 <= step < 50
    assert f"SIGTERM: stopped after step {step}, which is saved" in error.splitlines()[-1]
    marker = tmp_path / "cut" / "stopped.json"
    assert json.loads(marker.read_text()) == {"signal": "SIGTERM", "step": step}
    run_sft(config)
    assert not marker.exists()
    assert largest_difference(tmp_path / "cut", tmp_path / "whole") == 0
    assert curve(tmp_path / "cut", "lr") == curve(tmp_path / "whole", "lr")


@pytest.mark.slow
def test_ctrl_c_is_one_line(tmp_path):
    place = make_sft_place(tmp_path)
    config = sft_config(place, tmp_path / "run", max_steps=400, save_steps=200)
    # Where the tests run in the background, they ignore Ctrl-C, and so would what they start.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        code, error = stopped("sft.py", config, after=2, number=signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert code == 128 + signal.SIGINT and "Traceback" not in error
    assert (
        error.splitlines()[-1] == "training/sft.py: interrupted; the same command resumes the run"
    )


@pytest.mark.slow
@pytest.mark.parametrize("iterations", [1, 2])
def test_a_grpo_run_with_notice_of_its_end_stops_between_batches(tmp_path, iterations):
    world = make_grpo_world(tmp_path)
    settings = {"steps": 8, "save_steps": 8, "iterations": iterations}
    run_grpo(grpo_config(world, tmp_path / "whole", **settings))
    config = grpo_config(world, tmp_path / "cut", **settings)
    code, _ = stopped("grpo.py", config, after=1, number=signal.SIGUSR1)
    step = last_checkpoint(tmp_path / "cut")
    assert code == 128 + signal.SIGUSR1 and 0 < step < 8 and step % iterations == 0
    run_grpo(config)
    assert largest_difference(tmp_path / "cut", tmp_path / "whole") == 0
    keys = ("em", "entropy", "tokens")
    assert curve(tmp_path / "cut", *keys) == curve(tmp_path / "whole", *keys)
