"""The memory of a training run, per GPU and on its node, by part, computed from its config."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from graphwalker.errors import UserError
from graphwalker.pretrained.adapters import base_of
from training.config import SftConfig
from training.grpo_config import GrpoConfig
from training.models.shapes import empty_model, head_size, model_shape

GIB = 2**30
CACHE, ACTIVATIONS, LOGITS = "KV cache", "activations", "logits"
ASLEEP = "vLLM, asleep in the update"
"""vLLM's share of the GPU where `vllm.sleep` gives it back after the rollouts."""
DEV_CACHE = "KV cache of dev questions"
"""Of an evaluation while training: our own loop draws, whatever draws the rollouts."""
LOGIT_ROWS = 1024
"""Positions whose logits exist at once: TRL's fused head scores a long row in such parts."""

LayoutName = Literal["ddp", "zero2", "zero3", "fsdp2"]
SHARED = ("zero3", "fsdp2")
"""Layouts in which no GPU holds whole weights."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the memory of one GPU, in bytes, and how it was computed."""

    name: str
    bytes: int
    how: str


def estimate(
    config: SftConfig | GrpoConfig, gpus: int = 1, layout: LayoutName = "ddp", gpu_gib: float = 80.0
) -> list[Part]:
    """Return the parts for the longest rows that the config allows; shorter ones take less.
    `gpu_gib` is the memory of one GPU, of which vLLM takes a share.

    Not counted: what the libraries take for themselves (1 to 2 GiB), the buckets of the processes'
    communication, fragmentation. Raises `UserError` for a model of unknown dimensions, and for a
    share of vLLM that cannot hold the model and one episode.
    """
    shape = model_shape(base_of(config.model))
    model = empty_model(shape)
    count = sum(parameter.numel() for parameter in model.parameters())
    half = config.dtype != "float32"
    moved = trained_parameters(config, model)
    if config.lora is None:
        states = _states(count, moved, half, gpus, layout)
    else:
        states = _adapter_states(count, moved, half and isinstance(config, SftConfig), half)
    rows, length = pass_shape(config, gpus)
    working = _working(config, shape, rows, length, half)
    parts = [*states, *working, *_dev_questions(config, shape, half, gpus)]
    if not isinstance(config, GrpoConfig):
        return parts
    if config.prompts_per_step * config.samples % gpus:
        episodes = config.prompts_per_step * config.samples
        raise UserError(f"{episodes} episodes per step are not a multiple of {gpus} GPUs")
    if config.engine == "transformers":
        parts.append(_own_rollouts(config, shape, half, gpus))
    elif config.engine == "vllm":
        parts.append(_vllm_share(config, shape, count, gpu_gib))
    if config.beta and config.lora is None:  # else it is the model without its adapter
        size = (2 if half else 4) * count // (gpus if layout in SHARED else 1)
        parts.append(Part("reference model", size, f"beta = {config.beta}"))
    return parts


def peak(parts: Sequence[Part]) -> int:
    """Bytes of the largest phase: a step's rollouts are over, and their cache is freed, before its
    update, and an evaluation stands between two steps."""
    sizes = {part.name: part.bytes for part in parts}
    rollouts = max(sizes.pop(CACHE, 0) + sizes.pop(ASLEEP, 0), sizes.pop(DEV_CACHE, 0))
    update = sum(sizes.pop(name) for name in (ACTIVATIONS, LOGITS))
    return sum(sizes.values()) + max(rollouts, update)


def trained_parameters(config: SftConfig | GrpoConfig, model: Any) -> int:
    """Parameters that get gradients: all, or those of the adapters, r x (rows + columns) each."""
    if config.lora is None:
        return sum(parameter.numel() for parameter in model.parameters())
    head, targets = model.get_output_embeddings(), config.lora.targets
    return sum(
        config.lora.r * sum(module.weight.shape)
        for name, module in model.named_modules()
        if hasattr(module, "in_features")
        and (name.rpartition(".")[2] in targets if targets else module is not head)
    )


def pass_shape(config: SftConfig | GrpoConfig, gpus: int) -> tuple[int, int]:
    """Return rows and padded tokens per row of the largest forward pass of one process."""
    if isinstance(config, GrpoConfig):
        return config.micro_batch, config.max_context
    passes = gpus * config.gradient_accumulation
    if config.tokens_per_step:
        return 1, max(config.max_length, -(-config.tokens_per_step // passes))
    return max(1, -(-config.batch_size // passes)), config.max_length


def _states(count: int, moved: int, half: bool, gpus: int, layout: LayoutName) -> list[Part]:
    """Weights, gradients and AdamW's state. DeepSpeed keeps bfloat16 weights and shares a float32
    copy out; without it the weights are float32 and are cast for each pass."""
    if layout in ("ddp", "fsdp2") or not half:
        share = gpus if layout in SHARED else 1
        shared = gpus if layout != "ddp" else 1
        casts = [Part("bfloat16 casts", 2 * count, "2 bytes a parameter, while autocast runs")]
        return [
            Part("weights", 4 * count // share, f"4 bytes x {count:,}"),
            *(casts if half and layout == "ddp" else []),
            Part("gradients", 4 * moved // shared, f"4 bytes x {moved:,}"),
            Part("optimizer", 8 * moved // shared, "AdamW: 8 bytes a trained parameter"),
        ]
    weights = 2 * count // (gpus if layout == "zero3" else 1)
    return [
        Part("weights", weights, f"2 bytes x {count:,}" + (" / GPUs" if layout == "zero3" else "")),
        Part("gradients", 4 * moved // gpus, "4 bytes a trained parameter / GPUs"),
        Part("optimizer", 12 * moved // gpus, "float32 copy and AdamW: 12 bytes / GPUs"),
    ]


def _adapter_states(count: int, moved: int, held_half: bool, half: bool) -> list[Part]:
    """LoRA: the model's own weights stay as they are; SFT holds them in bfloat16, GRPO in float32
    (and casts them). The adapters are float32."""
    size = 2 if held_half else 4
    casts = [Part("bfloat16 casts", 2 * count, "2 bytes a parameter, while autocast runs")]
    return [
        Part("weights", size * count + 4 * moved, f"{size} bytes x {count:,}, adapters {moved:,}"),
        *(casts if half and not held_half else []),
        Part("gradients", 4 * moved, "4 bytes a trained parameter"),
        Part("optimizer", 8 * moved, "AdamW: 8 bytes a trained parameter"),
    ]


def _working(
    config: SftConfig | GrpoConfig, shape: Any, rows: int, length: int, half: bool
) -> list[Part]:
    """Estimate what a forward pass keeps for the backward pass."""
    tokens, layers = rows * length, shape.num_hidden_layers
    layer = layer_bytes(shape, half)
    if config.gradient_checkpointing:
        kept = tokens * (4 * layers * shape.hidden_size + layer)
        how = f"{rows} x {length:,} tokens: each layer's input, and one layer in full"
    else:
        kept = tokens * (layers * layer + 12 * shape.hidden_size)
        how = f"{rows} x {length:,} tokens, {layers} layers x {layer:,} bytes"
    logits = 8 * min(tokens, LOGIT_ROWS) * shape.vocab_size
    return [
        Part(ACTIVATIONS, kept, how),
        Part(LOGITS, logits, f"8 bytes x {min(tokens, LOGIT_ROWS):,} x {shape.vocab_size:,}"),
    ]


def layer_bytes(shape: Any, half: bool) -> int:
    """Bytes that one layer keeps of one token: both norms, attention (fused), and the MLP."""
    wide = head_size(shape) * shape.num_attention_heads
    narrow = head_size(shape) * shape.num_key_value_heads
    size = 2 if half else 4
    norms = 2 * shape.hidden_size * (8 + size)
    head_norms = (8 + size) * (wide + narrow) if shape.model_type == "qwen3" else 0
    attention = size * (2 * wide + 2 * narrow) + 4 * shape.num_attention_heads
    return norms + head_norms + attention + size * 4 * shape.intermediate_size


def cache_bytes(shape: Any, half: bool) -> int:
    """Bytes of the KV cache of one token."""
    size = 2 if half else 4
    return 2 * shape.num_hidden_layers * shape.num_key_value_heads * head_size(shape) * size


def _own_rollouts(config: GrpoConfig, shape: Any, half: bool, gpus: int) -> Part:
    at_once = min(config.engine_batch, config.prompts_per_step * config.samples // gpus)
    return _cache_part(CACHE, at_once, config.max_context, shape, half)


def _dev_questions(config: SftConfig | GrpoConfig, shape: Any, half: bool, gpus: int) -> list[Part]:
    if config.evaluation is None:
        return []
    mine = -(-config.evaluation.limit // gpus)
    if isinstance(config, GrpoConfig):
        most, length = config.engine_batch, config.max_context
        mine *= max(1, config.evaluation.samples)
    else:
        most = config.evaluation.batch_size
        length = config.evaluation.max_context or config.max_length
    return [_cache_part(DEV_CACHE, min(most, mine), length, shape, half)]


def _cache_part(name: str, at_once: int, length: int, shape: Any, half: bool) -> Part:
    """Return the KV cache of episodes that our own loop draws together."""
    # Where it grows, one layer's keys or values are there twice.
    copied = 1 + 1 / (2 * shape.num_hidden_layers)
    how = f"{at_once} episodes x {length:,} tokens, if all are so long, and one layer's copy"
    return Part(name, int(at_once * length * cache_bytes(shape, half) * copied), how)


def _vllm_share(config: GrpoConfig, shape: Any, count: int, gpu_gib: float) -> Part:
    """Return what vLLM takes of the GPU that it shares with the trainer, its weights and cache
    included: episodes beyond those that its cache holds wait."""
    share = config.vllm.share_beside_trainer
    size, weights = int(share * gpu_gib * GIB), 2 * count
    length = config.max_context
    at_once = (size - weights) // (length * cache_bytes(shape, half=True))
    if at_once < 1:
        raise UserError(
            f"vllm.gpu_memory={share}: {size / GIB:.1f} GiB of {gpu_gib:g} cannot hold the model "
            f"({weights / GIB:.1f} GiB) and one episode of {length:,} tokens; raise it"
        )
    how = f"{share} of {gpu_gib:g} GiB: its weights, and at most {at_once} episodes of full length"
    return Part(ASLEEP if config.vllm.sleep else "vLLM", size, how)


def checkpoint_bytes(config: SftConfig | GrpoConfig, layout: LayoutName = "ddp") -> int:
    """Bytes on disk of a run at its largest: the checkpoints that it keeps, one more while the next
    is written, and the model in `final/`. A checkpoint holds weights and AdamW's state; DeepSpeed
    adds a float32 copy to bfloat16 weights."""
    model = empty_model(model_shape(base_of(config.model)))
    count = sum(parameter.numel() for parameter in model.parameters())
    moved = trained_parameters(config, model)
    each = moved * (14 if layout.startswith("zero") and config.dtype != "float32" else 12)
    final = 4 * moved if config.lora else 2 * count
    return each * (config.keep_checkpoints + 1) + final


def training_hours(config: SftConfig | GrpoConfig, gpus: int, flops: float = 125e12) -> float:
    """Hours of the updates, and of GRPO's rollouts, if every row is as long as the config allows.

    A token costs 6 operations a parameter, 8 with gradient checkpointing. `flops` a second and GPU:
    0.4 of an A100's bfloat16 rate. Rollouts count as much again: they are bound by memory.
    """
    shape = model_shape(base_of(config.model))
    count = sum(parameter.numel() for parameter in empty_model(shape).parameters())
    each = (8 if config.gradient_checkpointing else 6) * count
    if isinstance(config, GrpoConfig):
        tokens = 2 * config.steps * config.prompts_per_step * config.samples * config.max_context
    else:
        steps = config.max_steps or 1000
        tokens = steps * (config.tokens_per_step or config.batch_size * config.max_length)
    return each * tokens / (flops * gpus) / 3600


NODE = 8
"""GPUs of a node, at most; each has a process."""
PROCESS, ENGINE, ON_CPU = 4 * GIB, 2 * GIB, 3 * GIB // 2
"""Allowances: a process with CUDA, NCCL and its libraries; vLLM in it; a process on a CPU."""


def host_memory(
    config: SftConfig | GrpoConfig, gpus: int = 1, layout: LayoutName = "ddp"
) -> list[Part]:
    """Return the parts on one node; they add up. `gpus` 0: one process on CPUs has it all.

    Weights go straight to the GPUs (`training/models/loading.py`). Not counted: the graph, whose
    pages the system gives back. Raises `UserError` for a model of unknown dimensions.
    """
    if not gpus:
        return _on_cpu(config)
    here, several = min(gpus, NODE), min(gpus, NODE) > 1
    beside = ENGINE if isinstance(config, GrpoConfig) and config.engine == "vllm" else 0
    each = f"{here} x {(PROCESS + beside) / GIB:g} GiB" if several else "CUDA, NCCL, libraries"
    base = base_of(config.model)
    model = empty_model(model_shape(base))
    count, moved = sum(p.numel() for p in model.parameters()), trained_parameters(config, model)
    return [
        Part("processes", here * (PROCESS + beside), each),
        Part("file of the weights", _file_bytes(base, count), "mapped, once a node"),
        max(_loading(count, layout), _checkpoint(config, count, moved, gpus, layout),
            key=lambda part: part.bytes),
    ]  # fmt: skip


def _on_cpu(config: SftConfig | GrpoConfig) -> list[Part]:
    if config.dtype == "auto":  # float32 there
        config = config.model_copy(update={"dtype": "float32"})
    return [
        Part("process", ON_CPU, "Python and its libraries"),
        Part("training", peak(estimate(config)), "what --estimate counts for a GPU"),
    ]


def _file_bytes(model: str, count: int) -> int:
    found = sum(file.stat().st_size for file in Path(model).glob("*.safetensors"))
    return found or 2 * count


def _loading(count: int, layout: LayoutName) -> Part:
    whole = 4 * count if layout == "fsdp2" else 0
    return Part("loading", whole, f"4 bytes x {count:,}: FSDP2's first process deals them out")


def _checkpoint(
    config: SftConfig | GrpoConfig, count: int, moved: int, gpus: int, layout: LayoutName
) -> Part:
    """Return what passes through the host when a checkpoint is written, or read to resume."""
    zero = layout.startswith("zero")
    weights = 4 * moved if config.lora else (2 if zero else 4) * count
    if not zero:
        how = "weights, and 8 bytes a trained parameter of AdamW's state, by the first process"
        return Part("checkpoint", weights + 8 * moved, how)
    shares = 12 * moved * min(gpus, NODE) // gpus
    how = "weights by the first process, and each one's share of 12 bytes a trained parameter"
    return Part("checkpoint", weights + shares, how)


def host_gib(config: Any, gpus: int = 1, layout: LayoutName = "ddp") -> float:
    """Return the sum of the parts, in GiB."""
    return sum(part.bytes for part in host_memory(config, gpus, layout)) / GIB
