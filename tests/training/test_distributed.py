"""Several processes: a run split over two of them is the run of one, and layouts are checked."""

import os
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate.commands.launch import _validate_launch_command, launch_command_parser
from accelerate.utils import FullyShardedDataParallelPlugin
from accelerate.utils.launch import prepare_multi_gpu_env

from graphwalker.errors import UserError
from graphwalker.files import read_jsonl, write_jsonl
from graphwalker.jobs.local import run_section
from graphwalker.jobs.sections import ChainSection
from support.grpo_batches import environment_of
from support.grpo_toy import SMALL, played
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
    run_sft(sft_config(place, place / "one"))
    return place / "one"


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    return make_grpo_world(tmp_path_factory.mktemp("grpo"))


@pytest.fixture(scope="module")
def one_grpo(world) -> Path:
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


def test_a_run_under_fsdp_1_is_refused_before_it_writes(tmp_path, monkeypatch):
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    monkeypatch.setenv("FSDP_VERSION", "1")
    with pytest.raises(UserError, match="only version 2"):
        run_grpo(grpo_config(tmp_path, tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_the_layout_of_fsdp2_is_what_accelerate_is_told(monkeypatch):
    """As on GPUs: the two processes on CPUs below get by what accelerate refuses there."""
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
    run_sft(sft_config(place, tmp_path / "sft-one", **settings))
    launch("sft.py", sft_config(place, tmp_path / "sft-two", **settings), layout, **ON_CPU)
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


TESTS = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
"""Where processes of their own find the preset of a test."""
KEYS = ("em", "turns", "tokens", "entropy", "loss", "grad_norm")


@pytest.fixture(scope="module")
def shown(grpo_world) -> str:
    path = grpo_world / "shown.jsonl"
    write_jsonl(path, [t.to_json() for t in played(environment_of(grpo_world), "Verria")[:5]])
    return str(path)


def both(world: Path, folder: Path, layout: str = "ddp", **settings: Any) -> tuple[Path, Path]:
    """The run by one process, and by two; figures and final weights are checked to be equal."""
    one, two = folder / "one", folder / "two"
    run_grpo(grpo_config(world, one, **settings))
    launch("grpo.py", grpo_config(world, two, **settings), layout, DS_ACCELERATOR="cpu", **TESTS)
    for left, right in zip(lines(two), lines(one), strict=True):
        for key in KEYS:
            assert left[key] == pytest.approx(right[key], rel=1e-3, abs=1e-5), key
    assert largest_difference(two, one) < ROUNDING
    return one, two


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["grpo", "dapo"])
def test_contexts_that_begin_anew(grpo_world, tmp_path, objective) -> None:
    """Each process has another number of them."""
    preset = SMALL.model_copy(update={"preset": "support.forgetful_agent:FORGETFUL"})
    settings = {"environment": preset, "force_environment": True, "loss_type": objective}
    one, _ = both(grpo_world, tmp_path, beta=0.1, temperature=1.5, **settings)
    episodes = list(read_jsonl(one / "trajectories.jsonl"))
    assert any(turn.get("restart") for episode in episodes for turn in episode["turns"])


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["ddp", "zero2", "fsdp2"])
def test_replay(grpo_world, shown, tmp_path, layout) -> None:
    needs(layout)
    replay = {"data": (shown,), "rows": 5, "weight": 0.2}  # five rows for four passes
    one, two = both(grpo_world, tmp_path, layout, replay=replay)
    replayed = [[line["replay_loss"] for line in lines(run)] for run in (one, two)]
    assert replayed[0] == pytest.approx(replayed[1], rel=1e-4) and min(replayed[0]) > 0


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["ddp", "zero2", "fsdp2"])
def test_evaluation(grpo_world, tmp_path, layout) -> None:
    needs(layout)
    dev = {"questions": str(grpo_world / "questions.jsonl"), "every_steps": 2, "samples": 2}
    settings = {"evaluation": {**dev, "choose_best": False}}
    one, two = both(grpo_world, tmp_path, layout, **settings)
    first, second = (list(read_jsonl(run / "evaluations.jsonl")) for run in (one, two))
    for key in ("step", "em", "sampled_em", "em_by_question"):
        assert [line[key] for line in first] == [line[key] for line in second]
    assert len(first) == 3


@pytest.mark.slow
def test_groups_drawn_again(grpo_world, tmp_path) -> None:
    both(grpo_world, tmp_path, zero_variance="resample", resample_tries=1)
