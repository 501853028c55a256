"""Several processes: a run split over two of them is the run of one, and layouts are checked."""

import os
from pathlib import Path

import pytest
import torch

from graphwalker.errors import UserError
from graphwalker.jobs.local import run_section
from graphwalker.jobs.sections import ChainSection
from support.paths import ROOT
from support.run_toys import (
    curve,
    grpo_config,
    largest_difference,
    launch,
    lines,
    make_grpo_world,
    sft_config,
    stop_after,
    weights,
)
from training.config import SftConfig
from training.grpo import run_grpo
from training.runs.command import run_command
from training.runs.distributed import check_layout, process_arguments
from training.sft import run_sft

ON_CPU = {"DS_ACCELERATOR": "cpu"}
LAYOUTS = ["ddp", "zero2", "zero3", "fsdp2"]
ROUNDING = 2e-4
"""Of weights after a dozen steps of Adam, which divides by small numbers."""


@pytest.fixture(scope="module")
def one_sft(place) -> Path:
    """SFT by one process."""
    run_sft(sft_config(place, place / "one"))
    return place / "one"


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    return make_grpo_world(tmp_path_factory.mktemp("grpo"))


@pytest.fixture(scope="module")
def one_grpo(world) -> Path:
    """GRPO with a KL term by one process."""
    run_grpo(grpo_config(world, world / "one", beta=0.1))
    return world / "one"


def needs(layout: str) -> None:
    if layout.startswith("zero"):
        pytest.importorskip("deepspeed", reason="pip install 'graphwalker-kgqa[deepspeed]'")


def close(left: Path, right: Path, keys: tuple[str, ...]) -> bool:
    pairs = zip(lines(left), lines(right), strict=True)
    return all(
        a[key] == pytest.approx(b[key], rel=1e-3, abs=1e-5) for a, b in pairs for key in keys
    )


# --- what the layout must allow


def test_a_run_under_fsdp_1_is_refused_before_it_writes(tmp_path, monkeypatch):
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    monkeypatch.setenv("FSDP_VERSION", "1")
    with pytest.raises(UserError, match="only version 2"):
        run_grpo(grpo_config(tmp_path, tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_the_layout_of_fsdp2_is_what_accelerate_is_told(monkeypatch):
    """As on GPUs: the two processes on CPUs below get by what accelerate refuses there."""
    from accelerate.commands.launch import _validate_launch_command, launch_command_parser
    from accelerate.utils import FullyShardedDataParallelPlugin
    from accelerate.utils.launch import prepare_multi_gpu_env

    file = str(ROOT / "configs" / "accelerate" / "fsdp2.yaml")
    given = ["--config_file", file, "--num_processes", "2", "training/sft.py"]
    args, _, _ = _validate_launch_command(launch_command_parser().parse_args(given))
    told = {k: v for k, v in prepare_multi_gpu_env(args).items() if k not in os.environ}
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    check_layout()
    plugin = FullyShardedDataParallelPlugin()
    assert plugin.fsdp_version == 2 and plugin.reshard_after_forward is True
    assert "FULL_STATE_DICT" in str(plugin.state_dict_type)  # a checkpoint is one whole model


def test_the_runs_precision_wins_and_processes_without_a_gpu_talk_over_gloo(monkeypatch):
    for bf16, said in ((True, "bf16"), (False, "no")):
        monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "bf16")
        process_arguments(bf16)
        assert os.environ["ACCELERATE_MIXED_PRECISION"] == said
    if not torch.cuda.is_available():
        assert process_arguments(False) == {"use_cpu": True, "ddp_backend": None}
        monkeypatch.setenv("WORLD_SIZE", "2")
        assert process_arguments(False) == {"use_cpu": True, "ddp_backend": "gloo"}


def test_a_command_that_ended_well_leaves_its_process_group(tmp_path):
    # Left to the interpreter's end, gloo's threads now and then abort a training that is done.
    meeting = f"file://{tmp_path / 'meeting'}"
    torch.distributed.init_process_group("gloo", init_method=meeting, rank=0, world_size=1)
    values = [f"{name}=x" for name in ("model", "output_dir")]
    arguments = [*values, "data=[x]"]
    assert run_command("sft", SftConfig, lambda config: tmp_path, arguments) == 0
    assert not torch.distributed.is_initialized()


# --- two processes


@pytest.mark.long
@pytest.mark.skipif(torch.cuda.is_available(), reason="there one process trains")
def test_a_refused_config_is_the_users_mistake_for_several_processes_too(tmp_path):
    config = tmp_path / "c.yaml"
    config.write_text("sft1: {model: none/here, data: [none.jsonl], lrr: 3}\n")
    with pytest.raises(UserError, match="stage sft1 was refused"):
        run_section(ChainSection("sft1", "sft", {}), config)


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_sft_by_two_processes_is_sft_by_one(place, one_sft, tmp_path, layout):
    needs(layout)
    launch("sft.py", sft_config(place, tmp_path / "two"), layout, **ON_CPU)
    assert close(tmp_path / "two", one_sft, ("step", "loss", "grad_norm", "lr", "tokens"))
    assert largest_difference(tmp_path / "two", one_sft) < ROUNDING


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_grpo_by_two_processes_is_grpo_by_one(world, one_grpo, tmp_path, layout):
    needs(layout)
    launch("grpo.py", grpo_config(world, tmp_path / "two", beta=0.1), layout, **ON_CPU)
    keys = ("step", "em", "turns", "tokens", "entropy", "kl", "loss", "grad_norm")
    assert close(tmp_path / "two", one_grpo, keys)
    assert largest_difference(tmp_path / "two", one_grpo) < ROUNDING


@pytest.mark.slow
def test_bfloat16_under_deepspeed_trains_as_in_one_process(world, tmp_path):
    needs("zero2")
    half = {"beta": 0.1, "dtype": "bfloat16", "steps": 2}
    run_grpo(grpo_config(world, tmp_path / "one", **half))
    launch("grpo.py", grpo_config(world, tmp_path / "two", **half), "zero2", **ON_CPU)
    losses = [[line["loss"] for line in lines(tmp_path / run)] for run in ("one", "two")]
    assert losses[0] == pytest.approx(losses[1], abs=1e-3)
    assert {w.dtype for w in weights(tmp_path / "two").values()} == {torch.bfloat16}


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_adapters_trained_by_two_processes_are_those_of_one(place, world, tmp_path, layout):
    needs(layout)
    settings = {"lora": {"r": 8, "alpha": 16}}
    sft = {"optimizer": "adamw", **settings}
    run_sft(sft_config(place, tmp_path / "sft-one", **sft))
    launch("sft.py", sft_config(place, tmp_path / "sft-two", **sft), layout, **ON_CPU)
    assert largest_difference(tmp_path / "sft-two", tmp_path / "sft-one") < ROUNDING
    grpo = {"beta": 0.1, **settings}
    run_grpo(grpo_config(world, tmp_path / "grpo-one", **grpo))
    launch("grpo.py", grpo_config(world, tmp_path / "grpo-two", **grpo), layout, **ON_CPU)
    assert largest_difference(tmp_path / "grpo-two", tmp_path / "grpo-one") < ROUNDING


@pytest.mark.slow
def test_rows_without_advantage_may_be_uneven_between_processes(world, tmp_path):
    """Without a KL term such rows are left out, and TRL gathers figures per row."""
    run_grpo(grpo_config(world, tmp_path / "one"))
    launch("grpo.py", grpo_config(world, tmp_path / "two"), "ddp")
    assert any(0 < line["zero_variance"] < 1 for line in lines(tmp_path / "one"))
    assert close(tmp_path / "two", tmp_path / "one", ("em", "tokens", "grad_norm"))
    assert largest_difference(tmp_path / "two", tmp_path / "one") < ROUNDING


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_two_processes_that_go_on_end_bit_equal(place, tmp_path, layout):
    needs(layout)
    config = sft_config(place, tmp_path / "whole", keep_checkpoints=9)
    launch("sft.py", config, layout, **ON_CPU)
    again = config.model_copy(update={"output_dir": str(tmp_path / "stopped")})
    stop_after(tmp_path / "whole", again, step=4)
    launch("sft.py", again, layout, **ON_CPU)
    assert largest_difference(tmp_path / "stopped", tmp_path / "whole") == 0
    assert curve(tmp_path / "stopped") == curve(tmp_path / "whole")
