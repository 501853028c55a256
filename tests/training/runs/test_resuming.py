"""How a run stops and resumes: its signals, what may change, what a cut file says."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from graphwalker.config import load_config
from graphwalker.config import write_config as write_run_config
from graphwalker.errors import UserError
from support.paths import ROOT
from support.run_toys import (
    curve,
    grpo_config,
    largest_difference,
    lines,
    make_grpo_world,
    make_sft_place,
    sft_config,
    stop_after,
    write_config,
)
from training.config import SftConfig
from training.grpo import run_grpo
from training.runs.checkpoints import NOTES, damage, last_checkpoint, lines_until, note_sizes
from training.runs.resuming import changed_settings
from training.sft import run_sft


@pytest.mark.long
def test_a_finished_run_is_prolonged_and_ends_as_a_longer_one(place, tmp_path) -> None:
    settings = {"schedule": "constant", "warmup_ratio": 0.0, "save_steps": 3}
    run_sft(sft_config(place, tmp_path / "whole", max_steps=6, **settings))
    run_sft(sft_config(place, tmp_path / "long", max_steps=3, **settings))
    longer = sft_config(place, tmp_path / "long", max_steps=6, **settings)
    run_sft(longer)
    assert largest_difference(tmp_path / "long", tmp_path / "whole") == 0
    assert curve(tmp_path / "long") == curve(tmp_path / "whole")
    assert (tmp_path / "long" / "final-before" / "model.safetensors").is_file()
    stored = load_config(SftConfig, tmp_path / "long" / "config.yaml")
    assert stored.max_steps == 6
    before = (tmp_path / "long" / "final" / "model.safetensors").stat().st_mtime_ns
    run_sft(longer)  # finished
    assert (tmp_path / "long" / "final" / "model.safetensors").stat().st_mtime_ns == before


@pytest.mark.slow
def test_a_longer_schedule_counts_from_the_first_step_that_is_resumed(place, tmp_path) -> None:
    settings = {"schedule": "linear", "warmup_ratio": 0.0, "save_steps": 3}
    run_sft(sft_config(place, tmp_path / "whole", max_steps=6, **settings))
    run_sft(sft_config(place, tmp_path / "r", max_steps=3, **settings))
    run_sft(sft_config(place, tmp_path / "r", max_steps=6, **settings))
    whole, prolonged = ([line["lr"] for line in lines(tmp_path / name)] for name in ("whole", "r"))
    assert prolonged[3:] == whole[3:] and prolonged[:3] != whole[:3]


@pytest.mark.slow
def test_a_step_may_be_cut_into_smaller_passes(place, grpo_world, tmp_path) -> None:
    """After an out-of-memory: the same steps, the same weights but for the order of sums."""
    settings = {"max_steps": 4, "save_steps": 2, "keep_checkpoints": 9}
    run_sft(sft_config(place, tmp_path / "sft", **settings))
    stop_after(tmp_path / "sft", sft_config(place, tmp_path / "sft2", **settings), 2)
    run_sft(sft_config(place, tmp_path / "sft2", gradient_accumulation=2, **settings))
    assert largest_difference(tmp_path / "sft2", tmp_path / "sft") < 1e-4
    settings = {"steps": 2, "save_steps": 1, "keep_checkpoints": 9}
    run_grpo(grpo_config(grpo_world, tmp_path / "grpo", **settings))
    stop_after(tmp_path / "grpo", grpo_config(grpo_world, tmp_path / "grpo2", **settings), 1)
    run_grpo(grpo_config(grpo_world, tmp_path / "grpo2", micro_batch=4, **settings))
    assert largest_difference(tmp_path / "grpo2", tmp_path / "grpo") < 1e-4
    keys = ("em", "tokens", "reward")
    now, before = (curve(tmp_path / name, *keys) for name in ("grpo2", "grpo"))
    assert [line[3:] for line in now] == [line[3:] for line in before]


@pytest.mark.slow
def test_a_grpo_run_is_prolonged_on_the_same_questions(grpo_world, tmp_path) -> None:
    run_grpo(grpo_config(grpo_world, tmp_path / "whole", steps=3, save_steps=1))
    run_grpo(grpo_config(grpo_world, tmp_path / "long", steps=2, save_steps=2))
    run_grpo(grpo_config(grpo_world, tmp_path / "long", steps=3, save_steps=1))
    assert largest_difference(tmp_path / "long", tmp_path / "whole") == 0
    with pytest.raises(UserError, match="checkpoint-3 is beyond the 1 steps"):
        run_grpo(grpo_config(grpo_world, tmp_path / "long", steps=1, save_steps=1))


@pytest.mark.long
def test_a_run_goes_on_after_it_and_what_it_reads_have_moved(place, tmp_path) -> None:
    whole = run_sft(sft_config(place, tmp_path / "whole", keep_checkpoints=9)).parent
    stop_after(whole, sft_config(place, tmp_path / "before", keep_checkpoints=9), 4)
    shutil.copytree(place, tmp_path / "elsewhere")
    (tmp_path / "before").rename(tmp_path / "after")
    often = {"save_steps": 2, "keep_checkpoints": 9}  # as often as the settings say now
    moved = sft_config(tmp_path / "elsewhere", tmp_path / "after", **often)
    run_sft(moved)
    assert largest_difference(tmp_path / "after", whole) == 0
    assert load_config(SftConfig, tmp_path / "after" / "config.yaml") == moved
    steps = [int(path.name[11:]) for path in (tmp_path / "after").glob("checkpoint-*")]
    assert sorted(steps) == [4, 6, 8, 10, 12]

    (tmp_path / "elsewhere" / "walks.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match=r"data\[0\] was"):
        run_sft(moved)


def test_lines_after_the_checkpoint_are_dropped_and_written_again(tmp_path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n{"step": 2}\n{"step": 3}\n{"st')
    assert lines_until(path, 2) == [{"step": 1}, {"step": 2}]
    assert path.read_text().count("\n") == 2


def test_a_config_that_was_cut_at_any_place_is_an_error_of_ours(place, tmp_path) -> None:
    config = sft_config(place, tmp_path)
    path = write_run_config(config, tmp_path)
    text = path.read_text()
    for length in range(0, len(text), 29):
        path.write_text(text[:length])
        with suppress(UserError):
            changed_settings(config, free=("max_steps",))


def test_a_lock_is_no_product(tmp_path):
    (tmp_path / "config.yaml").write_text("a: 1")
    (tmp_path / ".lock").write_text("vm process 12345")
    note_sizes(tmp_path)
    assert json.loads((tmp_path / NOTES).read_text()) == {"config.yaml": 4}
    (tmp_path / ".lock").write_text("vm process 1234")
    assert damage(tmp_path) == ""


def test_a_file_that_was_cut_is_named_with_its_size(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"1234")
    note_sizes(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"12")
    assert damage(tmp_path) == "model.safetensors has 2 of 4 bytes"


def stopped(script: str, config, after: int, number: int) -> tuple[int, str]:
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
    said = "training/sft.py: interrupted; the same command resumes the run"
    assert error.splitlines()[-1] == said


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
