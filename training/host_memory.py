"""The memory of a node that a training run takes beside its GPUs, by part, before it starts."""

from pathlib import Path
from typing import Any

from graphwalker.pretrained.adapters import base_of
from training.config import SftConfig
from training.estimate import GIB, LayoutName, Part, estimate, peak, trained_parameters
from training.grpo_config import GrpoConfig
from training.models.shapes import empty_model, model_shape

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
