"""What may change when a run resumes: its length, its checkpoints, how a step is cut up."""

import shutil
from contextlib import suppress

import pytest

from graphwalker.config import load_config, write_config
from graphwalker.errors import UserError
from support.run_toys import curve, grpo_config, largest_difference, lines, sft_config, stop_after
from training.config import SftConfig
from training.grpo import run_grpo
from training.runs.checkpoints import lines_until
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
    path = write_config(config, tmp_path)
    text = path.read_text()
    for length in range(0, len(text), 29):
        path.write_text(text[:length])
        with suppress(UserError):
            changed_settings(config, free=("max_steps",))
