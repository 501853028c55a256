"""What a run will take and begin with: its memory, the shipped configs, the dry run."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import peft
import pytest
import torch
from omegaconf import OmegaConf
from torch.autograd.graph import saved_tensors_hooks
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from graphwalker.cli.config import _training
from graphwalker.errors import UserError
from graphwalker.policies.local.kv_cache import Placement
from graphwalker.policies.vllm.config import VllmConfig
from support.commands import run
from support.grpo_batches import first_batch
from support.paths import ROOT
from support.poison import refusal
from support.run_toys import SHAPE, grpo_config, sft_config
from training.config import SftConfig
from training.dry_run import dry_run
from training.estimate import (
    ASLEEP,
    DEV_CACHE,
    GIB,
    Part,
    cache_bytes,
    checkpoint_bytes,
    estimate,
    host_memory,
    peak,
    trained_parameters,
)
from training.grpo_config import GrpoConfig, GrpoEvaluation
from training.models.lora import lora_config
from training.models.shapes import empty_model, model_shape
from training.supervised.batches import plan_steps
from training.supervised.rows import read_rows

ROWS, LENGTH = 3, 96
PUBLISHED = {
    "Qwen/Qwen2.5-1.5B-Instruct": 1.54,
    "Qwen/Qwen2.5-3B-Instruct": 3.09,
    "Qwen/Qwen2.5-7B-Instruct": 7.61,
    "Qwen/Qwen3-8B": 8.19,
    "meta-llama/Llama-3.1-8B-Instruct": 8.03,
}
"""Billions of parameters on the models' pages."""


@pytest.fixture(scope="module", params=["qwen2", "qwen3", "llama"])
def folder(request, tmp_path_factory) -> Path:
    sizes = {"hidden_size": 64, "intermediate_size": 192, "vocab_size": 400, "head_dim": 16}
    sizes |= {"num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2}
    path, tied = tmp_path_factory.mktemp(request.param), request.param == "qwen2"
    shape = AutoConfig.for_model(request.param, **sizes, tie_word_embeddings=tied)
    AutoModelForCausalLM.from_config(shape).save_pretrained(path)
    return path


def sft(model: Path | str, **more: Any) -> SftConfig:
    values = {"batch_size": ROWS, "max_length": LENGTH, "dtype": "float32"} | more
    return SftConfig(model=str(model), data=("a.jsonl",), output_dir="out", **values)


def grpo(**more: Any) -> GrpoConfig:
    paths = {"questions": "q", "graph": "g", "output_dir": "o"}
    return GrpoConfig(model="Qwen/Qwen2.5-7B-Instruct", **paths, **more)


def sizes(parts: list[Part]) -> dict[str, int]:
    return {part.name: part.bytes for part in parts}


def measured_step(folder: Path, checkpointing: bool) -> dict[str, int]:
    """Bytes of a real step's parts; the activations are what autograd holds, weights left out."""
    model = AutoModelForCausalLM.from_pretrained(folder)
    model.train()
    if checkpointing:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    held: dict[int, int] = {}
    kept: list[Any] = []

    def note(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            held[storage.data_ptr()] = storage.nbytes()
            kept.append(tensor)  # so that no address is used twice
        return tensor

    ids = torch.randint(0, 400, (ROWS, LENGTH))
    with saved_tensors_hooks(note, lambda tensor: tensor):
        hidden = model.base_model(input_ids=ids, use_cache=False).last_hidden_state
    activations = sum(held.values())
    optimizer = torch.optim.AdamW(model.parameters())
    model.lm_head(hidden).float().logsumexp(-1).sum().backward()
    optimizer.step()
    states = [s for p in optimizer.state.values() for s in p.values() if s.dim()]
    return {
        "weights": sum(p.nbytes for p in model.parameters()),
        "gradients": sum(p.grad.nbytes for p in model.parameters() if p.grad is not None),
        "optimizer": sum(state.nbytes for state in states),
        "activations": activations,
    }


def test_the_parts_are_those_of_a_real_step(folder):
    told, real = sizes(estimate(sft(folder))), measured_step(folder, checkpointing=False)
    for name in ("weights", "gradients", "optimizer"):
        assert told[name] == real[name], name
    assert told["activations"] == pytest.approx(real["activations"], rel=0.1)
    whole = checkpoint_bytes(sft(folder, keep_checkpoints=1))
    written = real["weights"] + real["optimizer"]
    assert whole - real["weights"] // 2 == pytest.approx(2 * written, rel=0.1)
    # Checkpointing keeps the inputs of layers, and one layer in full.
    kept = sizes(estimate(sft(folder, gradient_checkpointing=True)))["activations"]
    inputs = measured_step(folder, checkpointing=True)["activations"]
    assert inputs < kept < inputs + told["activations"] / 2
    model = AutoModelForCausalLM.from_pretrained(folder)
    cache = model(input_ids=torch.zeros(2, 10, dtype=torch.long), use_cache=True).past_key_values
    held = sum(layer.keys.nbytes + layer.values.nbytes for layer in cache.layers)
    assert 20 * cache_bytes(model.config, half=False) == held


def test_known_models_have_as_many_parameters_as_published():
    for name, billions in PUBLISHED.items():
        count = sum(p.numel() for p in empty_model(model_shape(name)).parameters())
        assert count / 1e9 == pytest.approx(billions, abs=0.01), name
    with pytest.raises(UserError, match=r"config\.json"):
        estimate(sft("someone/else-7B"))


def test_zero_shares_out_what_it_shares_and_lora_keeps_no_gradients_of_the_model():
    config = sft("Qwen/Qwen2.5-7B-Instruct", dtype="auto")
    whole, two, three = (sizes(estimate(config, 8, name)) for name in ("ddp", "zero2", "zero3"))
    assert two["optimizer"] == three["optimizer"] < whole["optimizer"] / 5
    assert three["weights"] == two["weights"] // 8
    small = sizes(estimate(sft("Qwen/Qwen2.5-7B-Instruct", dtype="auto", lora={"r": 16})))
    assert small["gradients"] < whole["gradients"] / 100 and small["weights"] < whole["weights"]


@pytest.mark.parametrize("targets", [(), ("q_proj", "down_proj")])
def test_adapters_are_as_many_as_peft_makes(folder, targets):
    config = sft(folder, lora={"r": 4, "targets": targets})
    assert config.lora is not None
    model = AutoModelForCausalLM.from_pretrained(folder)
    told = trained_parameters(config, model)
    adapted = peft.get_peft_model(model, lora_config(config.lora))
    assert told == sum(p.numel() for p in adapted.parameters() if p.requires_grad)


def test_grpo_counts_the_rollouts_and_the_reference():
    config = grpo()
    told = sizes(estimate(config, 8, "zero2"))
    free = sizes(estimate(config.model_copy(update={"beta": 0.0}), 8, "zero2"))
    assert told["reference model"] == told["weights"] and "reference model" not in free
    whole = 64 * (4096 + 8192) * 2 * 28 * 4 * 128 * 2
    assert told["KV cache"] == whole + whole // 56  # one layer's keys or values are copied


def estimated_peak(config: GrpoConfig) -> float:
    return peak(estimate(config, 8, "zero2")) / GIB


def test_a_share_of_vllm_counts_beside_the_states_and_in_the_update_unless_it_sleeps():
    config = grpo(engine="vllm", vllm={"gpu_memory": 0.35, "sleep": True}, micro_batch=1)
    awake = config.model_copy(update={"vllm": VllmConfig(gpu_memory=0.35)})
    server = config.model_copy(update={"engine": "vllm-server"})
    parts = sizes(estimate(config, 8, "zero2"))
    update = (parts["activations"] + parts["logits"]) / GIB
    assert parts[ASLEEP] == 28 * GIB and "KV cache" not in parts
    states = sum(parts.values()) / GIB - 28 - update
    assert estimated_peak(config) == pytest.approx(states + max(28, update))
    assert estimated_peak(awake) == pytest.approx(states + 28 + update)
    assert estimated_peak(server) == pytest.approx(states + update)


def test_an_evaluation_beside_a_sleeping_vllm_counts_its_own_cache():
    vllm, dev = VllmConfig(sleep=True, gpu_memory=0.3), GrpoEvaluation(questions="dev", limit=2000)
    config = grpo(engine="vllm", vllm=vllm, evaluation=dev, micro_batch=1)
    parts = sizes(estimate(config, 8, "zero2"))
    one = config.max_context * cache_bytes(model_shape(config.model), half=True)
    assert parts[DEV_CACHE] == pytest.approx(min(config.engine_batch, 250) * one * (1 + 1 / 56))
    assert estimated_peak(config) > estimated_peak(config.model_copy(update={"evaluation": None}))


def test_the_cluster_config_fits_its_gpus_by_the_command():
    told = told_by_the_command("zero2")
    assert 60 < told["peak"] < 78
    # Checkpoints of about 106 GB (14 bytes a parameter): two, the next one, and the model itself.
    assert told["disk"] == pytest.approx((3 * 106.6e9 + 15.2e9) / GIB, rel=0.02)
    assert told["time"] > 0
    little = [*ESTIMATED, "zero2", "vllm.gpu_memory=0.1"]
    assert "cannot hold the model" in refusal(*little)


ESTIMATED = ("config", "configs/cluster.yaml#grpo", "--estimate", "--gpus", "8", "--layout")


@cache
def told_by_the_command(layout: str) -> dict[str, float]:
    """The figures at the ends of the command's lines, in GiB or hours."""
    found = re.findall(r"^([a-z ]+) ([\d.]+) (?:GiB|h)\b", run(*ESTIMATED, layout), re.M)
    return {name: float(figure) for name, figure in found}


def test_the_rollouts_cache_is_no_longer_than_a_context_and_is_freed(grpo_world, tmp_path):
    trainer, _ = first_batch(grpo_world, tmp_path / "run")
    policy = trainer.rollouts.engine._policy
    assert policy is not None and all(layer.keys is None for layer in policy._cache.slot_layers)
    grown = Placement(None, torch.zeros(2, 1, dtype=torch.long), None, 90, (2, 90), 100)
    assert grown.grow(torch.zeros(2, 1, 70, 4)).shape[2] == 100
    assert grown.grow(torch.zeros(2, 1, 99, 4)).shape[2] == 99


def test_seven_billion_parameters_on_eight_gpus_start_with_less_than_200_gb_of_the_host():
    for layout in ("zero2", "zero3", "fsdp2"):
        assert 100 < told_by_the_command(layout)["host memory"] * GIB / 1e9 < 200, layout


def test_a_node_holds_the_file_once_and_its_share_of_the_optimizer(folder):
    one, two = (host_memory(sft(folder, dtype="auto"), gpus, "zero2") for gpus in (8, 16))
    assert sizes(one)["file of the weights"] == (folder / "model.safetensors").stat().st_size
    assert sizes(two)["checkpoint"] < sizes(one)["checkpoint"]
    assert sizes(two)["processes"] == sizes(one)["processes"] == 32 * GIB
    cpu = sizes(host_memory(sft(folder), 0))
    assert cpu["training"] == peak(estimate(sft(folder)))


CONFIGS = ROOT / "configs"
RUNS = [
    f"{path}#{name}"
    for path in sorted((CONFIGS / "models").glob("*.yaml"))
    for name, part in OmegaConf.load(path).items()
    if OmegaConf.is_dict(part) and name != "shared"
]


def hub_name(run: str) -> str:
    loaded = OmegaConf.load(run.partition("#")[0])
    return next(str(part.model) for name, part in loaded.items() if str(name).startswith("sft1"))


@pytest.mark.parametrize("run", RUNS, ids=lambda run: Path(run).name)
def test_every_run_loads_as_the_stage_of_its_name_and_fits_its_model_and_gpus(run):
    """8 x 80 GB with ZeRO-2, or one GPU: of 24 GB in the recipe's file, else of 80 GB."""
    model = hub_name(run)
    config = _training(run, [f"model={model}"])
    assert isinstance(config, GrpoConfig if "#grpo" in run else SftConfig)
    assert ("-lora" in run or "24gb" in run) == (config.lora is not None)
    room = 24 if "24gb" in run else 80
    parts = estimate(config, 1) if config.lora else estimate(config, 8, "zero2")
    assert peak(parts) < (room - 2) * 1e9, [(p.name, round(p.bytes / GIB, 1)) for p in parts]
    grpo = isinstance(config, GrpoConfig)
    length = config.max_prompt_tokens + config.max_response_tokens if grpo else config.max_length
    assert length <= model_shape(model).max_position_embeddings


def test_the_first_batch_is_that_of_the_run(place, tmp_path) -> None:
    config = sft_config(place, tmp_path / "run", batch_size=8, tokens_per_step=0)
    told = dry_run(config)
    rows = read_rows(config, AutoTokenizer.from_pretrained(place / "model"), tmp_path / "rows")
    lengths = [rows.lengths[i] for i in plan_steps(rows.lengths, config, 1)[0][0]]
    assert f"input_ids (8, {max(lengths)})" in told["first pass"]
    assert told["real tokens in it"] == sum(lengths) > told["trained tokens in it"] > 0
    assert told["steps"] == 12 and not (tmp_path / "run").exists()
    assert "input_ids (4," in dry_run(config, gpus=2)["first pass"]  # they share a step
    with pytest.raises(UserError):
        dry_run(config.model_copy(update={"format": "llama3"}))


def test_grpo_tells_episodes_and_prompts(grpo_world, tmp_path) -> None:
    told = dry_run(grpo_config(grpo_world, tmp_path / "run", max_prompt_tokens=400), gpus=2)
    assert told["episodes per step"] == "4 x 4 = 16" and told["episodes per process"] == 8
    assert 0 < told["longest prompt"] <= 400 and told["questions"] == 8
    longer = {"max_prompt_tokens": 400, "max_response_tokens": SHAPE.max_position}
    for caps, message in (({"max_prompt_tokens": 5}, "max_prompt_tok"), (longer, "was made for")):
        with pytest.raises(UserError, match=message):
            dry_run(grpo_config(grpo_world, tmp_path / "run", **caps))
