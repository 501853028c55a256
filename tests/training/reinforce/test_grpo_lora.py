"""GRPO with LoRA: adapters alone are trained, against the model without them, and can be merged."""

from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("trl")

from graphwalker.errors import UserError
from graphwalker.policies.config import PolicyConfig
from graphwalker.policies.load import load_policy
from support.run_toys import grpo_config, lines, make_grpo_world
from training.grpo import run_grpo
from training.reinforce.engines import engine_arguments

LORA = {"r": 8, "alpha": 16}


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    pytest.importorskip("peft")
    return make_grpo_world(tmp_path_factory.mktemp("grpo-lora"))


@pytest.fixture(scope="module")
def run(world, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "lora"
    run_grpo(grpo_config(world, out, lora=LORA, lr=2e-2, steps=6, save_steps=6, beta=0.001))
    return out


@pytest.mark.long
def test_adapters_alone_are_trained_and_saved(run) -> None:
    assert (run / "final" / "adapter_config.json").is_file()
    assert not (run / "final" / "model.safetensors").exists()


@pytest.mark.long
def test_the_reference_is_the_model_without_its_adapter(run) -> None:
    kl = [line["kl"] for line in lines(run)]
    assert kl[0] == pytest.approx(0.0, abs=1e-6) and kl[-1] > 1e-4


def test_sampling_and_training_agree_on_log_probabilities(run) -> None:
    assert max(line["mismatch_max"] for line in lines(run)) < 1e-4


def test_the_merged_model_plays(run, tmp_path) -> None:
    from training.models.lora import merge_adapter

    whole = merge_adapter(run, tmp_path / "whole")
    assert load_policy(PolicyConfig(model=str(whole), format="inline")).name == "whole"


def test_what_is_pushed_to_vllm_is_the_merged_model_under_its_own_names(run, world) -> None:
    """Up to vLLM's door: TRL's walk over the weights that it would send."""
    import contextlib
    import types

    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM
    from trl.generation.vllm_generation import VLLMGeneration

    base = AutoModelForCausalLM.from_pretrained(world / "model")
    own = {name: value.clone() for name, value in base.named_parameters()}
    push = object.__new__(VLLMGeneration)
    push.model = PeftModel.from_pretrained(base, run / "final")
    gather = lambda parameters: contextlib.nullcontext()  # noqa: E731  (no shards here)
    push._dist = types.SimpleNamespace(gather_params=gather, is_fsdp=False)
    sent = {name: value.clone() for name, value in push._iter_named_params()}
    whole = PeftModel.from_pretrained(
        AutoModelForCausalLM.from_pretrained(world / "model"), run / "final"
    ).merge_and_unload()
    expected = dict(whole.named_parameters())
    assert sent.keys() == expected.keys() == own.keys()
    assert all(torch.allclose(sent[name], expected[name], atol=1e-6) for name in sent)
    assert any(not torch.equal(sent[name], own[name]) for name in sent)


def test_vllm_is_asked_for_where_adapters_are_trained(tmp_path) -> None:
    config = grpo_config(tmp_path, tmp_path, lora=LORA, engine="vllm")
    if find_spec("vllm") is None:
        with pytest.raises(UserError, match=r"graphwalker-kgqa\[vllm\]"):
            engine_arguments(config)
    else:
        assert engine_arguments(config)["use_vllm"]
