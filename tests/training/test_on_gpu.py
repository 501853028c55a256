"""Training and rollouts on a GPU, held to what the same code does on a CPU: `pytest -m gpu`."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from graphwalker.agents.environment import Environment
from graphwalker.agents.rollout import rollout
from graphwalker.graphs.open import open_graph
from graphwalker.policies.base import Sampling
from graphwalker.policies.local.policy import TransformersPolicy
from graphwalker.tokens.segments import FORMATS
from graphwalker.trajectory import Trajectory
from support.grpo_toy import SMALL, questions
from support.paths import ROOT
from support.run_toys import (
    curve,
    grpo_config,
    largest_difference,
    lines,
    sft_config,
    stop_after,
    weights,
    write_config,
)
from training.sft import run_sft

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no GPU"),
]
LORA = {"r": 4, "alpha": 8}


def train(script: str, config: Any, gpu: bool = True) -> Path:
    out = Path(config.output_dir)
    path = write_config(config, out.with_suffix(".json"))
    command = [sys.executable, str(ROOT / "training" / script), "--config", str(path)]
    environment = os.environ if gpu else os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return out


def by_rows(place: Path, out: Path, **values: Any) -> Any:
    return sft_config(place, out, **{"tokens_per_step": 0, "batch_size": 8, **values})


def close(one: Path, two: Path, *keys: str, rel: float = 2e-3) -> None:
    for left, right in zip(curve(one, *keys), curve(two, *keys), strict=True):
        assert left == pytest.approx(right, rel=rel, abs=1e-5)


@pytest.fixture(scope="module")
def cpu(place) -> Path:
    return train("sft.py", by_rows(place, place / "cpu", dtype="float32"), gpu=False)


@pytest.mark.parametrize("settings", [{}, {"packing": True, "attention": "sdpa"},
                                      {"gradient_checkpointing": True}])  # fmt: skip
def test_sft_has_the_losses_of_a_cpu(place, cpu, tmp_path, settings) -> None:
    on = train("sft.py", by_rows(place, tmp_path / "gpu", dtype="float32", **settings))
    close(on, cpu)
    assert largest_difference(on, cpu) < 5e-3


@pytest.mark.parametrize("settings", [{}, {"packing": True}, {"lora": LORA}])
def test_bfloat16_learns_as_float32_does(place, tmp_path, settings) -> None:
    half = train("sft.py", by_rows(place, tmp_path / "half", **settings))
    whole = train("sft.py", by_rows(place, tmp_path / "whole", dtype="float32", **settings))
    for left, right in zip(lines(half), lines(whole), strict=True):
        assert left["loss"] == pytest.approx(right["loss"], rel=0.03)
    assert all(w.dtype == torch.float32 for w in weights(half).values())


def test_sft_goes_on_where_it_was_stopped(place, tmp_path) -> None:
    whole = train("sft.py", by_rows(place, tmp_path / "whole", dtype="float32"))
    config = by_rows(place, tmp_path / "resumed", dtype="float32")
    run_sft(config.model_copy(update={"output_dir": str(stop_after(whole, config, 4))}))
    close(tmp_path / "resumed", whole, rel=1e-4)


def grpo(world: Path, out: Path, gpu: bool = True, **settings: Any) -> Path:
    config = grpo_config(world, out, **{"steps": 3, "dtype": "float32", **settings})
    return train("grpo.py", config, gpu)


@pytest.mark.parametrize(
    "settings",
    [{}, {"beta": 0.04}, {"loss_type": "dapo"}, {"iterations": 2, "steps": 4}, {"lora": LORA}],
)
def test_grpo_draws_and_learns_as_on_a_cpu(grpo_world, tmp_path, settings) -> None:
    cpu = grpo(grpo_world, tmp_path / "cpu", gpu=False, **settings)
    on = grpo(grpo_world, tmp_path / "gpu", **settings)
    first = ("em", "turns", "tokens")
    assert [lines(on)[0][key] for key in first] == [lines(cpu)[0][key] for key in first]
    assert lines(on)[0]["loss"] == pytest.approx(lines(cpu)[0]["loss"], rel=5e-3, abs=1e-4)
    assert lines(on)[0]["grad_norm"] == pytest.approx(lines(cpu)[0]["grad_norm"], rel=5e-3)
    assert all(step["mismatch_max"] < 1e-3 for step in lines(on))


@pytest.mark.parametrize("settings", [{}, {"lora": LORA}, {"gradient_checkpointing": True}])
def test_bfloat16_scores_what_it_drew(grpo_world, tmp_path, settings) -> None:
    run = grpo(grpo_world, tmp_path / "half", dtype="bfloat16", **settings)
    for step in lines(run):
        assert step["failed"] == 0
        assert step["mismatch_max"] < 0.5
        assert step["mismatch_mean"] < 0.03


def local_policy(world: Path, device: str, batch_size: int) -> TransformersPolicy:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(world / "model")
    model: Any = AutoModelForCausalLM.from_pretrained(world / "model", dtype=torch.float32)
    model = model.eval().to(device)
    settings = {"batch_size": batch_size, "max_context": 512}
    return TransformersPolicy(model, tokenizer, FORMATS["inline"], **settings)


def walks(world: Path, device: str, batch_size: int) -> list[Trajectory]:
    policy = local_policy(world, device, batch_size)
    environment = Environment(open_graph(world / "graph"), SMALL)
    sampling = Sampling(max_tokens=40)
    found = rollout(questions(), environment, policy, sampling, concurrency=batch_size)
    return sorted(found, key=lambda walk: walk.question.id)


def test_greedy_episodes_are_those_of_a_cpu(grpo_world) -> None:
    cpu = walks(grpo_world, "cpu", 8)
    for batch_size in (1, 3, 8):
        found = walks(grpo_world, "cuda", batch_size)
        assert [w.answer for w in found] == [w.answer for w in cpu]
        for one, two in zip(found, cpu, strict=True):
            for left, right in zip(one.turns, two.turns, strict=True):
                assert left.token_ids == right.token_ids


def test_the_cache_is_freed_before_the_update(grpo_world) -> None:
    policy = local_policy(grpo_world, "cuda", 64)
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    environment = Environment(open_graph(grpo_world / "graph"), SMALL)
    list(rollout(questions(), environment, policy, Sampling(max_tokens=40), concurrency=64))
    policy.free()
    assert torch.cuda.max_memory_allocated() > before + (1 << 20)
    assert torch.cuda.memory_allocated() < before + (1 << 20)
