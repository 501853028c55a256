"""How the models of a run come into memory: their precision, and how often a node holds them."""

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from graphwalker.pretrained.load import make_model, read_model, read_tokenizer
from support.paths import ROOT
from support.run_toys import grpo_config, launch_line, lines, make_toy_graph, weights, write_config
from training.grpo import run_grpo
from training.models import loading
from training.models.copies import copy_to_draw_with
from training.models.loading import FIRST_READS, load_policy, load_reference


def as_bfloat16(model: Path, out: Path, **shape: Any) -> Path:
    """A model in bfloat16, as published ones are; with `shape`, of that size and without sense."""
    made = read_model(str(model), dtype="bfloat16")
    if shape:
        made.config.update(shape)
        made = make_model(made.config, dtype=torch.bfloat16)
    made.save_pretrained(out)
    read_tokenizer(str(model)).save_pretrained(out)
    return out


def test_a_reference_in_bfloat16_scores_as_it_does_in_float32(grpo_world, tmp_path):
    model = str(as_bfloat16(grpo_world / "model", tmp_path / "model"))
    held, whole = load_reference(model, "float32"), read_model(model, dtype="float32")
    assert {weights.dtype for weights in held.parameters()} == {torch.bfloat16}
    ids = torch.arange(40)[None]
    with torch.no_grad():
        assert torch.equal(held(ids).logits, whole(ids).logits)
    assert not any(weights.requires_grad for weights in held.parameters())


def test_what_an_optimizer_updates_is_float32_and_bfloat16_under_deepspeed(place, monkeypatch):
    model = str(place / "model")
    assert load_policy(model, "bfloat16").dtype == torch.float32
    assert load_policy(model, "bfloat16", frozen=True).dtype == torch.bfloat16
    monkeypatch.setenv("ACCELERATE_USE_DEEPSPEED", "true")
    assert load_policy(model, "bfloat16").dtype == torch.bfloat16
    assert load_policy(model, "float32").dtype == torch.float32


def test_a_cpu_that_multiplies_in_bfloat16_draws_with_a_copy_in_it(place, monkeypatch):
    model = read_model(str(place / "model"), dtype="float32")
    half, whole = (
        SimpleNamespace(mixed_precision=said, device=torch.device("cpu")) for said in ("bf16", "no")
    )
    assert copy_to_draw_with(model, whole) is None
    copied = copy_to_draw_with(model, half)
    assert copied is not None
    drawing, ids = copied.update(model), torch.arange(40)[None]
    assert drawing.dtype == torch.bfloat16 and not drawing.training
    with torch.no_grad():
        assert torch.allclose(drawing(ids).logits.float(), model(ids).logits, atol=0.1)
    monkeypatch.setenv("ACCELERATE_USE_DEEPSPEED", "true")
    assert copy_to_draw_with(model, half) is None


def test_under_fsdp2_the_first_process_alone_has_the_weights_of_the_policy(place, monkeypatch):
    for name, value in {"ACCELERATE_USE_FSDP": "true", FIRST_READS: "true", "RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    model = str(place / "model")
    policy, reference = load_policy(model, "float32"), load_reference(model, "float32")
    whole = dict(read_model(model, dtype="float32").named_parameters())
    read = [torch.equal(p, whole[name]) for name, p in policy.named_parameters()]
    assert policy.dtype == torch.float32 and not all(read)
    assert len({p.data_ptr() for p in policy.parameters()}) == len(read)
    assert policy.get_output_embeddings().weight is policy.get_input_embeddings().weight
    assert all(torch.equal(p, whole[name]) for name, p in reference.named_parameters())
    monkeypatch.setenv("RANK", "0")
    first = load_policy(model, "float32")
    assert all(torch.equal(p, whole[name]) for name, p in first.named_parameters())


@pytest.mark.slow
def test_a_reference_in_bfloat16_trains_as_one_in_float32(grpo_world, tmp_path, monkeypatch):
    """Ten steps in bfloat16, so small that both draw the same: losses within 1e-4, weights within
    two times what AdamW can move them."""
    settings = {"beta": 0.1, "dtype": "bfloat16", "steps": 10, "lr": 1e-5}
    run_grpo(grpo_config(grpo_world, tmp_path / "half", **settings))
    whole = lambda model, dtype: read_model(model, dtype="float32")  # noqa: E731
    monkeypatch.setattr(loading, "load_reference", whole)
    run_grpo(grpo_config(grpo_world, tmp_path / "whole", **settings))
    losses = [[line["loss"] for line in lines(tmp_path / run)] for run in ("half", "whole")]
    assert losses[0] == pytest.approx(losses[1], abs=1e-4)
    ours, theirs = weights(tmp_path / "half"), weights(tmp_path / "whole")
    gap = max(float((ours[name] - theirs[name]).abs().max()) for name in theirs)
    assert gap < 2 * 10 * 1e-5


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").is_file(), reason="Linux tells the memory")
def test_two_processes_start_with_one_mapped_reference(grpo_world, tmp_path):
    """4 bytes for the policy, 2 shared by both for the reference; 12.5 where each loads both in
    float32 and copies them."""
    size = {"hidden_size": 768, "num_hidden_layers": 8, "intermediate_size": 2048}
    heads = {"num_attention_heads": 12, "num_key_value_heads": 12, "head_dim": 64}
    layers = {"layer_types": ["full_attention"] * 8}
    model = as_bfloat16(grpo_world / "model", tmp_path / "model", **size, **heads, **layers)
    make_toy_graph(tmp_path)
    more = {"model": str(model), "beta": 0.1, "allow_cpu": True, "force_environment": True}
    config = write_config(grpo_config(tmp_path, tmp_path / "run", **more), tmp_path / "c.json")
    line = launch_line("grpo.py", config, "ddp")[:-3]
    line += [str(ROOT / "tests/support/start_memory.py"), str(config)]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True)
    found = json.loads(done.stdout.splitlines()[-1])["bytes_a_parameter"]
    assert 4 < found < 6.5, found
