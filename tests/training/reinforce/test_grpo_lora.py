"""GRPO with LoRA: adapters alone are trained, against the model without them, and can be merged."""

from pathlib import Path

import pytest

from graphwalker.agents.model_environment import read_environment
from graphwalker.agents.policies import load_policy
from graphwalker.policies.config import PolicyConfig
from support.run_toys import grpo_config, lines
from training.grpo import run_grpo
from training.models.lora import merge_adapter

LORA = {"r": 8, "alpha": 16}


@pytest.fixture(scope="module")
def run(grpo_world, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "lora"
    run_grpo(grpo_config(grpo_world, out, lora=LORA, lr=2e-2, steps=2, save_steps=2, beta=0.001))
    return out


@pytest.mark.long
def test_adapters_alone_are_trained_against_the_model_without_them_and_merged(run, tmp_path):
    assert (run / "final" / "adapter_config.json").is_file()
    assert not (run / "final" / "model.safetensors").exists()
    kl = [line["kl"] for line in lines(run)]
    assert kl[0] == pytest.approx(0.0, abs=1e-6) and kl[-1] > 1e-4
    assert max(line["mismatch_max"] for line in lines(run)) < 1e-4
    whole = merge_adapter(run, tmp_path / "whole")
    assert load_policy(PolicyConfig(model=str(whole), format="inline")).name == "whole"
    assert read_environment(whole) == read_environment(run / "final")


@pytest.mark.long
def test_a_run_that_starts_from_an_adapter_trains_it_on_against_what_it_was(
    run, grpo_world, tmp_path
):
    values = {"lora": LORA, "lr": 2e-2, "steps": 2, "save_steps": 1, "beta": 0.001}
    out = tmp_path / "on"
    run_grpo(grpo_config(grpo_world, out, model=str(run / "final"), **values))
    # against the base it would be what it was at the end of the first run
    assert lines(out)[0]["kl"] == pytest.approx(0.0, abs=1e-6) and lines(run)[-1]["kl"] > 1e-4
    for folder in (out / "final", out / "checkpoint-1"):
        assert not (folder / "ref").exists()
    own, before = ((at / "final" / "adapter_config.json").read_text() for at in (out, run))
    assert own == before
    assert load_policy(PolicyConfig(model=str(out / "final"), format="inline")).name


def test_what_is_pushed_to_vllm_is_the_merged_model_under_its_own_names(run, grpo_world) -> None:
    """Up to vLLM's door: TRL's walk over the weights that it would send."""
    import contextlib
    import types

    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM
    from trl.generation.vllm_generation import VLLMGeneration

    base = AutoModelForCausalLM.from_pretrained(grpo_world / "model")
    own = {name: value.clone() for name, value in base.named_parameters()}
    push = object.__new__(VLLMGeneration)
    push.model = PeftModel.from_pretrained(base, run / "final")
    gather = lambda parameters: contextlib.nullcontext()  # noqa: E731  (no shards here)
    push._dist = types.SimpleNamespace(gather_params=gather, is_fsdp=False)
    sent = {name: value.clone() for name, value in push._iter_named_params()}
    whole = PeftModel.from_pretrained(
        AutoModelForCausalLM.from_pretrained(grpo_world / "model"), run / "final"
    ).merge_and_unload()
    expected = dict(whole.named_parameters())
    assert sent.keys() == expected.keys() == own.keys()
    assert all(torch.allclose(sent[name], expected[name], atol=1e-6) for name in sent)
    assert any(not torch.equal(sent[name], own[name]) for name in sent)
